//! An output is cloned, to keep it beside the launch's own.
// error: no method named `clone` found for struct `Out<T>`

impl Launch for Arguments {
    type At = Item;

    fn run(self, item: Item) {
        let copy = self.a.clone();
        copy.set(item, self.b[item]);
    }
}
