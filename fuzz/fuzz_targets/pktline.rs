//! Fuzzes [`gitsip_fuzz::pktline`].

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| gitsip_fuzz::pktline(input));
