//! Items of the kernel's own.
// error: the trait `Shape` requires an `unsafe impl` declaration

struct Mine(usize);

impl ironsweep::launch::Shape for Mine {
    const LAYOUT: ironsweep::launch::Layout = ironsweep::launch::Layout::Line;

    fn each<P>(_: ironsweep::launch::Dimensions, _: P, body: impl Fn(Self)) {
        body(Self(0));
    }
}
