//! Inputs cannot be written.
// error: cannot assign to data in an index of `In<f64>`

impl Launch for Arguments {
    type At = Item;

    fn run(self, item: Item) {
        let Self { a, mut b } = self;
        a.set(item, 0.0);
        b[item] = 1.0;
    }
}
