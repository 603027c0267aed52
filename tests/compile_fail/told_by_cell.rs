//! A group's body learns through a cell which thread it runs in.
// error: `UnsafeCell<usize>: Uniform` is not satisfied

use core::cell::Cell;

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
        let last = Cell::new(0);
        let tile = group.stage::<8>(|index| {
            last.set(index);
            b[index]
        });
        if last.get() == 7 {
            group.each(|member| m.set(member, 0, tile.get(member, 0)));
        }
    }
}
