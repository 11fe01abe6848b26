"""ZeroMQ endpoints and sockets: options, connection events, and why a handshake failed."""

from __future__ import annotations

import errno
import ipaddress
import itertools
import re
import socket
from collections.abc import Iterator
from time import monotonic

import zmq
from zmq.utils.monitor import recv_monitor_message

from monitor.transport.base import TransportError
from monitor.transport.zeromq.key_files import Keys

_TCP = re.compile(r"tcp://(?P<host>\[[0-9A-Fa-f:.%]+\]|[^\s:/\[\]]+):(?P<port>\d{1,5}|\*)")
_FORMS = "write tcp://HOST:PORT, for example tcp://127.0.0.1:5555, or ipc:///path"
_REASONS = {
    errno.EADDRINUSE: "is in use: stop the other program or choose another",
    errno.EADDRNOTAVAIL: "is not an address of this machine: use one that is, for example 127.0.0.1",
    errno.ENODEV: "is not an address of this machine: use one that is, for example 127.0.0.1",
    errno.EACCES: "may not be opened by this user: choose a port above 1023",
    errno.ENOENT: "cannot be created: its folder does not exist",
    errno.ENOTDIR: "cannot be created: its folder does not exist",
    errno.EPROTONOSUPPORT: f"needs a transport that is missing here: {_FORMS}",
}
_ALL_ADDRESSES = ("*", "0.0.0.0", "[::]")  # noqa: S104 - recognised, not bound

MESSAGES_PER_SECOND = 2000
"""By which a queue given in seconds is sized; few rigs send more messages than this."""

_MIN_MAXRT = 5000  # ms: below, a busy network would break connections


def check_endpoint(url: str, *, bind: bool) -> None:
    """Raise `TransportError` unless `url` is a ZeroMQ endpoint that can be bound or connected to."""
    if url.startswith(("ipc://", "inproc://")) and url.split("://")[1]:
        return
    match = _TCP.fullmatch(url)
    if match is None:
        raise TransportError(f"{url!r} is not an endpoint: {_FORMS}")
    host, port = match["host"], match["port"]
    wild = port == "*" or int(port) == 0
    if not wild and int(port) > 65535:
        raise TransportError(f"{url}: ports end at 65535")
    if not bind and (wild or host == "*"):
        raise TransportError(f"{url} names no single port of one host: only a bind may leave them open")


def host_and_port(url: str) -> tuple[str, int] | None:
    """Return host and port of a TCP endpoint; None for another transport, or without a single port."""
    match = _TCP.fullmatch(url)
    if match is None or match["port"] == "*":
        return None
    return match["host"].strip("[]"), int(match["port"])


def is_local(url: str) -> bool:
    """Return whether only programs on this machine can reach a socket bound to `url`."""
    match = _TCP.fullmatch(url)
    if match is None:
        return url.startswith(("ipc://", "inproc://"))
    host = match["host"].strip("[]")
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def reached_from(url: str, neighbour: str) -> str:
    """Return `url` as a client connects to it: a wildcard host is replaced by the host of `neighbour`."""
    match, other = _TCP.fullmatch(url), _TCP.fullmatch(neighbour)
    if match is None or other is None or match["host"] not in _ALL_ADDRESSES:
        return url
    return f"tcp://{other['host']}:{match['port']}"


def set_options(socket: zmq.Socket[bytes], queue_seconds: float, stale_after: float = 5.0) -> None:
    """Set the options that all sockets have in common; before any bind or connect.

    libzmq 4.3.5 aborts the process (`Assertion failed: !_io_error`) when it has stopped reading from a peer because
    a receive queue is full, that peer resets the connection, and then a heartbeat is due or a PING of the peer is
    found in data that was read before. So receive queues are unlimited in libzmq, and bounded by their reader (see
    `Subscriber`), and no socket sends heartbeats. A peer that vanishes is detected by the kernel: by keepalive
    probes on an idle connection, else by data that is not acknowledged.

    Parameters
    ----------
    queue_seconds : size of the send queue of each peer.
    stale_after : s after which a peer that does not answer keepalive probes counts as gone.
    """
    timeout = max(1, int(1000 * stale_after))
    probe = max(1, int(stale_after / 4))
    options = {
        zmq.LINGER: 0,
        zmq.RCVHWM: 0,
        zmq.SNDHWM: max(1, int(queue_seconds * MESSAGES_PER_SECOND)),
        zmq.HEARTBEAT_IVL: 0,
        zmq.HANDSHAKE_IVL: timeout,
        zmq.CONNECT_TIMEOUT: timeout,
        zmq.RECONNECT_IVL: 100,
        zmq.RECONNECT_IVL_MAX: max(100, min(timeout, 1000)),
        zmq.TCP_KEEPALIVE: 1,
        zmq.TCP_KEEPALIVE_IDLE: probe,
        zmq.TCP_KEEPALIVE_INTVL: probe,
        zmq.TCP_KEEPALIVE_CNT: 3,
        zmq.TCP_MAXRT: max(timeout, _MIN_MAXRT),
    }
    for option, value in options.items():
        socket.setsockopt(option, value)


def attach(
    socket: zmq.Socket[bytes], url: str, *, bind: bool, insecure: bool = False, security: Keys | None = None
) -> str:
    """Bind or connect `socket`, with keys if given; return the actual endpoint, with its port.

    Raises
    ------
    TransportError : the endpoint is malformed, in use or unavailable, or a bind without keys would be open to other
        machines and `insecure` is False.
    """
    check_endpoint(url, bind=bind)
    if bind and not insecure and security is None and not is_local(url):
        raise TransportError(
            f"{url} would be open to other machines without encryption: bind 127.0.0.1, give --keys with a folder "
            "made by `synchroscope keys`, or add --insecure"
        )
    if security is not None:
        security.apply(socket, bind=bind)
    socket.setsockopt(zmq.IPV6, int("[" in url))
    try:
        socket.bind(url) if bind else socket.connect(url)
    except zmq.ZMQError as problem:
        reason = _REASONS.get(problem.errno or 0, f"cannot be used: {problem.strerror}")
        raise TransportError(f"{url} {reason}") from problem
    return socket.getsockopt_string(zmq.LAST_ENDPOINT) if bind else url


def readable(socket: zmq.Socket[bytes]) -> bool:
    """Return whether a message waits in `socket`; cheaper than a poll."""
    return bool(int(socket.getsockopt(zmq.EVENTS)) & zmq.POLLIN)


_numbers = itertools.count()

FAILED = zmq.Event.HANDSHAKE_FAILED_NO_DETAIL | zmq.Event.HANDSHAKE_FAILED_PROTOCOL | zmq.Event.HANDSHAKE_FAILED_AUTH


def rejection_reason(event: int, value: int, *, encrypted: bool) -> str:
    """Return why the peer refuses the connection for good; empty where that is unknown.

    Parameters
    ----------
    event, value : of the monitor of the connecting socket.
    encrypted : it uses keys.
    """
    if event == zmq.Event.HANDSHAKE_FAILED_AUTH:
        return "refused: this key is not on the list of clients of the server"
    if event == zmq.Event.HANDSHAKE_FAILED_PROTOCOL and value == zmq.PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH:
        if encrypted:
            return "the server has no CURVE security, but a key folder was given: connect without it if that is right"
        # the event does not name the mechanism that the peer requires
        return "the server requires keys: give a key folder; or it does not answer like a ZeroMQ publisher"
    return ""


def likely_cause(*, encrypted: bool) -> str:
    """Return what is probably wrong where the peer closes the connection repeatedly."""
    if encrypted:
        return "closes the connection: the server uses no keys, or its public key is not the one given here; retrying"
    return "does not answer like a ZeroMQ publisher, or requires keys; retrying"


class SocketMonitor:
    """Connection events of a socket; opened before the socket connects, closed before the socket.

    Parameters
    ----------
    context : of the socket.
    events : bit mask of the events to report.
    """

    def __init__(self, context: zmq.Context[zmq.Socket[bytes]], socket: zmq.Socket[bytes], events: int) -> None:
        self._socket = socket
        address = f"inproc://synchroscope-monitor-{next(_numbers)}"
        socket.monitor(address, events)
        self._monitor = context.socket(zmq.PAIR)
        # a full monitor would block the only I/O thread, and with it every other socket
        self._monitor.setsockopt(zmq.RCVHWM, 0)
        self._monitor.setsockopt(zmq.LINGER, 0)
        self._monitor.connect(address)

    def events(self) -> Iterator[tuple[int, int]]:
        """Yield event and value of the events since the last call."""
        while readable(self._monitor):
            message = recv_monitor_message(self._monitor)
            yield message["event"], message["value"]

    def close(self) -> None:
        """Stop monitoring."""
        # first, or the I/O thread would wait for ever for the last event to be read
        self._socket.disable_monitor()
        self._monitor.close()


# ZMTP 3: ten bytes of signature and two of the version. No more: given a mechanism, the peer may disconnect first
_GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00"
_GREETING_LENGTH = 64
_MECHANISM = slice(12, 32)


def server_mechanism(url: str, seconds: float = 1.0) -> str:
    """Return the security mechanism of a server, NULL, PLAIN or CURVE; empty where there is no answer in time."""
    address = host_and_port(url)
    if address is None:
        return ""
    received, deadline = b"", monotonic() + seconds
    try:
        with socket.create_connection(address, timeout=seconds) as connection:
            connection.sendall(_GREETING)
            while len(received) < _GREETING_LENGTH and (left := deadline - monotonic()) > 0.0:
                connection.settimeout(left)
                if not (part := connection.recv(_GREETING_LENGTH - len(received))):
                    break
                received += part
    # a name that cannot be encoded raises UnicodeError
    except (OSError, UnicodeError):
        return ""
    is_zmtp = (
        len(received) == _GREETING_LENGTH and received[:1] == _GREETING[:1] and received[9:10] == _GREETING[9:10]
    )
    return received[_MECHANISM].rstrip(b"\0").decode("ascii", "replace") if is_zmtp else ""
