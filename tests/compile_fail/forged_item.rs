//! A kernel plays the launch layer, to get an item that is not its own.
// error: call to unsafe function `ironsweep::kernel::expansion::run` is unsafe and requires unsafe block
// error: call to unsafe function `each` is unsafe and requires unsafe block

use ironsweep::launch::{Dimensions, Shape};

impl Launch for Arguments {
    type At = Item;

    fn run(self, item: Item) {
        let all = Dimensions { items: [self.b.len(), 1, 1], grid: 1, block: 1 };
        ironsweep::kernel::expansion::run(all, |place| Item::each(all, place, |_| {}));
        self.a.set(item, 1.0);
    }
}
