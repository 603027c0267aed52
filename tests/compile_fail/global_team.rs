//! A team is kept for later, where all threads see it.
// error: cannot be shared between threads safely

static KEPT: core::cell::OnceCell<Team> = core::cell::OnceCell::new();
