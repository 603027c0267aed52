//! An item is given to another thread.
// error: `*const ()` cannot be sent between threads safely

impl Launch for Arguments {
    type At = Item;

    fn run(self, item: Item) {
        fn send<T: Send>(_: T) {}
        send(item);
        self.a.set(item, self.b[item]);
    }
}
