//! Commit-graphs, sound and damaged.

use super::*;
use crate::oid::Hasher;
use crate::pack::fixture::chunked;

const SHA1: ObjectFormat = ObjectFormat::Sha1;

fn id(number: u8) -> ObjectId {
    ObjectId::from_raw(&[number; 20]).unwrap()
}

/// A file with commits by number, each with the places of its parents, on top of `below`.
fn layer(numbers: &[u8], parents: &[[u32; 2]], edges: &[u32], below: &[&[u8]]) -> Vec<u8> {
    let ids: Vec<ObjectId> = numbers.iter().map(|&number| id(number)).collect();
    let rows = numbers.iter().zip(parents).flat_map(|(number, [first, second])| {
        let time = [u32::from(*number) << 2 | 1, 7];
        let words = [*first, *second, time[0], time[1]].into_iter().flat_map(u32::to_be_bytes);
        [&[number + 100; 20][..], &words.collect::<Vec<u8>>()].concat()
    });
    let edges = edges.iter().copied().flat_map(u32::to_be_bytes).collect();
    let base = below.iter().flat_map(|file| file[file.len() - 20..].to_vec()).collect();
    let header = [b"CGPH", &[1, 1, 5, below.len() as u8][..]].concat();
    let more = [(*b"CDAT", rows.collect()), (*b"EDGE", edges), (*b"BASE", base)];
    chunked(&header, &ids, &more, SHA1)
}

/// Three commits, of which the last merges; and two on top, one with three parents.
fn files() -> [Vec<u8>; 2] {
    let none = NO_PARENT;
    let first = layer(&[1, 2, 3], &[[none, none], [0, none], [1, 0]], &[], &[]);
    let second = layer(&[4, 5], &[[2, none], [3, IN_LIST | 1]], &[9, 0, IN_LIST | 1], &[&first]);
    [first, second]
}

#[test]
fn commits_of_all_layers_are_found() {
    let files = files();
    let mut graph = CommitGraph::new(SHA1);
    assert!(graph.is_empty() && graph.find(&id(1)).is_none());
    graph.add(&files[0]).unwrap();
    assert_eq!((graph.len(), graph.find(&id(4))), (3, None));
    graph.add(&files[1]).unwrap();
    assert_eq!(graph.len(), 5);
    for (number, parents) in [(1, &[][..]), (2, &[1]), (3, &[2, 1]), (4, &[3]), (5, &[4, 1, 2])] {
        let parents: Vec<ObjectId> = parents.iter().map(|&number| id(number)).collect();
        let (tree, seconds) = (id(number + 100), (1 << 32) + 7);
        let commit = GraphCommit { tree, parents, generation: u32::from(number), seconds };
        assert_eq!(graph.find(&id(number)), Some(commit));
    }
}

#[test]
fn a_file_that_does_not_fit_is_refused() {
    let [first, second] = files();
    let mut graph = CommitGraph::new(SHA1);
    assert_eq!(graph.add(second.clone()), Err(HelperError::Damaged("list of files below")));
    graph.add(first.clone()).unwrap();
    assert_eq!(graph.add(first.clone()), Err(HelperError::Damaged("list of files below")));
    assert_eq!(CommitGraph::new(ObjectFormat::Sha256).add(&first), Err(HelperError::Format));
    for at in 0..first.len() {
        let mut bytes = first.clone();
        bytes[at] ^= 1;
        assert!(CommitGraph::new(SHA1).add(bytes).is_err());
    }
    graph.add(second).unwrap();
}

#[test]
fn what_is_damaged_under_a_right_checksum_is_not_found() {
    let [first, second] = files();
    for at in 0..second.len() - 20 {
        for byte in [0, 1, 0x70, 0x80, 0xff] {
            let mut bytes = second[..second.len() - 20].to_vec();
            bytes[at] = byte;
            let mut hasher = Hasher::new(SHA1);
            hasher.update(&bytes);
            bytes.extend(hasher.finish().unwrap().as_bytes());
            let mut graph = CommitGraph::new(SHA1);
            graph.add(first.clone()).unwrap();
            if graph.add(bytes).is_ok() {
                let found = (1..=5).filter_map(|number| graph.find(&id(number)));
                assert!(found.map(|commit| commit.parents.len()).sum::<usize>() <= 9);
            }
        }
    }
}
