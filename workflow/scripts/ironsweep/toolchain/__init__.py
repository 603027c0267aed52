"""The toolchain: the compilers and runtimes that everything else is built and run with.

Modules in the order of the rules in ``workflow/rules/toolchain.smk``:

* ``settings``: reads ``config/toolchains/*.yaml``;
* ``apt``: finds the host's Debian archive and resolves the lock (exact package versions);
* ``root``: installs the lock into a folder, the *root*;
* ``cuda``: finds NVIDIA's compiler on this machine or installs its wheels;
* ``enter``: writes the script that runs a command with the toolchain, and a wrapper per tool;
* ``probe``: asks the tools for their versions and rustc for its offload generation;
* ``describe``: puts all of it together in ``toolchain.json``, which ``record`` reads;
* ``runtime``: collects the loader and the libraries that built programs need elsewhere.
"""

from __future__ import annotations

from ironsweep.toolchain.record import Tool, Toolchain, load

__all__ = ["Tool", "Toolchain", "load"]
