//! A kernel asks for the standard library: a device image is compiled where there is none.
// error: can't find crate for `std`

extern crate std;
