//! Fuzzes [`gitsip_fuzz::pack_threads`].

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| gitsip_fuzz::pack_threads(input));
