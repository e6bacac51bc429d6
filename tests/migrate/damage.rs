//! Damaged descriptions and records: refused, or something is made of them, and nothing panics.

use proptest::collection::vec;
use proptest::prelude::*;
use room::migrate::{Converter, StoredSchema};
use room::prelude::*;
use room::wire::DecodeError;

use super::every::{Every, every, record};
use super::{Silent, id};

fn described() -> Vec<u8> {
    let mut bytes = Vec::new();
    StoredSchema::of(&Schema::new().without_presence().entity::<Every>()).encode(&mut bytes);
    bytes
}

/// Converts with what the bytes say, if they say something.
fn use_it(description: &[u8], record: &[u8]) {
    let Ok(stored) = StoredSchema::decode(description) else { return };
    let mut again = Vec::new();
    stored.encode(&mut again);
    assert_eq!(again, description, "one description has one encoding");
    let converter = Converter::new(&stored, &Schema::new().without_presence().entity::<Every>());
    for kind in 0..stored.kinds.len() + 1 {
        let _ = converter.convert::<Silent>(id(7), kind, record);
        let _ = stored.kinds.get(kind).map(|kind| kind.read(record));
    }
}

proptest! {
    #[test]
    fn random_bytes_describe_nothing(bytes in vec(any::<u8>(), 0..300), record in vec(any::<u8>(), 0..300)) {
        use_it(&bytes, &record);
        use_it(&[&[1, 1, 2, 0, 1, b'a'], &bytes[..]].concat(), &record);
    }

    #[test]
    fn damaged_descriptions_and_records_do_no_harm(
        entity in every(),
        hits in vec((any::<proptest::sample::Index>(), any::<u8>()), 1..4),
        in_record in any::<bool>(),
    ) {
        let (mut description, mut record) = (described(), record(entity));
        let target = if in_record { &mut record } else { &mut description };
        for (at, byte) in hits {
            let at = at.index(target.len());
            target[at] = byte;
        }
        use_it(&description, &record);
    }
}

#[test]
fn every_cut_of_a_description_is_refused() {
    let bytes = described();
    for end in 0..bytes.len() {
        assert!(StoredSchema::decode(&bytes[..end]).is_err());
    }
    assert_eq!(StoredSchema::decode(&[&bytes[..], &[0]].concat()), Err(DecodeError::Trailing));
    assert_eq!(StoredSchema::decode(&[9]), Err(DecodeError::Tag(9)), "a later version");
    let nested = [&[1, 1, 2, 0, 1, b'a', 1, 1, b'x'][..], &[7; 5000]].concat();
    assert_eq!(StoredSchema::decode(&nested), Err(DecodeError::TooLong));
}

#[test]
fn a_record_that_is_none_of_its_kind_names_entity_and_kind() {
    let stored = StoredSchema::of(&Schema::new().without_presence().entity::<Every>());
    let converter = Converter::new(&stored, &Schema::new().without_presence());
    let told = converter.convert::<Silent>(id(7), 0, &[2]).unwrap_err().to_string();
    assert_eq!(
        told,
        "the stored every 7 does not decode: a number is outside its type; put the room's storage back from a copy"
    );
    let told = converter.convert::<Silent>(id(7), 1, &[2]).unwrap_err().to_string();
    assert!(told.starts_with("the stored kind number 1 7 does not decode: unknown kind"), "{told}");
}
