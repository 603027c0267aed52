//! An item is lent to other threads.
// error: `*const ()` cannot be shared between threads safely

impl Launch for Arguments {
    type At = Item;

    fn run(self, item: Item) {
        fn lend<T: Sync>(_: &T) {}
        lend(&item);
        self.a.set(item, self.b[item]);
    }
}
