"""CURVE security of a program that binds sockets: their context, keys and authenticator."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import zmq

    from monitor.config import Settings
    from monitor.transport.zeromq.key_files import Keys

_IO_THREADS = 4  # so that signals, results, requests and the authenticator do not block each other

_AUTHENTICATOR_STOPPED = "the authenticator has stopped: no new client is admitted; restart the service"


class Guard(NamedTuple):
    """Context and keys for the sockets of a program; None without security."""

    context: zmq.Context[zmq.Socket[bytes]] | None
    keys: Keys | None
    fault: Callable[[], str] = str
    """Returns the fault of the authenticator in one line; empty without."""
    clients: Path | None = None
    """Folder of the public keys of admitted clients."""


@contextmanager
def open_guard(folder: str, peer: str = "", log: Callable[[str], None] = lambda _: None) -> Iterator[Guard]:
    """Yield context and keys for sockets, and authenticate clients until the context is left.

    Parameters
    ----------
    folder : created by `synchroscope keys`; empty: without security.
    peer : file of the public key of the peer to connect to.
    log : prints a line about admitted and rejected clients.

    Raises
    ------
    KeyFileError : a key is missing or has unsafe permissions.
    """
    if not folder:
        if peer:
            raise ValueError(f"the key {peer} needs own keys: give --keys too")
        yield Guard(None, None)
        return

    import zmq

    from monitor.transport.zeromq.allow_list import AllowList, ZapAuthenticator
    from monitor.transport.zeromq.key_files import CLIENTS, SERVICE, service_keys

    keys = service_keys(Path(folder), Path(peer) if peer else None)
    # the service itself may connect, too
    allowed = AllowList(Path(folder) / CLIENTS, {keys.public: SERVICE}, log)
    log(f"keys of {folder}: admitted: {', '.join(sorted(allowed.names.values())) or 'no client'}")
    context = zmq.Context(io_threads=_IO_THREADS)
    try:
        authenticator = ZapAuthenticator(context, allowed, log)
        try:
            yield Guard(
                context, keys, lambda: "" if authenticator.alive else _AUTHENTICATOR_STOPPED, Path(folder) / CLIENTS
            )
        finally:
            authenticator.close()
    finally:
        context.destroy(linger=0)


def unencrypted_rigs(settings: Settings) -> str:
    """Return a line with the rigs whose connection is not encrypted despite keys; empty without."""
    from monitor.transport.zeromq.endpoint import is_local

    if not settings.security.keys or settings.security.rig_key:
        return ""
    remote = [url for url in settings.stream.connect if not is_local(url)]
    return f"{', '.join(remote)}: not encrypted, as there is no --rig-key" if remote else ""
