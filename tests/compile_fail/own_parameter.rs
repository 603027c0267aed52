//! A length that is what the kernel says.
// error: Parameter` requires an `unsafe impl` declaration

struct Length;

impl ironsweep::kernel::Parameter for Length {
    type Raw = usize;

    fn raw(self) -> usize {
        usize::MAX
    }
}
