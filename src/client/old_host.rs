//! A host that speaks protocol v0 or v1, and what is kept of its listing: which wants it
//! takes, where its history is cut, and the refs for whoever asks for them first.
//!
//! Such a host may insist that what is wanted is the tip of a ref. What a tag peels to is
//! none, so the tag is wanted in its place, and brings the commit along.

use hashbrown::{HashMap, HashSet};

use crate::error::Error;
use crate::limits::{Budget, LimitExceeded, Reservation};
use crate::oid::{ObjectFormat, ObjectId};
use crate::protocol::v0::{Features, Listing, encode_fetch};
use crate::protocol::{FetchRequest, ProtocolError};
use crate::store::Ref;

use super::requests;

/// What a tag and what it peels to take in a table.
const BYTES_PER_TAG: u64 = 3 * size_of::<ObjectId>() as u64;

/// A host of protocol v0 or v1.
#[derive(Debug)]
pub struct OldHost {
    version: u8,
    format: ObjectFormat,
    features: Features,
    shallow: Vec<ObjectId>,
    /// Tags by what they peel to, where no ref points there itself.
    tags: HashMap<ObjectId, ObjectId>,
    _tags_paid: Reservation,
    /// The refs that came with the first answer, until somebody has asked for them.
    fresh: Option<(Vec<Ref>, Reservation)>,
}

impl OldHost {
    /// The host that said `listing`, which occupies `held`.
    ///
    /// # Errors
    /// When the table of its tags does not fit into `budget`.
    pub fn new(listing: Listing, held: Reservation, budget: &Budget) -> Result<Self, Error> {
        let (tags, tags_paid) = tags_of(&listing.refs, budget)?;
        Ok(Self {
            version: listing.version,
            format: listing.capabilities.object_format,
            features: listing.features,
            shallow: listing.shallow,
            tags,
            _tags_paid: tags_paid,
            fresh: Some((listing.refs, held)),
        })
    }

    /// 0 or 1.
    pub fn version(&self) -> u8 {
        self.version
    }

    /// What it can do.
    pub fn features(&self) -> &Features {
        &self.features
    }

    /// Where its own history is cut.
    pub fn shallow(&self) -> &[ObjectId] {
        &self.shallow
    }

    /// The refs that have come and that nobody has asked for yet.
    pub fn take_refs(&mut self) -> Option<Vec<Ref>> {
        self.fresh.take().map(|(refs, _)| refs)
    }

    /// The body that asks for `request`.
    ///
    /// # Errors
    /// When a filter is too long for a packet.
    pub fn encode(&self, request: &FetchRequest) -> Result<Vec<u8>, ProtocolError> {
        let mut request = request.clone();
        for want in &mut request.wants {
            if let Some(tag) = self.tags.get(want) {
                *want = *tag;
            }
        }
        let mut body = Vec::new();
        encode_fetch(&request, &self.features, requests::AGENT, self.format, &mut body)?;
        Ok(body)
    }
}

fn tags_of(
    refs: &[Ref],
    budget: &Budget,
) -> Result<(HashMap<ObjectId, ObjectId>, Reservation), LimitExceeded> {
    let peeled = || refs.iter().filter_map(|item| Some((item.peeled?, item.target?)));
    let paid = budget.reserve((peeled().count() as u64).saturating_mul(2 * BYTES_PER_TAG))?;
    let mut tags: HashMap<_, _> = peeled().collect();
    let tips: HashSet<_> =
        refs.iter().filter_map(|item| item.target).filter(|tip| tags.contains_key(tip)).collect();
    tags.retain(|commit, _| !tips.contains(commit));
    Ok((tags, paid))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn id(digit: char) -> ObjectId {
        digit.to_string().repeat(40).parse().unwrap()
    }

    fn item(name: &str, target: char, peeled: Option<char>) -> Ref {
        let peeled = peeled.map(id);
        Ref { name: name.into(), target: Some(id(target)), peeled, symref_target: None }
    }

    #[test]
    fn a_tag_is_wanted_itself_unless_a_ref_points_where_it_peels_to() {
        let refs = vec![
            item("refs/heads/main", 'a', None),
            item("refs/tags/tip", '1', Some('a')),
            item("refs/tags/old", '2', Some('b')),
        ];
        let budget = Budget::new(1 << 20);
        let listing = Listing { refs, ..Listing::default() };
        let mut host = OldHost::new(listing, budget.empty(), &budget).unwrap();
        let wants = vec![id('a'), id('b'), id('c')];
        let body = host.encode(&FetchRequest { wants, ..FetchRequest::default() }).unwrap();
        let body = String::from_utf8(body).unwrap();
        for wanted in ['a', '2', 'c'] {
            assert!(body.contains(&format!("want {}", id(wanted))), "{body}");
        }
        assert!(!body.contains(&id('b').to_string()), "{body}");
        assert_eq!(host.take_refs().unwrap().len(), 3);
        assert_eq!(host.take_refs(), None);
        drop(host);
        assert_eq!(budget.used_bytes(), 0);
    }
}
