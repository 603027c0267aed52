//! An item is kept for later, where all threads see it.
// error: cannot be shared between threads safely

static KEPT: core::cell::OnceCell<ironsweep::launch::Item> = core::cell::OnceCell::new();
