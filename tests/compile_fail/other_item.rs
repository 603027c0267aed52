//! Threads write their neighbour: the index of an item plus one is a number, not an item.
// error: expected `Item`, found `usize`

impl Launch for Arguments {
    type At = Item;

    fn run(self, item: Item) {
        self.a.set(item.index() + 1, self.b[item]);
    }
}
