//! So many items a thread that their numbers could overflow, and come twice.
// error: a thread has between 1 and 1024 items

kernel! {
    fn compile_fail(n) as struct Arguments {
        list: Distinct<i32> = indices_32(n, n, |_, index| index as i64),
        c: Scatter<f64> = zeros(n),
    }
}

impl Launch for Arguments {
    type At = Item3<576460752303423489>;

    fn run(self, item: Item3<576460752303423489>) {
        self.c.set(self.list.target(item), 1.0);
    }
}
