//! A kernel asks for the library of boxes and vectors.
// error: can't find crate for `alloc`

extern crate alloc;
