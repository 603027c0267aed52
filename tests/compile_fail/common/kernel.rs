use ironsweep::prelude::*;

impl Kernel for Arguments {
    const NAME: &'static str = "Compile_FAIL";
    const DEFAULT_SIZE: usize = 1;
    const DEFAULT_REPS: usize = 1;
    const CHECKED: &'static [&'static str] = &[];

    fn bytes(_: usize) -> Bytes {
        Bytes::default()
    }

    fn flops(_: usize) -> usize {
        0
    }

    fn repetition(n: usize, launcher: &mut impl Launcher) {
        launcher.launch::<Self>(n);
    }
}
