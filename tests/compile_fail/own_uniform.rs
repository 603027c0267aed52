//! A cell that says of itself that nothing in it changes.
// error: Uniform` requires an `unsafe impl` declaration

struct Mine(core::cell::Cell<usize>);

impl ironsweep::launch::Uniform for Mine {}
