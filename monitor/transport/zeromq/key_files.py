"""CURVE keys: applied to a socket, and stored in files of one line of 40 characters each."""

from __future__ import annotations

import os
import re
import stat
import struct
from dataclasses import dataclass, field
from pathlib import Path

import zmq
from zmq.utils import z85

from monitor.system.files import (
    GROUP_OTHER_ACCESS,
    GROUP_OTHER_WRITE,
    UnsafeFileError,
    check_permissions,
    open_guarded,
)

DOMAIN = b"synchroscope"
"""The ZAP domain of every socket that is bound with keys."""


@dataclass(frozen=True, slots=True)
class Keys:
    """A program's own pair, and the public key of the server that it connects to.

    Parameters
    ----------
    public, secret : 40 characters each, in Z85.
    peer : public key of the server; empty: connections are not encrypted.
    """

    public: bytes
    secret: bytes = field(repr=False)
    peer: bytes = b""

    def apply(self, socket: zmq.Socket[bytes], *, bind: bool) -> None:
        """Set the keys of a socket, before it is bound or connected.

        A bound socket admits the clients that the `ZapAuthenticator` of its context admits, and none without an
        authenticator: libzmq by default would admit any key.
        """
        if bind:
            socket.setsockopt(zmq.CURVE_SERVER, 1)
            socket.setsockopt(zmq.CURVE_SECRETKEY, self.secret)
            socket.setsockopt(zmq.ZAP_DOMAIN, DOMAIN)
            socket.setsockopt(zmq.ZAP_ENFORCE_DOMAIN, 1)
        elif self.peer:
            socket.setsockopt(zmq.CURVE_PUBLICKEY, self.public)
            socket.setsockopt(zmq.CURVE_SECRETKEY, self.secret)
            socket.setsockopt(zmq.CURVE_SERVERKEY, self.peer)


SERVICE = "service"
CLIENTS = "clients"
HAND_OVER = "hand-over"
PUBLIC, SECRET = ".public", ".secret"

_LENGTH = 40
_MAX_BYTES = 256  # read of a file
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


class KeyFileError(ValueError):
    """A key file is missing, invalid or not safe; the text says which and what to do."""


def check_name(name: str) -> str:
    """Return `name` if it can name a client and its files; else raise `KeyFileError`."""
    if not _NAME.fullmatch(name) or name == SERVICE:
        raise KeyFileError(
            f"{name!r} cannot name a client: use up to 64 letters, digits, dots, dashes and underscores, "
            f"but not {SERVICE!r}"
        )
    return name


def write_pair(public: Path, secret: Path) -> None:
    """Create a pair of keys; no file is overwritten, and the secret file has mode 0600 from its first byte."""
    pair = zmq.curve_keypair()
    write_key(secret, pair[1], 0o600)
    try:
        write_key(public, pair[0], 0o644)
    except BaseException:
        secret.unlink()
        raise


def write_key(path: Path, key: bytes, mode: int = 0o644) -> None:
    """Write one key into a new file."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    except FileExistsError:
        raise KeyFileError(f"{path} exists already, and keys are never overwritten: remove it first") from None
    except OSError as problem:
        raise KeyFileError(f"{path} cannot be written: {problem.strerror}") from problem
    try:
        with os.fdopen(descriptor, "wb") as file:
            if os.name == "posix":
                # regardless of the umask
                os.fchmod(descriptor, mode)
            file.write(key + b"\n")
            file.flush()
            os.fsync(descriptor)
    except BaseException as problem:
        # no incomplete key file
        path.unlink()
        if isinstance(problem, OSError):
            raise KeyFileError(f"{path} cannot be written: {problem.strerror}") from problem
        raise


def read_public(path: Path) -> bytes:
    """Return a public key; others may read its file, but not write it."""
    return _key(path, _content(path, GROUP_OTHER_WRITE))


def read_secret(path: Path) -> bytes:
    """Return a secret key, from a file that only its owner can read."""
    return _key(path, _content(path, GROUP_OTHER_ACCESS))


def service_keys(folder: Path, peer: Path | None = None) -> Keys:
    """Return the keys of the service from its folder; `peer`: public key file of the server that it connects to."""
    if not folder.is_dir():
        raise KeyFileError(f"{folder}: no such folder; `synchroscope keys {folder}` creates one")
    keys = _pair(folder / f"{SERVICE}{SECRET}")
    return keys if peer is None else Keys(keys.public, keys.secret, read_public(peer))


def client_keys(path: Path) -> Keys:
    """Return the keys of a client, from the folder that was handed over to it or from that of the service itself.

    Parameters
    ----------
    path : a folder with one ``NAME.secret`` and ``service.public``, or that file ``NAME.secret`` with the other
        in the same folder.
    """
    secret = path
    if path.is_dir():
        found = sorted(path.glob(f"*{SECRET}"))
        if len(found) != 1:
            several = ", ".join(each.name for each in found)
            raise KeyFileError(
                f"{path} has more than one secret key ({several}): name the one to use"
                if found
                else f"{path} has no file ending in {SECRET}: give the folder that was handed over"
            )
        secret = found[0]
    keys = _pair(secret)
    return Keys(keys.public, keys.secret, read_public(secret.parent / f"{SERVICE}{PUBLIC}"))


def keys_of(path: str) -> Keys | None:
    """Return the keys of a client as `client_keys` does; None for an empty path."""
    return client_keys(Path(path)) if path else None


def check_folder(folder: Path) -> None:
    """Raise `KeyFileError` if users other than the owner could write into `folder`."""
    try:
        found = folder.stat()
    except OSError as problem:
        raise KeyFileError(f"{folder} cannot be read: {problem.strerror}") from problem
    if not stat.S_ISDIR(found.st_mode):
        raise KeyFileError(f"{folder} is not a folder")
    try:
        check_permissions(folder, found, GROUP_OTHER_WRITE)
    except UnsafeFileError as problem:
        raise KeyFileError(str(problem)) from problem


def _pair(path: Path) -> Keys:
    secret = read_secret(path)
    try:
        return Keys(zmq.curve_public(secret), secret)
    except zmq.ZMQError:
        raise _no_key(path) from None


def _content(path: Path, forbidden: int) -> bytes:
    try:
        with open_guarded(path, forbidden) as file:
            return file.read(_MAX_BYTES)
    except UnsafeFileError as problem:
        # the cause shows whether the fault may pass, as with too many open files
        raise KeyFileError(str(problem)) from (problem.__cause__ or problem)
    except OSError as problem:
        raise KeyFileError(f"{path} cannot be read: {problem.strerror}") from problem


def _key(path: Path, content: bytes) -> bytes:
    key = content.strip()
    try:
        good = len(key) == _LENGTH and len(z85.decode(key)) == 32
    except (KeyError, struct.error):
        # not a Z85 character, or five of them that exceed 32 bits
        good = False
    if not good:
        raise _no_key(path)
    return key


def _no_key(path: Path) -> KeyFileError:
    return KeyFileError(f"{path} contains no key: it should be one line of {_LENGTH} characters")
