//! Fuzzes [`gitsip_fuzz::fetch_response`].

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| gitsip_fuzz::fetch_response(input));
