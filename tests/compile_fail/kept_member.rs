//! A member is kept beyond its part of the work.
// error: `UnsafeCell<Option<&Member>>: Uniform` is not satisfied

use core::cell::Cell;

kernel! {
    fn compile_fail(n) as struct Arguments {
        b: In<f64> = ramp(n),
        m: OutGroup<f64, 2> = zeros(n),
    }
}

impl Launch for Arguments {
    type At = Group<64, 8>;

    fn run(self, group: Group<64, 8>) {
        let Self { b, m } = self;
        let kept = Cell::new(None);
        group.each(|member| kept.set(Some(member)));
        m.set(kept.get().unwrap(), 0, b[0]);
    }
}
