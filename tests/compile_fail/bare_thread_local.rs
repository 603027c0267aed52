//! As above, without the standard library.
// error: `#[thread_local]` is an experimental feature

#[thread_local]
static KEPT: core::cell::Cell<Option<Out<f64>>> = core::cell::Cell::new(None);
