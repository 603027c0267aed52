impl Launch for Arguments {
    type At = Item;

    fn run(self, item: Item) {
        self.a.set(item, self.b[item]);
    }
}
