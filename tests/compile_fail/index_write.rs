//! Outputs cannot be written like plain arrays.
// error: cannot index into a value of type `Out<f64>`

impl Launch for Arguments {
    type At = Item;

    fn run(self, item: Item) {
        self.a[item] = self.b[item];
    }
}
