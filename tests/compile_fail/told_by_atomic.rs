//! A group's body learns through an atomic number which thread it runs in.
// error: `UnsafeCell<atomic::private::Align8<usize>>: Uniform` is not satisfied

use core::sync::atomic::{AtomicUsize, Ordering};

kernel! {
    fn compile_fail(n) as struct Arguments {
        b: In<f64> = ramp(n),
        m: OutGroup<f64, 2> = zeros(n),
    }
}

impl Launch for Arguments {
    type At = Group<64, 8>;

    fn run(self, mut group: Group<64, 8>) {
        let Self { b, m } = self;
        let last = AtomicUsize::new(0);
        let tile = group.stage::<8>(|index| {
            last.store(index, Ordering::Relaxed);
            b[index]
        });
        if last.load(Ordering::Relaxed) == 7 {
            group.each(|member| m.set(member, 0, tile.get(member, 0)));
        }
    }
}
