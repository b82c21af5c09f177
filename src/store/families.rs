//! Which entries of a store are deltas of which: what has to go when a base goes.
//!
//! Each entry knows the first of its deltas, and each delta its neighbours among those of
//! the same base. A delta is taken out without looking at the others, however many a peer
//! made of one base.

/// The relations of entries, by their numbers.
#[derive(Debug, Default)]
pub(super) struct Families {
    links: Vec<Links>,
}

#[derive(Clone, Copy, Debug)]
struct Links {
    first_delta: u32,
    /// Neighbours among the deltas of the same base.
    next: u32,
    previous: u32,
}

impl Families {
    /// What one entry takes.
    pub(super) const BYTES_PER_ENTRY: usize = size_of::<Links>();

    pub(super) fn reserve_exact(&mut self, more: usize) {
        self.links.reserve_exact(more);
    }

    /// One more entry, related to nobody.
    pub(super) fn push(&mut self) {
        self.links.push(Links { first_delta: NOBODY, next: NOBODY, previous: NOBODY });
    }

    /// `delta`, which is nobody's, becomes a delta of `base`.
    pub(super) fn join(&mut self, delta: u32, base: u32) {
        let Some(of_base) = self.links.get_mut(base as usize) else { return };
        let next = std::mem::replace(&mut of_base.first_delta, delta);
        if let Some(links) = self.links.get_mut(next as usize) {
            links.previous = delta;
        }
        if let Some(links) = self.links.get_mut(delta as usize) {
            (links.next, links.previous) = (next, NOBODY);
        }
    }

    /// `delta` is no longer one of `base`, if it still was.
    pub(super) fn leave(&mut self, delta: u32, base: u32) {
        let Some(links) = self.links.get_mut(delta as usize) else { return };
        let (next, previous) = (links.next, links.previous);
        (links.next, links.previous) = (NOBODY, NOBODY);
        if let Some(before) = self.links.get_mut(previous as usize) {
            before.next = next;
        } else if let Some(of_base) = self.links.get_mut(base as usize)
            && of_base.first_delta == delta
        {
            of_base.first_delta = next;
        }
        if let Some(behind) = self.links.get_mut(next as usize) {
            behind.previous = previous;
        }
    }

    /// Adds the deltas of `base` to `deltas`; they are nobody's from now on.
    pub(super) fn disband(&mut self, base: u32, deltas: &mut Vec<u32>) {
        let Some(of_base) = self.links.get_mut(base as usize) else { return };
        let mut delta = std::mem::replace(&mut of_base.first_delta, NOBODY);
        while let Some(links) = self.links.get_mut(delta as usize) {
            deltas.push(delta);
            delta = std::mem::replace(&mut links.next, NOBODY);
            links.previous = NOBODY;
        }
    }
}

const NOBODY: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn deltas(families: &mut Families, base: u32) -> Vec<u32> {
        let mut found = Vec::new();
        families.disband(base, &mut found);
        found.sort_unstable();
        for &delta in &found {
            families.join(delta, base);
        }
        found
    }

    proptest! {
        #[test]
        fn families_are_what_a_list_of_bases_says(
            steps in prop::collection::vec((0..12_u32, 0..4_u32, 0..8_u8), 0..200),
        ) {
            let mut families = Families::default();
            (0..16).for_each(|_| families.push());
            let mut bases = [None; 16];
            for (delta, base, step) in steps {
                let (delta, base) = (delta + 4, base);
                match (bases[delta as usize], step) {
                    (None, 0..6) => {
                        families.join(delta, base);
                        bases[delta as usize] = Some(base);
                    }
                    (Some(base), 0..6) => {
                        families.leave(delta, base);
                        bases[delta as usize] = None;
                    }
                    (None, 6) => families.leave(delta, base),
                    (_, _) => {
                        families.disband(base, &mut Vec::new());
                        bases.iter_mut().filter(|of| **of == Some(base)).for_each(|of| *of = None);
                    }
                }
                for base in 0..4 {
                    let all: Vec<u32> =
                        (0..16).filter(|&it| bases[it as usize] == Some(base)).collect();
                    prop_assert_eq!(deltas(&mut families, base), all);
                }
            }
        }
    }
}
