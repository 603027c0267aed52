//! A kernel reaches for `unsafe`.
// error: usage of an `unsafe` block

impl Launch for Arguments {
    type At = Item;

    fn run(self, item: Item) {
        self.a.set(item, self.b[item]);
        unsafe { core::ptr::null_mut::<f64>().wrapping_add(item.index()).write(0.0) };
    }
}
