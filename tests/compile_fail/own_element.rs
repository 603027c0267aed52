//! An element of a type whose values are not any bits.
// error: Element` requires an `unsafe impl` declaration

#[derive(Clone, Copy)]
struct Reference(&'static f64);

impl ironsweep::arguments::Element for Reference {
    const KIND: ironsweep::arguments::ElementKind = ironsweep::arguments::ElementKind::f64;
}
