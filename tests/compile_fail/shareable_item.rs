//! A type of the kernel's own says that items may be shared.
// error: implementation of an `unsafe` trait

struct Kept(core::cell::Cell<Option<Item>>);

unsafe impl Sync for Kept {}
