//! What a kernel's file declares, and the macro that makes entry points, launches and workers of it.

use core::ops::Range;

use crate::arguments::{Element, ElementKind, Role, View};
use crate::launch::{Dimensions, Shape};

/// Bytes that one repetition moves, counted as RAJAPerf counts them: read or written excludes what is modified.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bytes {
    /// Read only.
    pub read: usize,
    /// Written only.
    pub written: usize,
    /// Read, changed and written back.
    pub modified: usize,
    /// Changed by atomic operations.
    pub atomic: usize,
}

/// A kernel, written once for all devices and runtimes. Its data and launches are declared with
/// [`kernel!`](crate::kernel!).
pub trait Kernel: Sized {
    /// Group and name as RAJAPerf spells them, for example `Stream_TRIAD`.
    const NAME: &'static str;
    /// RAJAPerf's default problem size.
    const DEFAULT_SIZE: usize;
    /// RAJAPerf's default number of repetitions.
    const DEFAULT_REPS: usize;
    /// The arrays whose checksums are added up.
    const CHECKED: &'static [&'static str];
    /// Further arrays that are compared element by element where the data are random.
    const COMPARED: &'static [&'static str] = &[];
    /// The numbers of threads that a workgroup may have.
    const BLOCKS: &'static [usize] = &[64, 128, 256, 512, 1024];

    /// Hands out the parts of a checked array that have a checksum of their own. None: the array has one.
    fn checked_parts(_n: usize, _array: &str, _each: &mut dyn FnMut(Range<usize>)) {}

    /// The problem size that is nearest to `n` elements.
    fn actual_size(n: usize) -> usize {
        n
    }

    /// Bytes moved by one repetition if `n` elements are asked for.
    fn bytes(n: usize) -> Bytes;

    /// Floating-point operations of one repetition if `n` elements are asked for.
    fn flops(n: usize) -> usize;

    /// What is launched in one repetition, in order.
    fn repetition(n: usize, launcher: &mut impl Launcher);
}

/// One launch of a kernel: the type that implements it holds the arguments of the body.
pub trait Launch: Entry {
    /// Who runs the body: [`Item`](crate::launch::Item) and so on.
    type At: Shape;

    /// How a workgroup of so many threads is laid out.
    fn block(threads: usize) -> [usize; 3] {
        Self::At::block(threads)
    }

    /// What one thread does for one item.
    fn run(self, at: Self::At);
}

/// How a launch looks from outside. Made by [`kernel!`](crate::kernel!).
///
/// # Safety
/// `FIELDS` are the arguments of the entry point `ENTRY`: from them the bench driver knows what a launch writes.
pub unsafe trait Entry: Sized {
    /// The entry point's symbol in the device images.
    const ENTRY: &'static str;
    /// The arguments, in order.
    const FIELDS: &'static [Field];
}

/// One argument of a launch.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Its name, which is also that of its datum unless the launch says otherwise.
    pub name: &'static str,
    /// What the launch does with it.
    pub role: Role,
    /// The type of its elements.
    pub kind: ElementKind,
    /// An array begins at a multiple of so many bytes.
    pub alignment: usize,
    /// Elements that an array holds at least; see [`View::needs`].
    pub needs: fn(Dimensions, usize) -> usize,
}

impl Field {
    /// An array.
    pub const fn array<V: View>(name: &'static str) -> Self {
        Self { name, role: V::ROLE, kind: V::Element::KIND, alignment: V::ALIGNMENT, needs: V::needs }
    }

    /// A number.
    pub const fn scalar<T: Element>(name: &'static str) -> Self {
        Self { name, role: Role::Scalar, kind: T::KIND, alignment: align_of::<T>(), needs: |_, _| 1 }
    }

    /// As how many words of 64 bits it is passed.
    pub const fn words(&self) -> usize {
        match self.role {
            Role::Scalar => 1,
            Role::Read | Role::Write | Role::Sum => 2,
            Role::Distinct => 3,
        }
    }
}

/// Takes down what a repetition launches.
pub trait Launcher {
    /// Launches `L` over `items`. Arguments are the data of the same name, except those that are `given`.
    fn launch_with<L: Launch>(&mut self, items: impl Into<Items>, given: &[Given]);

    /// Launches `L` over `items`, with the data that are called as its arguments are.
    fn launch<L: Launch>(&mut self, items: impl Into<Items>) {
        self.launch_with::<L>(items, &[]);
    }
}

/// An argument that is not simply the datum of its name.
#[derive(Clone, Debug)]
pub struct Given {
    /// The argument.
    pub field: &'static str,
    /// The datum.
    pub data: &'static str,
    /// The part of it, if not all.
    pub range: Option<Range<usize>>,
    /// What the indices of a list count from.
    pub first: usize,
}

/// `field` is all of `data`.
pub const fn whole(field: &'static str, data: &'static str) -> Given {
    Given { field, data, range: None, first: 0 }
}

/// `field` is a part of `data`.
pub const fn part(field: &'static str, data: &'static str, range: Range<usize>) -> Given {
    Given { field, data, range: Some(range), first: 0 }
}

/// The list `data`, whose indices count from `first`.
pub const fn counted(data: &'static str, first: usize) -> Given {
    Given { field: data, data, range: None, first }
}

/// Number of items along x, y and z. A launch over none is left out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Items(pub [usize; 3]);

impl From<usize> for Items {
    fn from(x: usize) -> Self {
        Self([x, 1, 1])
    }
}

impl From<[usize; 2]> for Items {
    fn from([x, y]: [usize; 2]) -> Self {
        Self([x, y, 1])
    }
}

impl From<[usize; 3]> for Items {
    fn from(items: [usize; 3]) -> Self {
        Self(items)
    }
}

/// Declares a kernel's data, in the order in which they are initialised, and its launches with their arguments. From
/// that it makes
/// * for a device: an entry point a launch, with each array as pointer and length, a list of indices with what they count
///   from, and each scalar as 64 bits, behind the dynamic-environment pointer that libomptarget passes first, and before
///   the launch's dimensions;
/// * for std::offload (with `--cfg launcher`): the launches that rustc compiles to calls of libomptarget;
/// * for the bench driver: the data's description, and `main`.
///
/// A kernel of one launch, whose arguments are its data:
///
/// ```ignore
/// kernel! {
///     fn stream_triad(n) as struct Triad {
///         a: Out<f64> = zeros(n),
///         b: In<f64> = ramp(n),
///         c: In<f64> = ramp(n),
///         alpha: f64 = scalar(),
///     }
/// }
/// ```
///
/// A kernel of several:
///
/// ```ignore
/// kernel! {
///     data(n) of Twice {
///         x = ramp(n),
///         y = zeros(n),
///     }
///     launch there as There { x: In<f64>, y: Out<f64> }
///     launch back as Back { y: In<f64>, x: Out<f64> }
/// }
/// ```
///
/// Entry points begin with the name of the kernel's file.
#[macro_export]
macro_rules! kernel {
    (
        fn $entry:ident($n:ident) as struct $Kernel:ident {
            $( $name:ident : $kind:ident $(< $($parameter:tt),+ >)? = $initial:expr ),+ $(,)?
        }
    ) => {
        $crate::__launch! { $entry $Kernel [ $( { $name $kind $($($parameter)+)? } )+ ] }
        $crate::__kernel! { $Kernel $n [ $( $name = $initial; )+ ] [ $entry $Kernel ] }
    };
    (
        data($n:ident) of $Kernel:ident {
            $( $datum:ident = $initial:expr ),+ $(,)?
        }
        $(
            launch $entry:ident as $Launch:ident {
                $( $name:ident : $kind:ident $(< $($parameter:tt),+ >)? ),+ $(,)?
            }
        )+
    ) => {
        pub struct $Kernel;
        $( $crate::__launch! { $entry $Launch [ $( { $name $kind $($($parameter)+)? } )+ ] } )+
        $crate::__kernel! { $Kernel $n [ $( $datum = $initial; )+ ] [ $( $entry $Launch )+ ] }
    };
}

/// One launch: the struct of its arguments, and what each build makes of it.
#[doc(hidden)]
#[macro_export]
macro_rules! __launch {
    ($entry:ident $Launch:ident [ $( { $name:ident $kind:ident $($parameter:tt)* } )+ ]) => {
        #[allow(dead_code, reason = "only a device image runs the body")]
        struct $Launch {
            $( $name: $crate::__type!($kind $($parameter)*), )+
        }

        // SAFETY: the entry point is made of the same list.
        unsafe impl $crate::kernel::Entry for $Launch {
            const ENTRY: &'static str = $crate::kernel::expansion::stringify!($entry);
            const FIELDS: &'static [$crate::kernel::Field] = &[
                $( $crate::__field!($name $kind $($parameter)*), )+
            ];
        }

        const _: () = $crate::kernel::expansion::assert!(
            $crate::kernel::at_most_one_distinct(<$Launch as $crate::kernel::Entry>::FIELDS),
            "a launch has at most one list of distinct indices"
        );

        const _: () = $crate::kernel::expansion::assert!(
            $crate::kernel::is_named_after(
                $crate::kernel::expansion::file!(),
                <$Launch as $crate::kernel::Entry>::ENTRY,
            ),
            "the name of a launch begins with that of its file"
        );

        $crate::__entry! { @parameters $entry $Launch (items_x items_y items_z grid block) [] [] [ $( { $name $kind $($parameter)* } )+ ] }
        $crate::__offload! { @parameters $entry [] [] [ $( { $name $kind $($parameter)* } )+ ] }
    };
}

/// Whether an entry point's name begins with that of its file: what does not is left out of device images, or takes the
/// place of a library's function.
pub const fn is_named_after(file: &str, entry: &str) -> bool {
    let (file, entry) = (file.as_bytes(), entry.as_bytes());
    let Some(end) = file.len().checked_sub(b".rs".len()) else {
        return false;
    };
    let (mut start, mut matched) = (end, 0);
    while start > 0 && file[start - 1] != b'/' {
        start -= 1;
    }
    while start < end && matched < entry.len() && file[start] == entry[matched] {
        start += 1;
        matched += 1;
    }
    start == end
}

/// Whether no two lists could name the same element: the targets of one list are different, those of two need not be.
pub const fn at_most_one_distinct(fields: &[Field]) -> bool {
    let (mut number, mut index) = (0, 0);
    while index < fields.len() {
        if matches!(fields[index].role, Role::Distinct) {
            number += 1;
        }
        index += 1;
    }
    number <= 1
}

/// What expansions of the macro are made of. They name it from here, so that nothing that a kernel's file calls alike can
/// stand in its place.
#[doc(hidden)]
pub mod expansion {
    pub use core::ptr::read;
    pub use core::{assert, file, stringify};

    pub use crate::device::{Shared, run};
}

/// An argument's type.
#[doc(hidden)]
#[macro_export]
macro_rules! __type {
    ($kind:ident $T:ident $($number:literal)*) => { $crate::arguments::$kind<$T $(, $number)*> };
    ($T:ident) => { $T };
}

/// How an array is passed: as `pointer` to an entry point, as `slice` to a launch by std::offload that maps it.
#[doc(hidden)]
#[macro_export]
macro_rules! __passed {
    (@written pointer $T:ident) => { *mut $T };
    (@written slice $T:ident) => { &mut [$T] };
    (@read pointer $T:ident) => { *const $T };
    (@read slice $T:ident) => { &[$T] };
    ($as:ident Out $T:ident) => { $crate::__passed!(@written $as $T) };
    ($as:ident OutPairs $T:ident) => { $crate::__passed!(@written $as $T) };
    ($as:ident Out2 $T:ident) => { $crate::__passed!(@written $as $T) };
    ($as:ident Out3 $T:ident) => { $crate::__passed!(@written $as $T) };
    ($as:ident OutGroup $T:ident) => { $crate::__passed!(@written $as $T) };
    ($as:ident Scatter $T:ident) => { $crate::__passed!(@written $as $T) };
    ($as:ident Sum $T:ident) => { $crate::__passed!(@written $as $T) };
    ($as:ident $read:ident $T:ident) => { $crate::__passed!(@read $as $T) };
}

/// An argument's description.
#[doc(hidden)]
#[macro_export]
macro_rules! __field {
    ($name:ident $T:ident) => { $crate::kernel::Field::scalar::<$T>($crate::kernel::expansion::stringify!($name)) };
    ($name:ident $($kind:tt)+) => {
        $crate::kernel::Field::array::<$crate::__type!($($kind)+)>($crate::kernel::expansion::stringify!($name))
    };
}

/// The entry point of a device image. Collects parameters one by one: an array is two, a list of indices three, a scalar
/// one.
#[doc(hidden)]
#[cfg(device)]
#[macro_export]
macro_rules! __entry {
    (@parameters $entry:ident $Launch:ident $dimensions:tt [$($p:tt)*] [$($f:tt)*] [ { $name:ident Distinct $T:ident } $($rest:tt)* ]) => {
        $crate::__entry! { @parameters $entry $Launch $dimensions [$($p)* (pointer: *const $T) (len: usize) (first: usize)] [$($f)* ($name Distinct pointer len first)] [$($rest)*] }
    };
    (@parameters $entry:ident $Launch:ident $dimensions:tt [$($p:tt)*] [$($f:tt)*] [ { $name:ident $kind:ident $T:ident $($number:literal)* } $($rest:tt)* ]) => {
        $crate::__entry! { @parameters $entry $Launch $dimensions [$($p)* (pointer: $crate::__passed!(pointer $kind $T)) (len: usize)] [$($f)* ($name $kind pointer len)] [$($rest)*] }
    };
    (@parameters $entry:ident $Launch:ident $dimensions:tt [$($p:tt)*] [$($f:tt)*] [ { $name:ident $T:ident } $($rest:tt)* ]) => {
        $crate::__entry! { @parameters $entry $Launch $dimensions [$($p)* (word: u64)] [$($f)* ($name $T word)] [$($rest)*] }
    };
    (@parameters $entry:ident $Launch:ident ($items_x:ident $items_y:ident $items_z:ident $grid:ident $block:ident) [$(($p:ident : $($P:tt)+))*] [$($f:tt)*] []) => {
        /// # Safety
        /// Arguments and dimensions are those that the launch layer's host side passes.
        #[cfg(any(target_arch = "nvptx64", target_arch = "amdgpu"))]
        #[allow(unsafe_op_in_unsafe_fn, reason = "see @enter")]
        #[unsafe(no_mangle)]
        pub unsafe extern "gpu-kernel" fn $entry(_environment: *const (), $($p: $($P)+,)* $items_x: usize, $items_y: usize, $items_z: usize, $grid: usize, $block: usize) {
            $crate::__entry! { @enter $Launch ($items_x $items_y $items_z $grid $block) [$(($p : $($P)+))*] [$($f)*] }
        }

        /// # Safety
        /// Arguments and dimensions are those that the launch layer's host side passes.
        #[cfg(not(any(target_arch = "nvptx64", target_arch = "amdgpu")))]
        #[allow(unsafe_op_in_unsafe_fn, reason = "see @enter")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $entry(_environment: *const (), $($p: $($P)+,)* $items_x: usize, $items_y: usize, $items_z: usize, $grid: usize, $block: usize) {
            $crate::__entry! { @enter $Launch ($items_x $items_y $items_z $grid $block) [$(($p : $($P)+))*] [$($f)*] }
        }
    };
    (@enter $Launch:ident ($items_x:ident $items_y:ident $items_z:ident $grid:ident $block:ident) [$(($p:ident : $($P:tt)+))*] [$($f:tt)*]) => {
        // No `unsafe` block: what is unsafe here is so on the promise given to the entry point, which is an unsafe
        // function. Elsewhere, in a body that calls this macro, it does not compile.
        let dimensions = $crate::launch::Dimensions { items: [$items_x, $items_y, $items_z], grid: $grid, block: $block };
        $( let $p = $crate::kernel::expansion::Shared::new($p); )*
        // `run` calls this once in each thread of the launch; the arguments are this entry's own, and the host has seen
        // that they hold what their views need.
        $crate::kernel::expansion::run(dimensions, |place| {
            let arguments = $crate::__entry! { @arguments $Launch dimensions [] [$($f)*] };
            <<$Launch as $crate::kernel::Launch>::At as $crate::launch::Shape>::each(dimensions, place, move |at| {
                <$Launch as $crate::kernel::Launch>::run($crate::kernel::expansion::read(&arguments), at);
            });
        });
    };
    (@arguments $Launch:ident $dimensions:ident [$($fields:tt)*] [($name:ident $kind:ident $pointer:ident $len:ident) $($rest:tt)*]) => {
        $crate::__entry! { @arguments $Launch $dimensions [$($fields)* $name: $crate::arguments::$kind::from_raw($pointer.get(), $len.get(), $dimensions),] [$($rest)*] }
    };
    (@arguments $Launch:ident $dimensions:ident [$($fields:tt)*] [($name:ident Distinct $pointer:ident $len:ident $first:ident) $($rest:tt)*]) => {
        $crate::__entry! { @arguments $Launch $dimensions [$($fields)* $name: $crate::arguments::Distinct::from_raw($pointer.get(), $len.get(), $first.get()),] [$($rest)*] }
    };
    (@arguments $Launch:ident $dimensions:ident [$($fields:tt)*] [($name:ident $T:ident $word:ident) $($rest:tt)*]) => {
        $crate::__entry! { @arguments $Launch $dimensions [$($fields)* $name: $T::from_bits($word.get()),] [$($rest)*] }
    };
    (@arguments $Launch:ident $dimensions:ident [$($fields:tt)*] []) => {
        $Launch { $($fields)* }
    };
}

/// Only a device image has entry points.
#[doc(hidden)]
#[cfg(not(device))]
#[macro_export]
macro_rules! __entry {
    ($($anything:tt)*) => {};
}

/// std::offload's two launches: of arrays that stay on the device, which are numbers to the compiler, and of arrays on the
/// host, for which it makes mappings from the types: `&[T]` goes to the device, `&mut [T]` there and back.
#[doc(hidden)]
#[cfg(launcher)]
#[macro_export]
macro_rules! __offload {
    (@parameters $entry:ident [$($p:tt)*] [$($w:tt)*] [ { $name:ident Distinct $T:ident } $($rest:tt)* ]) => {
        $crate::__offload! { @parameters $entry [$($p)* (&[$T]) (usize)] [$($w)* usize usize usize] [$($rest)*] }
    };
    (@parameters $entry:ident [$($p:tt)*] [$($w:tt)*] [ { $name:ident $kind:ident $T:ident $($number:literal)* } $($rest:tt)* ]) => {
        $crate::__offload! { @parameters $entry [$($p)* ($crate::__passed!(slice $kind $T))] [$($w)* usize usize] [$($rest)*] }
    };
    (@parameters $entry:ident [$($p:tt)*] [$($w:tt)*] [ { $name:ident $T:ident } $($rest:tt)* ]) => {
        $crate::__offload! { @parameters $entry [$($p)* ($T)] [$($w)* usize] [$($rest)*] }
    };
    (@parameters $entry:ident [$(($P:ty))*] [$($Word:ty)*] []) => {
        mod $entry {
            // The device image's entry point, as two kinds of host code see it: the compiler replaces a call by a launch
            // of the kernel of this name.
            mod mapped {
                unsafe extern "Rust" {
                    pub safe fn $entry($(_: $P,)* _: usize, _: usize, _: usize, _: usize, _: usize);
                }
            }
            mod resident {
                unsafe extern "Rust" {
                    pub safe fn $entry($(_: $Word,)* _: usize, _: usize, _: usize, _: usize, _: usize);
                }
            }

            /// # Safety
            /// The words are those of this launch, and the arrays that they name are there: on the host.
            #[inline(never)]
            pub unsafe fn map_and_launch(mut words: $crate::launcher::Words, shape: $crate::launcher::LaunchShape) {
                // SAFETY: the caller's promise.
                unsafe {
                    core::intrinsics::offload::<_, _, ()>(
                        mapped::$entry,
                        shape.grid,
                        shape.block,
                        // Arguments, then dimensions: taken in this order.
                        (
                            $(words.take::<$P>(),)*
                            words.take::<usize>(),
                            words.take::<usize>(),
                            words.take::<usize>(),
                            words.take::<usize>(),
                            words.take::<usize>(),
                        ),
                    );
                }
            }

            /// # Safety
            /// The words are those of this launch, and the arrays that they name are there: on the device.
            #[inline(never)]
            pub unsafe fn launch(mut words: $crate::launcher::Words, shape: $crate::launcher::LaunchShape) {
                // SAFETY: the caller's promise.
                unsafe {
                    core::intrinsics::offload::<_, _, ()>(
                        resident::$entry,
                        shape.grid,
                        shape.block,
                        // Arguments, then dimensions: taken in this order.
                        (
                            $(words.take::<$Word>(),)*
                            words.take::<usize>(),
                            words.take::<usize>(),
                            words.take::<usize>(),
                            words.take::<usize>(),
                            words.take::<usize>(),
                        ),
                    );
                }
            }
        }
    };
}

/// Only the launcher launches through std::offload.
#[doc(hidden)]
#[cfg(not(launcher))]
#[macro_export]
macro_rules! __offload {
    ($($anything:tt)*) => {};
}

/// The kernel as a whole, on a device: nothing but that its data are well formed.
#[doc(hidden)]
#[cfg(device)]
#[macro_export]
macro_rules! __kernel {
    ($Kernel:ident $n:ident [ $( $datum:ident = $initial:expr; )+ ] [ $( $entry:ident $Launch:ident )+ ]) => {
        const _: fn(usize) = |$n| {
            let _ = ($( $initial, )+);
        };
    };
}

/// The kernel as a whole, in the launcher: its launches by number.
#[doc(hidden)]
#[cfg(launcher)]
#[macro_export]
macro_rules! __kernel {
    ($Kernel:ident $n:ident [ $( $datum:ident = $initial:expr; )+ ] [ $( $entry:ident $Launch:ident )+ ]) => {
        const _: fn(usize) = |$n| {
            let _ = ($( $initial, )+);
        };

        const LAUNCHES: &[[unsafe fn($crate::launcher::Words, $crate::launcher::LaunchShape); 2]] =
            &[ $( [$entry::launch, $entry::map_and_launch], )+ ];

        /// Launches one kernel and waits for it. Its arrays are on the host, and `mapped` for this launch, or stay on the
        /// device.
        ///
        /// # Safety
        /// `words` are those of launch `number`, in the order of its arguments and followed by the dimensions; `shape`
        /// points to three numbers of workgroups and three of threads.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn ironsweep_offload(number: usize, mapped: bool, words: *const u64, shape: *const u32) {
            let (words, shape) = ($crate::launcher::Words::new(words), $crate::launcher::LaunchShape::new(shape));
            // SAFETY: the caller's promise.
            unsafe { LAUNCHES[number][usize::from(mapped)](words, shape) }
        }
    };
}

/// The kernel as a whole, in a worker: the description of its data and launches, and `main`.
#[doc(hidden)]
#[cfg(not(any(device, launcher)))]
#[macro_export]
macro_rules! __kernel {
    ($Kernel:ident $n:ident [ $( $datum:ident = $initial:expr; )+ ] [ $( $entry:ident $Launch:ident )+ ]) => {
        // SAFETY: the launches that the device images are made of.
        unsafe impl $crate::bench::arguments::Described for $Kernel {
            const LAUNCHES: &'static [(&'static str, &'static [$crate::kernel::Field])] = &[
                $( (<$Launch as $crate::kernel::Entry>::ENTRY, <$Launch as $crate::kernel::Entry>::FIELDS), )+
            ];

            fn data($n: usize) -> Vec<$crate::bench::arguments::Datum> {
                vec![ $( $crate::bench::arguments::Datum { name: stringify!($datum), initial: $initial }, )+ ]
            }
        }

        fn main() -> std::process::ExitCode {
            $crate::bench::main::<$Kernel>()
        }
    };
}
