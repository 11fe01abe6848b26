"""Who is let in: the answers to libzmq's question about every client with keys (ZAP, RFC 27)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress

import zmq
from zmq.utils import z85

from monitor.transport.rate_limit import TokenBucket
from monitor.transport.security.key_files import DOMAIN
from monitor.transport.security.key_folder import AllowList

_ADDRESS = "inproc://zeromq.zap.01"
_POLL_INTERVAL = 100  # ms between looks at whether to stop
_REQUEST_FRAMES = 7  # frames
_VERSION, _ACCEPTED, _REJECTED = b"1.0", b"200", b"400"


class ZapAuthenticator:
    """Answer for every socket of a context that is bound with keys, in a thread of its own.

    There is one for a context. Where it is closed or its thread has died, nobody new gets in.

    Parameters
    ----------
    context : of the sockets that are guarded; it must outlive this.
    allowed : who is let in.
    say : is told in one line who was not; called in the thread, five times at once and once in ten seconds.
    """

    def __init__(
        self,
        context: zmq.Context[zmq.Socket[bytes]],
        allowed: AllowList,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._allowed, self._say = allowed, say
        self._log_limit = TokenBucket(5, 0.1)
        self._stop = threading.Event()
        self.refused = 0
        self._socket = context.socket(zmq.REP)
        try:
            self._socket.setsockopt(zmq.LINGER, 0)
            self._socket.bind(_ADDRESS)
        except BaseException:
            self._socket.close()
            raise
        self._thread = threading.Thread(target=self._run, name="authenticator", daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        """It answers."""
        return self._thread.is_alive()

    def close(self) -> None:
        """Let nobody in any more; a second call does nothing."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        # a closed socket is an answer too: libzmq then refuses at once
        with self._socket:
            while not self._stop.is_set():
                if self._socket.poll(_POLL_INTERVAL):
                    self._serve()

    def _serve(self) -> None:
        frames = self._socket.recv_multipart()
        try:
            answer = self._answer(frames)
        except Exception as problem:  # noqa: BLE001  one that cannot be judged is not let in, and the next one is judged
            if self._log_limit.take():
                self._log(f"refused a client that could not be judged: {problem!r}")
            answer = self._rejection(frames)
        self._socket.send_multipart(answer)

    def _answer(self, frames: list[bytes]) -> list[bytes]:
        name = self._name(frames)
        return self._rejection(frames) if name is None else [_VERSION, frames[1], _ACCEPTED, b"", name.encode(), b""]

    def _rejection(self, frames: list[bytes]) -> list[bytes]:
        self.refused += 1
        number = frames[1] if len(frames) > 1 else b""
        return [_VERSION, number, _REJECTED, b"not on the list", b"", b""]

    def _name(self, frames: list[bytes]) -> str | None:
        if len(frames) != _REQUEST_FRAMES:
            return None
        version, _, domain, address, _, mechanism, key = frames
        if (version, domain, mechanism, len(key)) != (_VERSION, DOMAIN, b"CURVE", 32):
            return None
        name = self._allowed.name_of(key)
        if name is None and self._log_limit.take():
            who = address.decode("ascii", "replace") or "this machine"
            self._log(
                f"refused a client at {who}: its key {z85.encode(key).decode()} is not in {self._allowed.folder}"
            )
        return name

    def _log(self, text: str) -> None:
        # whoever listened may have gone, as standard error can
        with suppress(Exception):
            self._say(text)
