#!/bin/sh
# Compiles Rust's core library for a device: core.sh RUSTC SOURCES CORE BUILTINS [FLAG ...]
# Cargo's -Zbuild-std would need the network; two calls of rustc do not.
set -eu
rustc=$1 sources=$2 core=$3 builtins=$4
shift 4
set -- --edition 2024 --crate-type rlib -Copt-level=3 -Cpanic=abort -Cembed-bitcode=yes -Zforce-unstable-if-unmarked \
    --cap-lints allow "$@"
"$rustc" --crate-name core "$@" "$sources/core/src/lib.rs" -o "$core"
"$rustc" --crate-name compiler_builtins "$@" --cfg 'feature="compiler-builtins"' --cfg 'feature="mem"' \
    --sysroot "${core%/lib/rustlib/*}" --extern "core=$core" \
    "$sources/compiler-builtins/compiler-builtins/src/lib.rs" -o "$builtins"
