//! Two launches of one name: the description of one would serve the other.
// error: the name `compile_fail` is defined multiple times

kernel! {
    data(n) of Kernels {
        a = zeros(n),
    }
    launch compile_fail as Arguments { a: Out<f64> }
    launch compile_fail as Other { a: In<f64> }
}

impl Launch for Arguments {
    type At = Item;

    fn run(self, item: Item) {
        self.a.set(item, 0.0);
    }
}

impl Launch for Other {
    type At = Item;

    fn run(self, _: Item) {}
}
