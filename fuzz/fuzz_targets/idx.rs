//! Fuzzes [`gitsip_fuzz::idx`].

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| gitsip_fuzz::idx(input));
