//! What we write as a server: does the real git client read it, in every version and for
//! every capability, and is it what git's own server writes, byte for byte?

#![allow(clippy::unwrap_used)]
#![cfg(feature = "http-client")]

#[path = "protocol_written/again.rs"]
mod again;
#[path = "protocol_written/clients.rs"]
mod clients;
#[allow(dead_code)]
#[path = "support/raw_server.rs"]
mod raw_server;
#[path = "protocol_written/server.rs"]
mod server;
mod support;

use gitsip::protocol::v0::Features;

/// Ways to acknowledge and to carry a pack, as the features that a server advertises.
fn carriages() -> Vec<(&'static str, Features)> {
    let base = Features {
        agent: true,
        include_tag: true,
        no_progress: true,
        object_format: true,
        ofs_delta: true,
        shallow: true,
        thin_pack: true,
        ..Features::default()
    };
    let detailed = Features { multi_ack: true, multi_ack_detailed: true, ..base };
    let multi = Features { multi_ack: true, ..base };
    let large = |features| Features { side_band: true, side_band_64k: true, ..features };
    let small = |features| Features { side_band: true, ..features };
    vec![
        ("multi_ack_detailed no-done side-band-64k", Features { no_done: true, ..large(detailed) }),
        ("multi_ack_detailed side-band-64k", large(detailed)),
        ("multi_ack_detailed", detailed),
        ("multi_ack side-band", small(multi)),
        ("multi_ack", multi),
        ("side-band-64k", large(base)),
        ("side-band", small(base)),
        ("nothing", base),
    ]
}
