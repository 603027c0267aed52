//! A barrier in a body, where not every thread need come to it.
// error: module `device` is private

impl Launch for Arguments {
    type At = Item;

    fn run(self, item: Item) {
        ironsweep::device::barrier();
        self.a.set(item, self.b[item]);
    }
}
