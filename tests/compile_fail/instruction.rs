//! A kernel asks the hardware which thread it is.
// error: the feature `stdarch_amdgpu` is not in the list of allowed features

#![feature(stdarch_amdgpu)]
