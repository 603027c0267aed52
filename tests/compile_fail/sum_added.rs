//! Threads add to the result of a reduction without their team.
// error: method `add` is private

kernel! {
    fn compile_fail(n) as struct Arguments {
        sum: Sum<f64> = zeros(1),
        b: In<f64> = ramp(n),
    }
}

impl Launch for Arguments {
    type At = Item;

    fn run(self, item: Item) {
        self.sum.add(self.b[item]);
    }
}
