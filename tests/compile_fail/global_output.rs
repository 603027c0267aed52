//! An output is kept for later, where all threads see it.
// error: cannot be shared between threads safely

static KEPT: core::cell::OnceCell<Out<f64>> = core::cell::OnceCell::new();
