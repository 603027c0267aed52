#!/bin/sh
# Copies Rust's core library for the host out of the toolchain: host_core.sh TOOLS FOLDER
# With nothing else in its sysroot, a kernel for the host device has no standard library, like one for a GPU.
set -eu
tools=$1 folder=$2
libraries=$("$tools/rustc" --print target-libdir)
for crate in core compiler_builtins; do
    # The toolchain's files are seen from inside of it. Newer compilers keep an .rmeta beside the .rlib.
    "$tools/../enter" sh -c 'for file in "$1/lib$2"-*.rlib "$1/lib$2"-*.rmeta; do
        if [ -f "$file" ]; then cp "$file" "$3/lib$2.${file##*.}"; fi
    done' sh "$libraries" "$crate" "$folder"
done
