//! Threads make themselves an item, and with it the right to write: only the launch layer makes items.
// error: tuple struct constructor `Item` is private

impl Launch for Arguments {
    type At = Item;

    fn run(self, item: Item) {
        self.a.set(ironsweep::launch::Item(0, core::marker::PhantomData), self.b[item]);
    }
}
