//! Just enough JSON for the worker protocol: the toolchain of a supercomputer has a compiler and no crates.

use std::fmt::{self, Display, Formatter, Write};

/// A JSON value. Objects keep their order.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    Bool(bool),
    /// A number, as it was written: no digit is lost on the way through.
    Number(String),
    String(String),
    Array(Vec<Value>),
    Object(Vec<(String, Value)>),
}

impl Value {
    /// Reads one value that fills the whole text.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut reader = Reader { rest: text };
        let value = reader.value()?;
        reader.space();
        if reader.rest.is_empty() { Ok(value) } else { Err(format!("unexpected {:?}", reader.rest)) }
    }

    /// The member of an object.
    pub fn get(&self, key: &str) -> Option<&Value> {
        match self {
            Value::Object(members) => members.iter().find(|(name, _)| name == key).map(|(_, value)| value),
            _ => None,
        }
    }
}

impl From<f64> for Value {
    /// The shortest text that reads back as the same number; null for what JSON has no number for.
    fn from(number: f64) -> Self {
        if number.is_finite() { Value::Number(format!("{number:?}")) } else { Value::Null }
    }
}

impl From<usize> for Value {
    fn from(number: usize) -> Self {
        Value::Number(number.to_string())
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::String(text.to_owned())
    }
}

impl<T: Into<Value>> FromIterator<T> for Value {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Value::Array(items.into_iter().map(Into::into).collect())
    }
}

impl Display for Value {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("null"),
            Value::Bool(value) => write!(f, "{value}"),
            Value::Number(digits) => f.write_str(digits),
            Value::String(text) => write_string(f, text),
            Value::Array(items) => {
                f.write_char('[')?;
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        f.write_char(',')?;
                    }
                    write!(f, "{item}")?;
                }
                f.write_char(']')
            }
            Value::Object(members) => {
                f.write_char('{')?;
                for (index, (name, value)) in members.iter().enumerate() {
                    if index > 0 {
                        f.write_char(',')?;
                    }
                    write_string(f, name)?;
                    write!(f, ":{value}")?;
                }
                f.write_char('}')
            }
        }
    }
}

fn write_string(f: &mut Formatter<'_>, text: &str) -> fmt::Result {
    f.write_char('"')?;
    for c in text.chars() {
        match c {
            '"' | '\\' => write!(f, "\\{c}")?,
            '\n' => f.write_str("\\n")?,
            c if c < ' ' => write!(f, "\\u{:04x}", c as u32)?,
            c => f.write_char(c)?,
        }
    }
    f.write_char('"')
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn space(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r']);
    }

    fn take(&mut self, token: &str) -> bool {
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, token: &str) -> Result<(), String> {
        self.space();
        if self.take(token) { Ok(()) } else { Err(format!("expected {token:?} before {:?}", self.rest)) }
    }

    fn value(&mut self) -> Result<Value, String> {
        self.space();
        for (word, value) in [("null", Value::Null), ("true", Value::Bool(true)), ("false", Value::Bool(false))] {
            if self.take(word) {
                return Ok(value);
            }
        }
        match self.rest.chars().next() {
            Some('"') => self.string().map(Value::String),
            Some('[') => self.list("[", "]", Self::value).map(Value::Array),
            Some('{') => self.list("{", "}", Self::member).map(Value::Object),
            Some('-' | '0'..='9') => self.number(),
            _ => Err(format!("expected a value before {:?}", self.rest)),
        }
    }

    fn list<T>(
        &mut self,
        open: &str,
        close: &str,
        item: impl Fn(&mut Self) -> Result<T, String>,
    ) -> Result<Vec<T>, String> {
        self.expect(open)?;
        let mut items = Vec::new();
        self.space();
        if self.take(close) {
            return Ok(items);
        }
        loop {
            items.push(item(self)?);
            self.space();
            if self.take(close) {
                return Ok(items);
            }
            self.expect(",")?;
        }
    }

    fn member(&mut self) -> Result<(String, Value), String> {
        self.space();
        let name = self.string()?;
        self.expect(":")?;
        Ok((name, self.value()?))
    }

    fn number(&mut self) -> Result<Value, String> {
        let end =
            self.rest.find(|c: char| !matches!(c, '0'..='9' | '-' | '+' | '.' | 'e' | 'E')).unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        digits.parse::<f64>().map_err(|_| format!("not a number: {digits:?}"))?;
        self.rest = rest;
        Ok(Value::Number(digits.to_owned()))
    }

    fn string(&mut self) -> Result<String, String> {
        self.expect("\"")?;
        let mut text = String::new();
        let mut units = Vec::new();
        loop {
            let mut chars = self.rest.chars();
            let c = chars.next().ok_or("unfinished string")?;
            self.rest = chars.as_str();
            if c == '\\' && self.rest.starts_with('u') {
                let digits = self.rest.get(1..5).ok_or("unfinished \\u")?;
                units.push(u16::from_str_radix(digits, 16).map_err(|_| format!("not hexadecimal: {digits:?}"))?);
                self.rest = &self.rest[5..];
                continue;
            }
            // Escapes of characters beyond 16 bits come in pairs: decode them when the run of escapes ends.
            text.push_str(&String::from_utf16(&units).map_err(|_| "lone surrogate")?);
            units.clear();
            match c {
                '"' => return Ok(text),
                '\\' => {
                    let mut chars = self.rest.chars();
                    text.push(match chars.next().ok_or("unfinished string")? {
                        'n' => '\n',
                        't' => '\t',
                        'r' => '\r',
                        'b' => '\u{8}',
                        'f' => '\u{c}',
                        c @ ('"' | '\\' | '/') => c,
                        c => return Err(format!("unknown escape \\{c}")),
                    });
                    self.rest = chars.as_str();
                }
                c => text.push(c),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        let text = r#"{"a":[1,-2.5e-300,null,true],"b":"x\"\\\n\u0001","c":{},"d":[]}"#;
        let value = Value::parse(text).unwrap();
        assert_eq!(value.to_string(), text);
        assert_eq!(Value::parse(&value.to_string()).unwrap(), value);
    }

    #[test]
    fn escapes_beyond_sixteen_bits_come_in_pairs() {
        assert_eq!(Value::parse(r#""\ud83d\ude80!""#).unwrap(), Value::from("🚀!"));
        assert!(Value::parse(r#""\ud83d!""#).is_err());
    }

    #[test]
    fn full_precision_survives() {
        let number = 0.1 + 0.2;
        assert_eq!(Value::from(number).to_string().parse::<f64>().unwrap(), number);
        assert_eq!(Value::from(f64::NAN), Value::Null);
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "{", "[1,]", "{\"a\"}", "1 2", "nul", "\"", "-", "{\"a\":1,}"] {
            assert!(Value::parse(text).is_err(), "{text:?}");
        }
    }
}
