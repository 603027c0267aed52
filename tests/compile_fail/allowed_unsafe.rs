//! A kernel allows itself `unsafe`.
// error: allow(unsafe_code) incompatible with previous forbid

#![allow(unsafe_code)]
