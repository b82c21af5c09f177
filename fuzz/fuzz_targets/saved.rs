//! Fuzzes [`gitsip_fuzz::saved`].

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| gitsip_fuzz::saved(input));
