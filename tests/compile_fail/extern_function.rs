//! A kernel declares a function of the device library's as safe.
// error: usage of an `unsafe extern` block

unsafe extern "C" {
    safe fn ironsweep_barrier();
}

impl Launch for Arguments {
    type At = Item;

    fn run(self, item: Item) {
        ironsweep_barrier();
        self.a.set(item, self.b[item]);
    }
}
