"""Keys of a program that binds: one context for all its sockets, and the authenticator that guards them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import zmq

    from monitor.config import Settings
    from monitor.transport.zeromq.key_files import Keys

_IO_THREADS = 4  # signals, results, requests and the authenticator do not wait for each other

_AUTHENTICATOR_STOPPED = "the authenticator has stopped: no new client is admitted; start the service again"


class Guard(NamedTuple):
    """What every socket of a program is made with; both None where there are no keys."""

    context: zmq.Context[zmq.Socket[bytes]] | None
    keys: Keys | None
    trouble: Callable[[], str] = str
    """Says in one line what is wrong with the guard; empty: nothing."""
    clients: Path | None = None
    """Folder of the public keys of who is let in."""


@contextmanager
def open_guard(folder: str, peer: str = "", say: Callable[[str], None] = lambda _: None) -> Iterator[Guard]:
    """Give what sockets are made with, for as long as they are there.

    Parameters
    ----------
    folder : made by `synchroscope keys`; empty: nothing is open_guard.
    peer : file of the public key of who is connected to.
    say : is told who is let in, and who was not.

    Raises
    ------
    KeyFileError : a key is missing or not safe.
    """
    if not folder:
        if peer:
            raise ValueError(f"the key {peer} is of no use without own keys: give --keys too")
        yield Guard(None, None)
        return

    import zmq

    from monitor.transport.zeromq.allow_list import AllowList, ZapAuthenticator
    from monitor.transport.zeromq.key_files import CLIENTS, SERVICE, service_keys

    keys = service_keys(Path(folder), Path(peer) if peer else None)
    # who holds the service's own secret is the service
    allowed = AllowList(Path(folder) / CLIENTS, {keys.public: SERVICE}, say)
    say(f"keys of {folder}: {', '.join(sorted(allowed.names.values())) or 'no client'} may come")
    context = zmq.Context(io_threads=_IO_THREADS)
    try:
        authenticator = ZapAuthenticator(context, allowed, say)
        try:
            yield Guard(
                context, keys, lambda: "" if authenticator.alive else _AUTHENTICATOR_STOPPED, Path(folder) / CLIENTS
            )
        finally:
            authenticator.close()
    finally:
        context.destroy(linger=0)


def unencrypted_rigs(settings: Settings) -> str:
    """Say which rigs are heard without encryption although there are keys; empty: none."""
    from monitor.transport.zeromq.endpoint import is_local

    if not settings.security.keys or settings.security.rig_key:
        return ""
    far = [url for url in settings.stream.connect if not is_local(url)]
    return f"{', '.join(far)}: heard without encryption, for there is no --rig-key" if far else ""
