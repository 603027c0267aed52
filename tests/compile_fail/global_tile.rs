//! A part of shared memory is kept for later, where all threads see it.
// error: cannot be shared between threads safely

static KEPT: core::cell::OnceCell<ironsweep::launch::Tile<8>> = core::cell::OnceCell::new();
