//! Bytes as text, for serde's `with`: the alphabet of RFC 4648, without padding.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

pub(super) fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&encode(bytes))
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
    let text = String::deserialize(from)?;
    decode(&text).ok_or_else(|| D::Error::custom("bytes are not in base64"))
}

fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let [a, b, c] = [0, 1, 2].map(|at| u32::from(chunk.get(at).copied().unwrap_or(0)));
        let group = a << 16 | b << 8 | c;
        for letter in 0..=chunk.len() {
            text.push(char::from(LETTERS[(group >> (18 - 6 * letter) & 63) as usize]));
        }
    }
    text
}

fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    for chunk in text.as_bytes().chunks(4) {
        let mut group = 0;
        for letter in 0..4 {
            let value = match chunk.get(letter) {
                Some(letter) => LETTERS.iter().position(|other| other == letter)? as u32,
                None => 0,
            };
            group = group << 6 | value;
        }
        // A chunk of one letter is no byte.
        let whole = chunk.len().checked_sub(1).filter(|whole| *whole > 0)?;
        bytes.extend_from_slice(&group.to_be_bytes()[1..=whole]);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_text_and_bytes_again() {
        for (bytes, text) in
            [(&b""[..], ""), (b"f", "Zg"), (b"fo", "Zm8"), (b"foo", "Zm9v"), (b"\xff\xfe\xfd\x00", "//79AA")]
        {
            assert_eq!(encode(bytes), text);
            assert_eq!(decode(text).as_deref(), Some(bytes));
        }
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(decode(&encode(&all)), Some(all));
        for bad in ["Z", "Zm9vZ", "Zm9=", "Zö"] {
            assert_eq!(decode(bad), None, "{bad}");
        }
    }
}
