//! Threads read what another thread may be writing.
// error: expected `Item`, found `usize`

impl Launch for Arguments {
    type At = Item;

    fn run(self, item: Item) {
        self.a.set(item, self.a.get(item.index() + 1));
    }
}
