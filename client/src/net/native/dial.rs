//! From a URL to a socket, on a background task.

use std::future::Future;
use std::io::Cursor;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Incoming;
use hyper::header::{
    CONNECTION, HOST, HeaderMap, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use hyper::{Request, Response, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use room::limits;
use room::wire::SUBPROTOCOL;
use tokio::io::{AsyncReadExt, Chain};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::sync::oneshot::{self, error::TryRecvError};
use tokio::task::AbortHandle;

use super::super::connect::ConnectError;
use super::link::Link;

/// Asks for the auth value of a try.
pub(in super::super) type Auth =
    Arc<dyn Fn() -> Pin<Box<dyn Future<Output = Result<Vec<u8>, ConnectError>> + Send>> + Send + Sync>;

/// An auth value that is the same at each try.
pub(in super::super) fn ready(bytes: Vec<u8>) -> Auth {
    Arc::new(move || Box::pin(std::future::ready(Ok(bytes.clone()))))
}

/// Whether a URL is one of a room.
pub(in super::super) fn check_url(url: &str) -> Result<(), ConnectError> {
    parse(url).map(|_| ())
}

/// A socket and the auth value that goes with it.
type Opened = Result<(Link, Vec<u8>), ConnectError>;

/// What opens sockets.
pub(super) struct Dialer {
    pub(super) runtime: Handle,
    pub(super) auth: Auth,
}

/// A socket that is being opened. Dropping it stops that.
pub(super) struct Dialing {
    opened: oneshot::Receiver<Opened>,
    task: AbortHandle,
}

impl Dialer {
    /// Begins to open a socket to a room's URL; tells through `wake` when it is done, and when the socket has something.
    pub(super) fn dial(&self, url: &str, wake: Arc<Notify>) -> Dialing {
        let (done, opened) = oneshot::channel();
        let (url, auth) = (url.to_owned(), self.auth.clone());
        let task = self.runtime.spawn(async move {
            // A client that is gone wants none.
            let _ = done.send(open(&url, auth, wake.clone()).await);
            wake.notify_one();
        });
        Dialing { opened, task: task.abort_handle() }
    }
}

impl Dialing {
    /// What became of it, once that is known.
    pub(super) fn poll(&mut self) -> Option<Opened> {
        match self.opened.try_recv() {
            Ok(opened) => Some(opened),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Closed) => {
                let error = std::io::Error::other("the task that opens the socket failed");
                Some(Err(ConnectError::Dial { address: "the room".to_owned(), error }))
            }
        }
    }
}

impl Drop for Dialing {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn open(url: &str, auth: Auth, wake: Arc<Notify>) -> Opened {
    let auth = auth().await?;
    let limit = Duration::from_secs(limits::CONNECT_SECONDS);
    match tokio::time::timeout(limit, dial(url)).await {
        Ok(socket) => Ok((Link::new(socket?, wake), auth)),
        Err(_) => Err(ConnectError::Dial {
            address: parse(url)?.0,
            error: std::io::Error::new(std::io::ErrorKind::TimedOut, "it does not answer"),
        }),
    }
}

/// Both ways of an upgraded socket. What came right behind the answer was read with it.
pub(super) type Socket = (Chain<Cursor<Bytes>, OwnedReadHalf>, OwnedWriteHalf);

/// Opens a socket to the room at `url`.
async fn dial(url: &str) -> Result<Socket, ConnectError> {
    let (address, authority, path) = parse(url)?;
    let fail = |error| ConnectError::Dial { address: address.clone(), error };
    let stream = TcpStream::connect(&address).await.map_err(fail)?;
    // Where it fails, small messages are slower.
    let _ = stream.set_nodelay(true);
    let other = |error: hyper::Error| fail(std::io::Error::other(error));
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(other)?;
    // It ends with the upgrade, or with its error, which the request meets too.
    tokio::spawn(connection.with_upgrades());
    let request = Request::get(path)
        .header(HOST, authority)
        .header(CONNECTION, "upgrade")
        .header(UPGRADE, "websocket")
        .header(SEC_WEBSOCKET_VERSION, "13")
        .header(SEC_WEBSOCKET_KEY, fastwebsockets::handshake::generate_key())
        .header(SEC_WEBSOCKET_PROTOCOL, SUBPROTOCOL)
        .body(Empty::<Bytes>::new())
        .map_err(|error| fail(std::io::Error::other(error)))?;
    let response = sender.send_request(request).await.map_err(other)?;
    let response = check(response).await?;
    let upgraded = hyper::upgrade::on(response).await.map_err(other)?;
    let parts = upgraded
        .downcast::<TokioIo<TcpStream>>()
        .map_err(|_| fail(std::io::Error::other("the socket is of an unknown kind")))?;
    let (read, write) = parts.io.into_inner().into_split();
    Ok((Cursor::new(parts.read_buf).chain(read), write))
}

/// Address to dial, authority to name, path to ask for.
pub(super) fn parse(url: &str) -> Result<(String, String, String), ConnectError> {
    let bad = |reason| ConnectError::BadUrl { url: url.to_owned(), reason };
    let uri: Uri = url.parse().map_err(|_| bad("it does not parse; write ws://host:port/rooms/name"))?;
    match uri.scheme_str() {
        Some("ws") => {}
        Some("wss") => {
            return Err(bad("this client speaks plain ws://; put TLS in front of it with a local proxy"));
        }
        _ => return Err(bad("it must begin with ws://")),
    }
    let authority = uri.authority().ok_or_else(|| bad("it names no host"))?;
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    if path == "/" {
        return Err(bad("it names no room; write ws://host:port/rooms/name"));
    }
    let port = authority.port_u16().unwrap_or(80);
    let named = match authority.as_str().rsplit_once('@') {
        Some((_, named)) => named,
        None => authority.as_str(),
    };
    Ok((format!("{}:{port}", authority.host()), named.to_owned(), path.to_owned()))
}

/// Lets an answer pass that opens a socket of the right subprotocol.
async fn check(response: Response<Incoming>) -> Result<Response<Incoming>, ConnectError> {
    let status = response.status().as_u16();
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        let body = Limited::new(response.into_body(), BODY).collect().await;
        let message =
            body.map(|body| String::from_utf8_lossy(&body.to_bytes()).into_owned()).unwrap_or_default();
        return Err(ConnectError::Http { status, message });
    }
    let is = |headers: &HeaderMap, name, wanted: &str| {
        headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .is_some_and(|value| value.eq_ignore_ascii_case(wanted))
    };
    let refuse = |message: &str| ConnectError::Http { status, message: message.to_owned() };
    if !is(response.headers(), UPGRADE, "websocket") {
        return Err(refuse("it upgraded to something that is no WebSocket"));
    }
    if !is(response.headers(), SEC_WEBSOCKET_PROTOCOL, SUBPROTOCOL) {
        return Err(refuse("it does not speak the subprotocol room.v1"));
    }
    Ok(response)
}

/// The most bytes of a refusal that are read.
const BODY: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_taken_apart() {
        let parts = |url| parse(url).unwrap();
        let expected = ("127.0.0.1:8787".to_owned(), "127.0.0.1:8787".to_owned(), "/rooms/forest".to_owned());
        assert_eq!(parts("ws://127.0.0.1:8787/rooms/forest"), expected);
        let expected = ("[::1]:80".to_owned(), "[::1]".to_owned(), "/rooms/a".to_owned());
        assert_eq!(parts("ws://[::1]/rooms/a"), expected);
    }

    #[test]
    fn a_url_that_is_none_says_what_to_write() {
        let why = |url| parse(url).unwrap_err().to_string();
        assert!(why("wss://game.example/rooms/a").contains("ws://"));
        assert!(why("http://game.example/rooms/a").contains("must begin with ws://"));
        assert!(why("game.example/rooms/a").contains("no room's URL"));
        assert!(why("ws://game.example").contains("/rooms/name"));
        assert!(why("").contains("does not parse"));
    }
}
