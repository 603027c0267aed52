//! Names of the kernel's own stand in the place of nothing that the macro uses.

mod core {}

#[allow(non_camel_case_types, dead_code)]
type u8 = str;

macro_rules! stringify {
    ($($anything:tt)*) => {
        "another"
    };
}

const _: () = match <Arguments as ironsweep::kernel::Entry>::ENTRY.as_bytes() {
    b"compile_fail" => (),
    _ => panic!(),
};

#[allow(unused_macros)]
macro_rules! assert {
    ($($anything:tt)*) => {};
}

const _: &str = stringify!(nothing);
