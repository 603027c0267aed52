//! A kernel makes an element of a type whose values are not any bits.
// error: implementation of an `unsafe` trait

#[derive(Clone, Copy)]
struct Reference(&'static f64);

unsafe impl ironsweep::arguments::Element for Reference {
    const KIND: ironsweep::arguments::ElementKind = ironsweep::arguments::ElementKind::f64;
}
