//! An entry point that stands in the place of a library's function.
// error: the name of a launch begins with that of its file

kernel! {
    fn memcpy(n) as struct Arguments {
        a: Out<f64> = zeros(n),
        b: In<f64> = ramp(n),
    }
}
