//! An output is kept in a thread of the standard library's.
// error: cannot find module or crate `std`

impl Launch for Arguments {
    type At = Item;

    fn run(self, item: Item) {
        std::thread_local!(static KEPT: core::cell::RefCell<Option<Out<f64>>> = const { core::cell::RefCell::new(None) });
        self.a.set(item, self.b[item]);
    }
}
