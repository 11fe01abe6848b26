"""The list of clients: their public keys in a folder, and the authenticator that looks them up (ZAP, RFC 27)."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import monotonic

import zmq
from zmq.utils import z85

from monitor.transport.rate_limit import TokenBucket
from monitor.transport.zeromq.key_files import (
    CLIENTS,
    DOMAIN,
    HAND_OVER,
    PUBLIC,
    SECRET,
    SERVICE,
    KeyFileError,
    check_folder,
    check_name,
    read_public,
    service_keys,
    write_key,
    write_pair,
)

_MAX_FILES = 4096
_CHECK_INTERVAL = 0.25  # s; a check of many files is slow, and unknown clients may connect at any rate

_Signature = tuple[tuple[str, int, int, int], ...]


class AllowList:
    """The public keys in the files ``NAME.public`` of a folder.

    Files that others can write are ignored, and a folder that others can write counts as empty.

    Parameters
    ----------
    folder : checked when a key is looked up, for unknown keys four times a second at most, and read again where
        anything in it has changed.
    always : names by public key that need no file.
    report : called once with each line about what is ignored.
    clock : s, monotonic.
    """

    def __init__(
        self,
        folder: Path,
        always: dict[bytes, str] | None = None,
        report: Callable[[str], None] = lambda _: None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.folder = folder
        self._always = {z85.decode(key): name for key, name in (always or {}).items()}
        self._callback = report
        self._clock = clock
        self._next_check, self._folder_time = clock(), 0
        self._reported: set[str] = set()
        self._seen: _Signature | None = None
        self._names: dict[bytes, str] = {}
        self._raw_keys: dict[bytes, str] = {}

    def name_of(self, key: bytes) -> str | None:
        """Return the name of the client with this public key (32 bytes); None if it is not on the list."""
        if name := self._always.get(key):
            return name
        # a listed key is checked every time, so that a removed client is rejected at once
        if key in self._raw_keys or self._clock() >= self._next_check or self._changed() != self._folder_time:
            self._refresh()
        return self._raw_keys.get(key)

    @property
    def names(self) -> dict[bytes, str]:
        """Names by public key, as the folder is now."""
        self._refresh()
        return self._names

    def _changed(self) -> int:
        try:
            return self.folder.stat().st_mtime_ns
        except OSError:
            return 0

    def _refresh(self) -> None:
        self._folder_time = self._changed()
        self._next_check = self._clock() + _CHECK_INTERVAL
        try:
            check_folder(self.folder)
            seen = self._files()
        except (KeyFileError, OSError) as problem:
            self._seen, self._names, self._raw_keys = None, {}, {}
            self._report(f"no client is accepted: {problem}")
            return
        if seen != self._seen:
            self._names, settled = self._read(seen)
            self._raw_keys = {z85.decode(key): name for key, name in self._names.items()}
            self._seen = seen if settled else None

    def _files(self) -> _Signature:
        found = []
        with os.scandir(self.folder) as entries:
            for entry in entries:
                if entry.name.endswith(PUBLIC):
                    status = entry.stat(follow_symlinks=False)
                    found.append((entry.name, status.st_mtime_ns, status.st_ctime_ns, status.st_ino))
        if len(found) > _MAX_FILES:
            self._report(f"{self.folder} holds more than {_MAX_FILES} keys: the last by name are ignored")
        return tuple(sorted(found)[:_MAX_FILES])

    def _read(self, seen: _Signature) -> tuple[dict[bytes, str], bool]:
        """Return the names, and whether reading again would give the same."""
        names, settled = {}, True
        for file, *_ in seen:
            try:
                name = check_name(file.removesuffix(PUBLIC))
                names[read_public(self.folder / file)] = name
            except KeyFileError as problem:
                # a fault of the system, such as too many open files, may pass
                settled = settled and not isinstance(problem.__cause__, OSError)
                self._report(f"key ignored: {problem}")
        return names, settled

    def _report(self, text: str) -> None:
        if text not in self._reported and len(self._reported) < _MAX_FILES:
            self._reported.add(text)
            self._callback(text)


class KeyFolder:
    """Keys in ``service.secret``, ``service.public``, ``clients/NAME.public`` and ``hand-over/NAME/``.

    Nothing is ever overwritten. All methods raise `KeyFileError` for what cannot be done.

    Parameters
    ----------
    folder : created by `prepare` if necessary.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._clients, self._hand_over = folder / CLIENTS, folder / HAND_OVER
        self.public, self.secret = folder / f"{SERVICE}{PUBLIC}", folder / f"{SERVICE}{SECRET}"

    def prepare(self) -> bool:
        """Create the folder and the service's pair; return False where a valid pair exists."""
        for folder in (self._folder, self._clients):
            _make(folder)
        if self.secret.exists() != self.public.exists():
            half, other = (self.secret, self.public) if self.secret.exists() else (self.public, self.secret)
            raise KeyFileError(f"{half} exists without {other}: restore that, or remove this to create a new pair")
        if self.secret.exists():
            if read_public(self.public) != service_keys(self._folder).public:
                raise KeyFileError(f"{self.public} does not belong to {self.secret}: remove the wrong one")
            return False
        write_pair(self.public, self.secret)
        return True

    def client(self, name: str) -> Path:
        """Create a client's pair and add it to the list; return the folder to hand over."""
        folder = self._hand_over / self._new(name)
        if folder.exists():
            raise KeyFileError(f"{folder} exists already: remove it first")
        _make(self._hand_over)
        _make(folder)
        listed = self._clients / f"{name}{PUBLIC}"
        try:
            write_key(folder / f"{SERVICE}{PUBLIC}", read_public(self.public))
            write_pair(listed, folder / f"{name}{SECRET}")
        except BaseException:
            shutil.rmtree(folder)
            raise
        return folder

    def admit(self, name: str, file: Path) -> None:
        """Add the client whose public key is in `file` to the list."""
        write_key(self._clients / f"{self._new(name)}{PUBLIC}", read_public(file))

    def remove(self, name: str) -> None:
        """Remove a client from the list, and its folder to hand over if it is still there."""
        try:
            (self._clients / f"{check_name(name)}{PUBLIC}").unlink()
        except FileNotFoundError:
            known = ", ".join(sorted(self.listed().values())) or "no client"
            raise KeyFileError(f"{name} is not on the list of {self._folder}; on it: {known}") from None
        except OSError as problem:
            raise KeyFileError(f"{name} cannot be removed: {problem.strerror}") from problem
        shutil.rmtree(self._hand_over / name, ignore_errors=True)

    def listed(self) -> dict[bytes, str]:
        """Return the names of the clients on the list, by public key."""
        check_folder(self._clients)
        problems: list[str] = []
        names = AllowList(self._clients, report=problems.append).names
        if problems:
            raise KeyFileError("; ".join(problems))
        return names

    def _new(self, name: str) -> str:
        if (self._clients / f"{check_name(name)}{PUBLIC}").exists():
            raise KeyFileError(f"{name} is on the list already: choose another name, or --remove it first")
        return name


def _make(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, exist_ok=True, parents=folder.name not in (CLIENTS, HAND_OVER))
    except OSError as problem:
        raise KeyFileError(f"{folder} cannot be created: {problem.strerror}") from problem
    check_folder(folder)


_ADDRESS = "inproc://zeromq.zap.01"
_POLL_INTERVAL = 100  # ms between checks for a stop
_REQUEST_FRAMES = 7
_VERSION, _ACCEPTED, _REJECTED = b"1.0", b"200", b"400"


class ZapAuthenticator:
    """Authenticate the clients of all sockets of a context that are bound with keys, in a thread of its own.

    There is one per context. When it is closed or its thread has died, no new client is accepted.

    Parameters
    ----------
    context : of the sockets; it must outlive this.
    allowed : the clients that are accepted.
    log : called in the thread with a line for a client that is refused, 5 times at once and then every 10 s.
    """

    def __init__(
        self, context: zmq.Context[zmq.Socket[bytes]], allowed: AllowList, log: Callable[[str], None] = lambda _: None
    ) -> None:
        self._allowed, self._log_callback = allowed, log
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
        """Its thread runs."""
        return self._thread.is_alive()

    def close(self) -> None:
        """Accept no more clients; a second call does nothing."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        # libzmq refuses every client at once when this socket is closed
        with self._socket:
            while not self._stop.is_set():
                if self._socket.poll(_POLL_INTERVAL):
                    self._serve()

    def _serve(self) -> None:
        frames = self._socket.recv_multipart()
        try:
            answer = self._answer(frames)
        except Exception as problem:  # noqa: BLE001  a request that fails is refused, and the next one is served
            if self._log_limit.allow():
                self._log(f"refused a client, for the check of its key failed: {problem!r}")
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
        if name is None and self._log_limit.allow():
            peer = address.decode("ascii", "replace") or "this machine"
            self._log(
                f"refused a client at {peer}: its key {z85.encode(key).decode()} is not in {self._allowed.folder}"
            )
        return name

    def _log(self, text: str) -> None:
        # the log may be closed, as standard error can be
        with suppress(Exception):
            self._log_callback(text)
