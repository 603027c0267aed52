//! An argument of a type of the kernel's own.
// error: cannot find type `Own`
// error: cannot find `Own` in `arguments`

struct Own<T>(*mut T);

kernel! {
    fn compile_fail(n) as struct Arguments {
        a: Own<f64> = zeros(n),
    }
}

impl Launch for Arguments {
    type At = Item;

    fn run(self, item: Item) {
        let _ = (self.a.0, item);
    }
}
