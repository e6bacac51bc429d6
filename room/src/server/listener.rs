//! HTTP: what is answered before a socket is a socket.

use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Extension, Path, RawQuery, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use fastwebsockets::upgrade::{IncomingUpgrade, UpgradeFut};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;

use super::Shared;
use super::access::Access;
use super::config::StartError;
use super::goal::Goal;
use super::shutdown::stopped;
use super::socket::{self, Place, Visitor};
use crate::limits;
use crate::room::Game;
use crate::wire::SUBPROTOCOL;
use crate::wire::message::is_room_name;

/// Listens on the first address of `host` that can be had.
pub(super) async fn bind(host: &str, port: u16) -> Result<TcpListener, StartError> {
    let fail = |error: std::io::Error| match error.kind() {
        ErrorKind::AddrInUse => StartError::PortTaken { host: host.to_owned(), port },
        _ => StartError::Listen { host: host.to_owned(), port, error },
    };
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let mut failed = std::io::Error::new(ErrorKind::NotFound, "the name has no address");
    for address in tokio::net::lookup_host((bare, port)).await.map_err(fail)? {
        match listen(address) {
            Ok(listener) => return Ok(listener),
            Err(error) => failed = error,
        }
    }
    Err(fail(failed))
}

fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    // Inherited by the sockets it accepts. Small, so that what a slow connection has not taken waits where it can
    // still be replaced by something newer.
    socket.set_send_buffer_size(limits::SOCKET_BUFFER as u32)?;
    socket.bind(address)?;
    socket.listen(1024)
}

/// Accepts until the server stops.
pub(super) async fn accept<G: Game>(
    shared: Arc<Shared<G>>,
    listener: TcpListener,
    mut stop: watch::Receiver<bool>,
) {
    let router = router(shared.clone());
    loop {
        let accepted = tokio::select! {
            biased;
            () = stopped(&mut stop) => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, address)) => {
                let Some(place) = place(&shared, address.ip()) else {
                    drop_now(stream);
                    continue;
                };
                let visitor = Visitor {
                    address: address.ip(),
                    place,
                    fetches: Arc::new(AtomicBool::new(false)),
                    stop: stop.clone(),
                };
                tokio::spawn(connection(shared.clone(), router.clone(), stream, visitor));
            }
            Err(error) => {
                // Out of descriptors, most likely: wait for some to come back.
                tracing::warn!(kind = "accept_failed", "a connection was not accepted: {error}");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

/// Where a new connection stands, or `None` where it is not worth an answer.
fn place<G: Game>(shared: &Shared<G>, address: IpAddr) -> Option<Place> {
    // Whom a proxy brings is known once the request has been read.
    if shared.proxies.trusts(address) || shared.admits(address) {
        Some(Place::Door(Arc::new(shared.door.enter(address))))
    } else {
        shared.throttle.refusal().map(|leave| Place::Refused { _leave: Arc::new(leave) })
    }
}

/// Ends a connection at the least cost: nothing of it stays in the system.
fn drop_now(stream: TcpStream) {
    // Where it fails the connection ends with a little more ado.
    let _ = stream.set_zero_linger();
}

/// Sets up the socket of a new connection. Where that fails it is slower, or gone.
fn set_up(stream: &TcpStream) {
    let _ = stream.set_nodelay(true);
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let _ = socket2::SockRef::from(stream).set_tcp_notsent_lowat(limits::SOCKET_UNSENT as u32);
}

/// Speaks HTTP on a connection until it is upgraded, answered or late.
async fn connection<G: Game>(shared: Arc<Shared<G>>, router: Router, stream: TcpStream, visitor: Visitor) {
    set_up(&stream);
    let (place, mut stop) = (visitor.place.clone(), visitor.stop.clone());
    let fetches = visitor.fetches.clone();
    let patience = match place {
        Place::Door(_) => shared.hello,
        Place::Refused { .. } => Duration::from_secs(limits::REFUSED_SECONDS),
    };
    let service = TowerToHyperService::new(router.layer(Extension(visitor)));
    let http = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(shared.hello)
        .max_buf_size(HTTP_BUFFER)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    tokio::select! {
        biased;
        _ = http => {}
        () = stopped(&mut stop) => {}
        () = place.evicted() => {}
        () = too_long(patience, &fetches) => {}
    }
}

/// Waits for as long as a connection has. A file on its way to a slow page has longer.
async fn too_long(patience: Duration, fetches: &AtomicBool) {
    tokio::time::sleep(patience).await;
    if fetches.load(Ordering::Relaxed) {
        tokio::time::sleep(Duration::from_secs(limits::ASSET_SECONDS)).await;
    }
}

/// The most bytes of a request's head.
const HTTP_BUFFER: usize = 16 * 1024;

fn router<G: Game>(shared: Arc<Shared<G>>) -> Router {
    Router::new()
        .route("/rooms", get(list::<G>))
        .route("/rooms/{name}", get(join::<G>))
        .route("/codes/{code}", get(join_by_code::<G>))
        .route("/any/{kind}", get(join_any::<G>))
        .fallback(asset::<G>)
        .layer(middleware::from_fn_with_state(shared.clone(), guard::<G>))
        .with_state(shared)
}

/// Answers requests for a foreign host, and those of a foreign page, with 403.
async fn guard<G: Game>(State(shared): State<Arc<Shared<G>>>, request: Request, next: Next) -> Response {
    match allowed(&shared.access, request.headers()) {
        Ok(()) => next.run(request).await,
        Err(message) => refuse(StatusCode::FORBIDDEN, message),
    }
}

fn allowed(access: &Access, headers: &HeaderMap) -> Result<(), &'static str> {
    // One that is said twice counts as none: what stands in front of the server may have read the other.
    let text = |name| {
        let mut values = headers.get_all(name).iter();
        let first = values.next()?;
        Some(if values.next().is_some() { "" } else { first.to_str().unwrap_or_default() })
    };
    let host = text(header::HOST).unwrap_or_default();
    if !access.host(host) {
        tracing::info!(kind = "denied", host, "a request for a host that is not on the list");
        return Err("this host is not on the server's list of `hosts`");
    }
    match text(header::ORIGIN) {
        Some(origin) if !access.origin(origin, host) => {
            tracing::info!(kind = "denied", origin, "a request of a page that is not on the list");
            Err("this origin is not on the server's list of `origins`")
        }
        _ => Ok(()),
    }
}

/// `GET /rooms/<name>`.
async fn join<G: Game>(state: State<Arc<Shared<G>>>, Path(name): Path<String>, knock: Knock) -> Response {
    if !is_room_name(&name) {
        let form = "a room's name is 1 to 64 letters, digits, `.`, `_`, `~` and `-`, but not `.` or `..`";
        return refuse(StatusCode::NOT_FOUND, form);
    }
    open(&state.0, Goal::Name(name), knock)
}

/// `GET /codes/<code>`. Whether there is such a room is told once the socket is open, where a page can read it.
async fn join_by_code<G: Game>(
    state: State<Arc<Shared<G>>>,
    Path(code): Path<String>,
    knock: Knock,
) -> Response {
    if !is_room_name(&code) {
        return refuse(StatusCode::NOT_FOUND, "a room's code is 6 letters");
    }
    open(&state.0, Goal::Code(code), knock)
}

/// `GET /any/<kind>`.
async fn join_any<G: Game>(state: State<Arc<Shared<G>>>, Path(kind): Path<String>, knock: Knock) -> Response {
    if !state.kinds.contains(&kind) {
        return refuse(StatusCode::NOT_FOUND, "this is none of the server's `kinds` of rooms");
    }
    open(&state.0, Goal::Kind(kind), knock)
}

/// A request for a socket.
type Knock = (Extension<Visitor>, Method, HeaderMap, Result<IncomingUpgrade, StatusCode>);

/// Opens a socket.
fn open<G: Game>(shared: &Arc<Shared<G>>, goal: Goal, knock: Knock) -> Response {
    let (Extension(visitor), method, headers, upgrade) = knock;
    if !lists(&headers, header::SEC_WEBSOCKET_PROTOCOL, |offer| offer == SUBPROTOCOL) {
        return refuse(StatusCode::BAD_REQUEST, "connect with a WebSocket of the subprotocol `room.v1`");
    }
    // A route for GET answers HEAD as well.
    let asked = method == Method::GET
        && lists(&headers, header::UPGRADE, |to| to.eq_ignore_ascii_case("websocket"))
        && lists(&headers, header::CONNECTION, |option| option.eq_ignore_ascii_case("upgrade"));
    let upgrade = upgrade.ok().filter(|_| asked).and_then(|upgrade| upgrade.upgrade().ok());
    let Some((mut response, upgraded)) = upgrade else {
        return refuse(StatusCode::BAD_REQUEST, "this is no WebSocket upgrade of version 13");
    };
    let Some(visitor) = through_proxy(shared, visitor, &headers) else {
        return refuse(StatusCode::SERVICE_UNAVAILABLE, "too many new sockets; try again");
    };
    response.headers_mut().insert(header::SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(SUBPROTOCOL));
    tokio::spawn(serve(shared.clone(), goal, visitor, upgraded));
    response.map(Body::new)
}

/// `GET /rooms`: a list. A connection gets one answer, so that lists count as sockets do.
async fn list<G: Game>(
    State(shared): State<Arc<Shared<G>>>,
    Extension(visitor): Extension<Visitor>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let admitted = through_proxy(&shared, visitor, &headers);
    let mut response = match (admitted.map(|visitor| visitor.place), Query::parse(query.as_deref())) {
        (Some(Place::Door(_)), Some(query)) => {
            let rooms = shared.registry.list(query.kind, query.after);
            match serde_json::to_string(&rooms) {
                Ok(json) => ([(header::CONTENT_TYPE, "application/json")], json).into_response(),
                Err(_) => refuse(StatusCode::INTERNAL_SERVER_ERROR, "the server failed to write the list"),
            }
        }
        (Some(Place::Door(_)), None) => refuse(
            StatusCode::BAD_REQUEST,
            "a list is asked for with `kind=KIND` and `after=NAME`, or neither",
        ),
        _ => refuse(StatusCode::TOO_MANY_REQUESTS, "too many new sockets; try again"),
    };
    let answer = response.headers_mut();
    answer.insert(header::CONNECTION, HeaderValue::from_static("close"));
    answer.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer.insert(header::VARY, HeaderValue::from_static("origin"));
    // The guard has let it pass.
    if let Some(origin) = headers.get(header::ORIGIN) {
        answer.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
    }
    response
}

/// Any other path: a file of the game's page. A connection gets one, as with lists.
async fn asset<G: Game>(
    State(shared): State<Arc<Shared<G>>>,
    Extension(visitor): Extension<Visitor>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    if method != Method::GET && method != Method::HEAD {
        return refuse(StatusCode::METHOD_NOT_ALLOWED, "a page is asked for with GET");
    }
    let fetches = visitor.fetches.clone();
    let admitted = through_proxy(&shared, visitor, &headers);
    let mut response = match admitted.map(|visitor| visitor.place) {
        Some(Place::Door(_)) => {
            fetches.store(true, Ordering::Relaxed);
            shared.assets.answer(uri.path(), &headers)
        }
        _ => refuse(StatusCode::TOO_MANY_REQUESTS, "too many new sockets; try again"),
    };
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

/// Which part of the list is asked for. Kinds and names need no escapes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Query<'a> {
    kind: Option<&'a str>,
    after: &'a str,
}

impl Query<'_> {
    fn parse(text: Option<&str>) -> Option<Query<'_>> {
        let mut query = Query::default();
        for pair in text.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=')? {
                ("kind", kind) if is_room_name(kind) => query.kind = Some(kind),
                ("after", name) if is_room_name(name) => query.after = name,
                _ => return None,
            }
        }
        Some(query)
    }
}

/// Puts whom a proxy has brought where she would stand had she come by herself.
fn through_proxy<G: Game>(shared: &Shared<G>, visitor: Visitor, headers: &HeaderMap) -> Option<Visitor> {
    if !shared.proxies.trusts(visitor.address) {
        return Some(visitor);
    }
    let address = shared.proxies.client(visitor.address, headers);
    let place = match visitor.place {
        Place::Door(pass) if shared.admits(address) => {
            pass.comes_from(address);
            Place::Door(pass)
        }
        _ => Place::Refused { _leave: Arc::new(shared.throttle.refusal()?) },
    };
    Some(Visitor { address, place, ..visitor })
}

/// Waits for the socket and serves it.
async fn serve<G: Game>(shared: Arc<Shared<G>>, goal: Goal, visitor: Visitor, upgraded: UpgradeFut) {
    // An error means that the connection ended before its answer was written.
    let Ok(socket) = upgraded.await else { return };
    let upgraded = socket.into_inner().into_inner();
    let Ok(parts) = upgraded.downcast::<TokioIo<TcpStream>>() else {
        return tracing::error!(kind = "failed", room = %goal, "a socket of an unknown kind");
    };
    let (read, write) = parts.io.into_inner().into_split();
    socket::serve(shared, goal, visitor, (parts.read_buf, read), write).await;
}

/// Whether one of the items that a header lists is as wanted.
pub(super) fn lists(headers: &HeaderMap, name: HeaderName, wanted: impl Fn(&str) -> bool) -> bool {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|list| list.split(',')).any(|item| wanted(item.trim()))
}

pub(super) fn refuse(status: StatusCode, message: &'static str) -> Response {
    (status, message).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_asked_for_by_kind_and_by_the_name_before() {
        let query = |kind, after| Some(Query { kind, after });
        assert_eq!(Query::parse(None), query(None, ""));
        assert_eq!(Query::parse(Some("")), query(None, ""));
        assert_eq!(Query::parse(Some("kind=duel")), query(Some("duel"), ""));
        assert_eq!(Query::parse(Some("after=a-1&kind=duel")), query(Some("duel"), "a-1"));
        for bad in ["kind", "kind=", "kind=a%20b", "after=a/b", "page=2", "kind=.."] {
            assert_eq!(Query::parse(Some(bad)), None, "{bad}");
        }
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn the_kernel_holds_little_of_what_is_sent() {
        let listener = listen(([127, 0, 0, 1], 0).into()).expect("a listener");
        let address = listener.local_addr().expect("an address");
        let (near, _far) = tokio::join!(listener.accept(), TcpStream::connect(address));
        let (near, _) = near.expect("a connection");
        set_up(&near);
        let socket = socket2::SockRef::from(&near);
        assert_eq!(socket.tcp_notsent_lowat().expect("an option") as usize, limits::SOCKET_UNSENT);
        // Linux doubles what it is asked for, for its own needs.
        assert_eq!(socket.send_buffer_size().expect("an option"), 2 * limits::SOCKET_BUFFER);
        assert!(near.nodelay().expect("an option"));
    }
}
