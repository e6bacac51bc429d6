//! The files of a game's page, which the server hands out beside its rooms.
//!
//! They are read when the server starts, so that a request is answered from a table: what is not in it cannot be reached,
//! whatever path is asked for.

use std::collections::BTreeMap;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use sha2::{Digest, Sha256};

use super::listener::{lists, refuse};
use crate::limits;

/// Files by the path that they are asked for.
#[derive(Debug, Default)]
pub(super) struct Assets(BTreeMap<String, Asset>);

#[derive(Debug)]
struct Asset {
    plain: Bytes,
    packed: Option<Bytes>,
    kind: &'static str,
    /// Of its content, in quotes.
    tag: HeaderValue,
}

impl Assets {
    /// Reads a folder's files, and those of the folders in it. What begins with a dot is nobody's business.
    pub(super) fn read(folder: &Path) -> Result<Assets, (PathBuf, Error)> {
        let (mut files, mut left) = (BTreeMap::new(), limits::ASSETS);
        read_into(folder, "/", &mut files, &mut left)?;
        let mut assets = BTreeMap::new();
        for (path, plain) in &files {
            if path.strip_suffix(".gz").is_some_and(|whole| files.contains_key(whole)) {
                continue;
            }
            let packed = files.get(&format!("{path}.gz")).cloned();
            let hash: String =
                Sha256::digest(plain).iter().take(16).map(|byte| format!("{byte:02x}")).collect();
            let tag = HeaderValue::try_from(format!("\"{hash}\""));
            let tag = tag.map_err(|error| (folder.join(path), Error::other(error)))?;
            let asset = Asset { plain: plain.clone(), packed, kind: kind(path), tag };
            assets.insert(path.clone(), asset);
        }
        Ok(Assets(assets))
    }

    /// What a request for this path is answered with.
    pub(super) fn answer(&self, path: &str, headers: &HeaderMap) -> Response {
        let path = if path.ends_with('/') { format!("{path}index.html") } else { path.to_owned() };
        let found = decoded(&path).and_then(|path| self.0.get(&path));
        let Some(asset) = found else { return refuse(StatusCode::NOT_FOUND, "there is no such page") };
        let known =
            lists(headers, header::IF_NONE_MATCH, |tag| tag.strip_prefix("W/").unwrap_or(tag) == asset.tag);
        let packed = asset.packed.as_ref().filter(|_| {
            lists(headers, header::ACCEPT_ENCODING, |way| {
                way.split(';').next().map(str::trim) == Some("gzip")
            })
        });
        let mut response = Response::new(Body::empty());
        let answer = response.headers_mut();
        let mut say = |name: HeaderName, value| answer.insert(name, value);
        say(header::ETAG, asset.tag.clone());
        // Asked for anew each time, and sent only where it is another: a page's parts must be of one build.
        say(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        say(header::VARY, HeaderValue::from_static("accept-encoding"));
        say(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        if known {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            return response;
        }
        say(header::CONTENT_TYPE, HeaderValue::from_static(asset.kind));
        if packed.is_some() {
            say(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        *response.body_mut() = Body::from(packed.unwrap_or(&asset.plain).clone());
        response
    }
}

fn read_into(
    folder: &Path,
    under: &str,
    files: &mut BTreeMap<String, Bytes>,
    left: &mut usize,
) -> Result<(), (PathBuf, Error)> {
    let entries = std::fs::read_dir(folder).map_err(|error| (folder.to_owned(), error))?;
    for entry in entries {
        let path = entry.map_err(|error| (folder.to_owned(), error))?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        if name.starts_with('.') {
            continue;
        }
        if path.is_dir() {
            if under.matches('/').count() <= limits::ASSETS_DEPTH {
                read_into(&path, &format!("{under}{name}/"), files, left)?;
            }
            continue;
        }
        let bytes = std::fs::read(&path).map_err(|error| (path.clone(), error))?;
        let Some(rest) = left.checked_sub(bytes.len()) else {
            let much = format!("the folder has more than {} bytes", limits::ASSETS);
            return Err((path, Error::new(ErrorKind::FileTooLarge, much)));
        };
        *left = rest;
        files.insert(format!("{under}{name}"), Bytes::from(bytes));
    }
    Ok(())
}

/// A path without its escapes; none where they are no text.
fn decoded(path: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let [byte, after @ ..] = rest {
        rest = after;
        if *byte != b'%' {
            bytes.push(*byte);
            continue;
        }
        let digits = str::from_utf8(after.get(..2)?).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &after[2..];
    }
    String::from_utf8(bytes).ok()
}

/// What a browser is told that a file is.
fn kind(path: &str) -> &'static str {
    let extension = path.rsplit('/').next().and_then(|name| name.rsplit_once('.')).map(|(_, last)| last);
    match extension.unwrap_or_default().to_ascii_lowercase().as_str() {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "wasm" => "application/wasm",
        "css" => "text/css; charset=utf-8",
        "json" | "map" => "application/json",
        "webmanifest" => "application/manifest+json",
        "txt" => "text/plain; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "webp" => "image/webp",
        "gif" => "image/gif",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "mp3" => "audio/mpeg",
        "ogg" => "audio/ogg",
        "wav" => "audio/wav",
        "mp4" => "video/mp4",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_read_and_half_ones_are_no_path() {
        assert_eq!(decoded("/a%20b/%C3%A4").as_deref(), Some("/a b/ä"));
        for bad in ["/%", "/%2", "/%zz", "/%ff"] {
            assert_eq!(decoded(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_file_is_what_its_last_name_says() {
        assert_eq!(kind("/a.b/game_bg.WASM"), "application/wasm");
        assert_eq!(kind("/a.js/game"), "application/octet-stream");
    }
}
