//! A thread for each item of a line.

impl Launch for Arguments {
    type At = Item;

    fn run(self, item: Item) {
        let Self { a, b } = self;
        a.set(item, a.get(item) + b[item] + b[item.index()]);
    }
}
