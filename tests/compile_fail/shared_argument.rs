//! A kernel keeps what it likes in a global that the launch layer's own type would make shareable.
// error: Shared::<T>::new` is unsafe and requires unsafe block

use ironsweep::kernel::expansion::Shared;

static KEPT: Shared<Option<Item>> = Shared::new(None);
