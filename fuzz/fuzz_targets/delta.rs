//! Fuzzes [`gitsip_fuzz::delta`].

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| gitsip_fuzz::delta(input));
