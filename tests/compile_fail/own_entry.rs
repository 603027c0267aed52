//! A launch that says of itself that it only reads.
// error: the trait `Entry` requires an `unsafe impl` declaration

struct Mine;

impl ironsweep::kernel::Entry for Mine {
    const ENTRY: &'static str = "compile_fail";
    const FIELDS: &'static [ironsweep::kernel::Field] = &[];
}
