"""Endpoints of ZeroMQ sockets: checked, attached, and refused in one clear line."""

from __future__ import annotations

import errno
import ipaddress
import re

import zmq

from monitor.transport.base import TransportError
from monitor.transport.security.key_files import Keys

_TCP = re.compile(r"tcp://(?P<host>\[[0-9A-Fa-f:.%]+\]|[^\s:/\[\]]+):(?P<port>\d{1,5}|\*)")
_FORMS = "write tcp://HOST:PORT, for example tcp://127.0.0.1:5555, or ipc:///path"
_REASONS = {
    errno.EADDRINUSE: "is in use: stop the other program or choose another",
    errno.EADDRNOTAVAIL: "is not an address of this machine: use one that is, for example 127.0.0.1",
    errno.ENODEV: "is not an address of this machine: use one that is, for example 127.0.0.1",
    errno.EACCES: "may not be opened by this user: choose a port above 1023",
    errno.ENOENT: "cannot be made: its folder does not exist",
    errno.ENOTDIR: "cannot be made: its folder does not exist",
    errno.EPROTONOSUPPORT: f"needs a transport that is missing here: {_FORMS}",
}
_ALL_ADDRESSES = ("*", "0.0.0.0", "[::]")  # noqa: S104 - recognised, not bound

MESSAGES_PER_SECOND = 2000
"""What a queue given in seconds is sized for; few rigs send more messages than this."""


_SHORTEST_MAXRT = 5000  # ms: below, a network that is only busy would cut connections


def check(url: str, *, bind: bool) -> None:
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
    """Return where an endpoint over TCP is; None where it is of another kind, or names no single port."""
    match = _TCP.fullmatch(url)
    if match is None or match["port"] == "*":
        return None
    return match["host"].strip("[]"), int(match["port"])


def is_local(url: str) -> bool:
    """Tell whether only programs on this machine can reach a socket bound to `url`."""
    match = _TCP.fullmatch(url)
    if match is None:
        return url.startswith(("ipc://", "inproc://"))
    host = match["host"].strip("[]")
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def reached_from(url: str, neighbour: str) -> str:
    """Return `url` as a client connects to it: a host that stands for all addresses becomes that of `neighbour`."""
    match, other = _TCP.fullmatch(url), _TCP.fullmatch(neighbour)
    if match is None or other is None or match["host"] not in _ALL_ADDRESSES:
        return url
    return f"tcp://{other['host']}:{match['port']}"


def prepare(socket: zmq.Socket[bytes], queue_seconds: float, stale_after: float = 5.0) -> None:
    """Set what every socket has in common; before any bind or connect.

    libzmq 4.3.5 aborts the process (`Assertion failed: !_io_error`) when it has stopped reading from a peer because
    a receive queue is full, that peer resets the connection, and then a heartbeat is due or a PING of the peer is
    found in what was read already. So no receive queue has a limit, for who reads must keep up and count (see
    `reading`), and nothing here sends heartbeats. That a peer has gone without a word is the kernel's to find out:
    by probes where nothing is on its way to it, else by what it does not acknowledge.

    Parameters
    ----------
    queue_seconds : how much may wait for a peer that does not take it.
    stale_after : s after which a peer that does not answer the kernel's probes has gone.
    """
    patience = max(1, int(1000 * stale_after))
    probe = max(1, int(stale_after / 4))
    options = {
        zmq.LINGER: 0,
        zmq.RCVHWM: 0,
        zmq.SNDHWM: max(1, int(queue_seconds * MESSAGES_PER_SECOND)),
        zmq.HEARTBEAT_IVL: 0,
        zmq.HANDSHAKE_IVL: patience,
        zmq.CONNECT_TIMEOUT: patience,
        zmq.RECONNECT_IVL: 100,
        zmq.RECONNECT_IVL_MAX: max(100, min(patience, 1000)),
        zmq.TCP_KEEPALIVE: 1,
        zmq.TCP_KEEPALIVE_IDLE: probe,
        zmq.TCP_KEEPALIVE_INTVL: probe,
        zmq.TCP_KEEPALIVE_CNT: 3,
        zmq.TCP_MAXRT: max(patience, _SHORTEST_MAXRT),
    }
    for option, value in options.items():
        socket.setsockopt(option, value)


def attach(
    socket: zmq.Socket[bytes], url: str, *, bind: bool, insecure: bool = False, security: Keys | None = None
) -> str:
    """Bind or connect `socket`, with keys where there are some; return the endpoint as it really is, with its port.

    Raises
    ------
    TransportError : the endpoint is malformed, taken or not to be had, or a bind would let other
        machines in without keys and `insecure` is not said.
    """
    check(url, bind=bind)
    if bind and not insecure and security is None and not is_local(url):
        raise TransportError(
            f"{url} would be open to other machines without encryption: bind 127.0.0.1, give --keys with a folder "
            "made by `synchroscope keys`, or say --insecure"
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
    """Tell whether a message waits in `socket`; cheaper than a poll."""
    return bool(int(socket.getsockopt(zmq.EVENTS)) & zmq.POLLIN)
