//! A group's members write an array that has an element for each item.
// error: expected `Item`, found `usize`

kernel! {
    fn compile_fail(n) as struct Arguments {
        a: Out<f64> = zeros(n),
        b: In<f64> = ramp(n),
    }
}

impl Launch for Arguments {
    type At = Group<64, 8>;

    fn run(self, group: Group<64, 8>) {
        let index = group.index();
        group.each(|member| self.a.set(index, self.b[member.index()]));
    }
}
