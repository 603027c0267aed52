//! A target is kept for later, where all threads see it.
// error: cannot be shared between threads safely

static KEPT: core::cell::OnceCell<ironsweep::arguments::Target> = core::cell::OnceCell::new();
