use super::*;
use crate::field::Codec;
use crate::field::blob::Blob;
use crate::field::text::Text;
use crate::{Bytes, Json};

#[derive(crate::Entity, Clone, Debug, PartialEq)]
#[entity(crate = "crate", hidden)]
struct Deck {
    #[field(quantize(step = 0.1, min = 0.0, max = 1.0))]
    wear: f32,
    name: String,
    blocks: Bytes,
    order: Json<Vec<u8>>,
}

fn deck() -> Deck {
    Deck {
        wear: 0.3,
        name: "Ada's".to_owned(),
        blocks: Bytes::from(vec![7; 300]),
        order: Json::new(vec![3, 1, 2]),
    }
}

fn id(id: u64) -> EntityId {
    EntityId::explicit(id).unwrap()
}

#[test]
fn a_stored_entity_is_loaded_as_it_was() {
    let mut store = Store::<Deck>::new();
    let mut value = deck();
    let size = Store::admit(id(7), &mut value, &mut Clamped::default()).unwrap();
    let row = store.push(id(7), 0, value, size);
    let mut record = vec![1, 2];
    store.put_stored(row, &mut record);
    assert_eq!(record[..2], [1, 2], "it is appended");
    assert_eq!(record[2..], *store.stored(row).as_bytes());

    let mut woken = Store::<Deck>::new();
    woken.push(id(3), 4, deck(), size);
    let row = woken.load(id(9), 5, &record[2..]).unwrap();
    assert_eq!(row, 1);
    assert_eq!(woken.value(row), store.value(0));
    assert_eq!(woken.size(row), store.size(0));
    assert_eq!(woken.order().collect::<Vec<_>>(), [(id(3), 4), (id(9), 5)]);
    assert!(!woken.has_writes());
}

#[test]
fn what_does_not_load_changes_nothing() {
    let record = StoredRecord::of(&deck());
    let mut store = Store::<Deck>::new();
    let damaged = |error| Err(LoadError::Decode { kind: "deck", error });
    let bytes = record.as_bytes();
    assert_eq!(store.load(id(7), 0, &bytes[..bytes.len() - 1]), damaged(DecodeError::Truncated));
    assert_eq!(store.load(id(7), 0, &[bytes, &[0]].concat()), damaged(DecodeError::Trailing));
    // A step past the last one.
    assert_eq!(store.load(id(7), 0, &[&[11], &bytes[1..]].concat()), damaged(DecodeError::Value));

    let other_json = [&bytes[..bytes.len() - 7], b"\x07[4,5,{}"].concat();
    assert_eq!(store.load(id(7), 0, &other_json), Err(LoadError::Json { kind: "deck" }));

    let mut large = vec![0];
    Text::put(&"x".repeat(limits::TEXT), &mut large);
    Blob::put(&Bytes::from(vec![0; limits::BLOB]), &mut large);
    large.extend_from_slice(b"\x02[]");
    let refused = store.load(id(7), 0, &large).unwrap_err();
    assert!(matches!(refused, LoadError::Limit(WriteError::EntityTooLarge { kind: "deck", .. })));
    assert!(refused.to_string().starts_with("a stored deck would take 65"), "{refused}");
    assert_eq!((store.count(), store.order().count()), (0, 0));
}
