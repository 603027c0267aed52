"""ironsweep: declarative sweeps of GPU kernels, from the compiler to the verified table."""
