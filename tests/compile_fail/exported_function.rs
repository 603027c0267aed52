//! A kernel puts a function of its own in the place of the device library's.
// error: declaration of a `no_mangle` function

#[unsafe(no_mangle)]
extern "C" fn ironsweep_barrier() {}
