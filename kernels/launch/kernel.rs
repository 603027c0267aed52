//! What a kernel's file declares, and the macro that makes entry points and workers of it.

use crate::launch::Shape;

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

/// A kernel, written once for all devices and runtimes. The type that implements it holds the body's arguments and is
/// declared with [`kernel!`](crate::kernel!).
pub trait Kernel: Sized {
    /// Group and name as RAJAPerf spells them, for example `Stream_TRIAD`.
    const NAME: &'static str;
    /// RAJAPerf's default problem size.
    const DEFAULT_SIZE: usize;
    /// RAJAPerf's default number of repetitions.
    const DEFAULT_REPS: usize;
    /// The argument whose content is checked.
    const CHECKED: &'static str;
    /// [`Item`](crate::launch::Item): a thread for each item; [`Team`](crate::launch::Team): threads that stride.
    type At: Shape;

    /// Bytes moved by one repetition at problem size `n`.
    fn bytes(n: usize) -> Bytes;

    /// Floating-point operations of one repetition at problem size `n`.
    fn flops(n: usize) -> usize;

    /// What one thread does for one item, or one member of a team for its share.
    fn run(self, at: Self::At);
}

/// Declares a kernel's arguments, in the order in which they are initialised, and from them makes
/// * for a device: the entry point, with each array as pointer and length and each scalar as 64 bits, behind the
///   dynamic-environment pointer that libomptarget passes first, and before the launch's dimensions;
/// * for the bench driver: the arguments' description, std::offload's launch (with `--cfg std_offload`) and `main`.
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
#[macro_export]
macro_rules! kernel {
    (
        $(#[$attribute:meta])*
        fn $entry:ident($n:ident) as struct $Arguments:ident {
            $( $name:ident : $kind:ident $(< $($parameter:tt),+ >)? = $initial:expr ),+ $(,)?
        }
    ) => {
        $(#[$attribute])*
        struct $Arguments {
            $( $name: $kind $(< $($parameter),+ >)?, )+
        }

        $crate::__device! { @parameters $entry $Arguments (items grid block) [] [] [ $( { $name $kind $($($parameter)+)? } )+ ] }

        $crate::__bench! { $entry $Arguments $n [ $( { $name $kind ($($($parameter)+)?) ($initial) } )+ ] }
    };
}

/// The entry point of a device image. Collects parameters one by one: an array is two, a scalar one.
#[doc(hidden)]
#[cfg(device)]
#[macro_export]
macro_rules! __device {
    (@parameters $entry:ident $Arguments:ident $dimensions:tt [$($p:tt)*] [$($f:tt)*] [ { $name:ident Out $T:ident } $($rest:tt)* ]) => {
        $crate::__device! { @parameters $entry $Arguments $dimensions [$($p)* (pointer: *mut $T) (len: usize)] [$($f)* ($name Out pointer len)] [$($rest)*] }
    };
    (@parameters $entry:ident $Arguments:ident $dimensions:tt [$($p:tt)*] [$($f:tt)*] [ { $name:ident Sum $T:ident } $($rest:tt)* ]) => {
        $crate::__device! { @parameters $entry $Arguments $dimensions [$($p)* (pointer: *mut $T) (len: usize)] [$($f)* ($name Sum pointer len)] [$($rest)*] }
    };
    (@parameters $entry:ident $Arguments:ident $dimensions:tt [$($p:tt)*] [$($f:tt)*] [ { $name:ident In $T:ident $($halo:literal)? } $($rest:tt)* ]) => {
        $crate::__device! { @parameters $entry $Arguments $dimensions [$($p)* (pointer: *const $T) (len: usize)] [$($f)* ($name In pointer len)] [$($rest)*] }
    };
    (@parameters $entry:ident $Arguments:ident $dimensions:tt [$($p:tt)*] [$($f:tt)*] [ { $name:ident $T:ident } $($rest:tt)* ]) => {
        $crate::__device! { @parameters $entry $Arguments $dimensions [$($p)* (word: u64)] [$($f)* ($name $T word)] [$($rest)*] }
    };
    (@parameters $entry:ident $Arguments:ident ($items:ident $grid:ident $block:ident) [$(($p:ident : $($P:tt)+))*] [$($f:tt)*] []) => {
        /// # Safety
        /// Arguments and dimensions are those that the launch layer's host side passes.
        #[cfg(any(target_arch = "nvptx64", target_arch = "amdgpu"))]
        #[unsafe(no_mangle)]
        pub unsafe extern "gpu-kernel" fn $entry(_environment: *const u8, $($p: $($P)+,)* $items: usize, $grid: usize, $block: usize) {
            $crate::__device! { @enter $Arguments ($items $grid $block) [$(($p : $($P)+))*] [$($f)*] }
        }

        /// # Safety
        /// Arguments and dimensions are those that the launch layer's host side passes.
        #[cfg(not(any(target_arch = "nvptx64", target_arch = "amdgpu")))]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $entry(_environment: *const u8, $($p: $($P)+,)* $items: usize, $grid: usize, $block: usize) {
            $crate::__device! { @enter $Arguments ($items $grid $block) [$(($p : $($P)+))*] [$($f)*] }
        }
    };
    (@enter $Arguments:ident ($items:ident $grid:ident $block:ident) [$(($p:ident : $($P:tt)+))*] [$($f:tt)*]) => {
        let dimensions = $crate::launch::Dimensions { items: $items, grid: $grid, block: $block };
        // SAFETY: the entry point's arguments.
        $( let $p = unsafe { $crate::device::Shared::new($p) }; )*
        $crate::device::run(dimensions, |place| {
            // SAFETY: `run` calls this once in each thread of the launch; the arguments are this entry's own. Lengths are
            // looked at once a thread, here: each item's run gets the arguments as they are.
            unsafe {
                let arguments = $crate::__device! { @arguments $Arguments $items [] [$($f)*] };
                <<$Arguments as $crate::kernel::Kernel>::At as $crate::launch::Shape>::each(dimensions, place, |at| {
                    <$Arguments as $crate::kernel::Kernel>::run(core::ptr::read(&arguments), at);
                });
            }
        });
    };
    (@arguments $Arguments:ident $items:ident [$($fields:tt)*] [($name:ident $Kind:ident $pointer:ident $len:ident) $($rest:tt)*]) => {
        $crate::__device! { @arguments $Arguments $items [$($fields)* $name: $Kind::from_raw($pointer.get(), $len.get(), $items),] [$($rest)*] }
    };
    (@arguments $Arguments:ident $items:ident [$($fields:tt)*] [($name:ident $T:ident $word:ident) $($rest:tt)*]) => {
        $crate::__device! { @arguments $Arguments $items [$($fields)* $name: $T::from_bits($word.get()),] [$($rest)*] }
    };
    (@arguments $Arguments:ident $items:ident [$($fields:tt)*] []) => {
        $Arguments { $($fields)* }
    };
}

/// A device image has no bench driver.
#[doc(hidden)]
#[cfg(device)]
#[macro_export]
macro_rules! __bench {
    ($($anything:tt)*) => {};
}

/// A worker has no device entry point.
#[doc(hidden)]
#[cfg(not(device))]
#[macro_export]
macro_rules! __device {
    ($($anything:tt)*) => {};
}

/// A worker: the description of the arguments, std::offload's launch, `main`.
#[doc(hidden)]
#[cfg(not(device))]
#[macro_export]
macro_rules! __bench {
    ($entry:ident $Arguments:ident $n:ident [ $( { $name:ident $kind:ident ($($parameter:tt)*) ($initial:expr) } )+ ]) => {
        impl $crate::bench::arguments::Described for $Arguments {
            const ENTRY: &'static str = stringify!($entry);

            fn describe($n: usize) -> Vec<$crate::bench::arguments::Argument> {
                vec![ $( $crate::bench::arguments::Argument {
                    name: stringify!($name),
                    role: $crate::bench::arguments::Role::$kind,
                    initial: $initial,
                }, )+ ]
            }
        }

        $crate::__offload! { @parameters $entry [] [ $( { $name $kind $($parameter)* } )+ ] [] }

        fn main() -> std::process::ExitCode {
            $crate::__main!($Arguments)
        }
    };
}

/// std::offload's launch. The compiler makes the mappings from the types: `&[T]` goes to the device, `&mut [T]` there
/// and back, scalars by value.
#[doc(hidden)]
#[cfg(not(device))]
#[macro_export]
macro_rules! __offload {
    (@parameters $entry:ident [$($p:tt)*] [ { $name:ident In $T:ident $($halo:literal)? } $($rest:tt)* ] [$($l:tt)*]) => {
        $crate::__offload! { @parameters $entry [$($p)* ($name: &[$T])] [$($rest)*] [$($l)* ($name array)] }
    };
    (@parameters $entry:ident [$($p:tt)*] [ { $name:ident Out $T:ident } $($rest:tt)* ] [$($l:tt)*]) => {
        $crate::__offload! { @parameters $entry [$($p)* ($name: &mut [$T])] [$($rest)*] [$($l)* ($name array_mut)] }
    };
    (@parameters $entry:ident [$($p:tt)*] [ { $name:ident Sum $T:ident } $($rest:tt)* ] [$($l:tt)*]) => {
        $crate::__offload! { @parameters $entry [$($p)* ($name: &mut [$T])] [$($rest)*] [$($l)* ($name array_mut)] }
    };
    (@parameters $entry:ident [$($p:tt)*] [ { $name:ident $T:ident } $($rest:tt)* ] [$($l:tt)*]) => {
        $crate::__offload! { @parameters $entry [$($p)* ($name: $T)] [$($rest)*] [$($l)* ($name scalar)] }
    };
    (@parameters $entry:ident [$(($name:ident : $($P:tt)+))*] [] [$(($field:ident $take:ident))*]) => {
        #[cfg(std_offload)]
        mod device_kernel {
            // The device image's entry point: the compiler replaces the call by a launch of the kernel of this name.
            unsafe extern "Rust" {
                pub safe fn $entry($($name: $($P)+,)* items: usize, grid: usize, block: usize);
            }
        }

        #[cfg(std_offload)]
        #[inline(never)]
        fn launch_offload(slots: &mut [$crate::bench::arguments::Slot], dimensions: $crate::launch::Dimensions) {
            let mut slots = slots.iter_mut();
            $( let $field = slots.next().expect("one slot an argument").$take(); )*
            core::intrinsics::offload::<_, _, ()>(
                device_kernel::$entry,
                [dimensions.grid as u32, 1, 1],
                [dimensions.block as u32, 1, 1],
                ($($name,)* dimensions.items, dimensions.grid, dimensions.block),
            );
        }
    };
}

/// `main` of the worker, by runtime.
#[doc(hidden)]
#[cfg(all(not(device), std_offload))]
#[macro_export]
macro_rules! __main {
    ($Arguments:ident) => {
        $crate::bench::main::<$Arguments, _>($crate::bench::offload::Offload::new(launch_offload))
    };
}

/// `main` of the worker, by runtime.
#[doc(hidden)]
#[cfg(all(not(device), liboffload))]
#[macro_export]
macro_rules! __main {
    ($Arguments:ident) => {
        $crate::bench::main::<$Arguments, _>($crate::bench::liboffload::Liboffload::new(
            <$Arguments as $crate::bench::arguments::Described>::ENTRY,
        ))
    };
}

/// `main` of the worker, by runtime.
#[doc(hidden)]
#[cfg(all(not(device), native))]
#[macro_export]
macro_rules! __main {
    ($Arguments:ident) => {
        $crate::bench::main::<$Arguments, _>($crate::bench::native::Native::new())
    };
}
