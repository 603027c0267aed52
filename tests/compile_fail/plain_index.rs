//! Threads write where they like: a plain index gives no right to write.
// error: expected `Item`, found integer

impl Launch for Arguments {
    type At = Item;

    fn run(self, item: Item) {
        self.a.set(0, self.b[item]);
    }
}
