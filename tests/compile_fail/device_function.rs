//! A function of the device in a body, behind the launch layer: with a barrier among them, not every thread need come to it.
// error: module `device` is private

impl Launch for Arguments {
    type At = Item;

    fn run(self, item: Item) {
        ironsweep::device::trap();
        self.a.set(item, self.b[item]);
    }
}
