"""CURVE keys: in a socket, and in files of one line of 40 characters each."""

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
    """A program's own pair, and the public key of whoever it connects to.

    Parameters
    ----------
    public, secret : 40 characters each, in Z85.
    peer : public key of the program that is connected to; empty: connections are not encrypted.
    """

    public: bytes
    secret: bytes = field(repr=False)
    peer: bytes = b""

    def apply(self, socket: zmq.Socket[bytes], *, bind: bool) -> None:
        """Prepare a socket that is to be bound or connected; before that.

        A bound socket lets in whom the `ZapAuthenticator` of its context lets in, and without one nobody: libzmq on
        its own would let in any key.
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
_MAX_BYTES = 256  # bytes looked at
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


class KeyFileError(ValueError):
    """A key file is missing, is no key, or is not safe; the text says which and what to do."""


def check_name(name: str) -> str:
    """Return `name` if it can name a client, for its files bear it."""
    if not _NAME.fullmatch(name) or name == SERVICE:
        raise KeyFileError(
            f"{name!r} cannot name a client: use up to 64 letters, digits, dots, dashes and underscores, "
            f"but not {SERVICE!r}"
        )
    return name


def write_pair(public: Path, secret: Path) -> None:
    """Make a pair of keys; no file is overwritten, and the secret one is for its owner alone from its first byte."""
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
        raise KeyFileError(f"{path} is there already, and keys are never overwritten: remove it first") from None
    except OSError as problem:
        raise KeyFileError(f"{path} cannot be written: {problem.strerror}") from problem
    try:
        with os.fdopen(descriptor, "wb") as file:
            if os.name == "posix":
                # whatever the umask says
                os.fchmod(descriptor, mode)
            file.write(key + b"\n")
            file.flush()
            os.fsync(descriptor)
    except BaseException as problem:
        # no half a key
        path.unlink()
        if isinstance(problem, OSError):
            raise KeyFileError(f"{path} cannot be written: {problem.strerror}") from problem
        raise


def read_public(path: Path) -> bytes:
    """Return a public key; others may read its file, but not write it."""
    return _key(path, _content(path, GROUP_OTHER_WRITE))


def read_secret(path: Path) -> bytes:
    """Return a secret key, from a file that nobody but its owner can read."""
    return _key(path, _content(path, GROUP_OTHER_ACCESS))


def service_keys(folder: Path, peer: Path | None = None) -> Keys:
    """Return the keys of the service whose folder this is; `peer`: public key file of who it connects to."""
    if not folder.is_dir():
        raise KeyFileError(f"{folder}: no such folder; `synchroscope keys {folder}` makes one")
    keys = _pair(folder / f"{SERVICE}{SECRET}")
    return keys if peer is None else Keys(keys.public, keys.secret, read_public(peer))


def client_keys(path: Path) -> Keys:
    """Return the keys of a client: what was handed over to it, or what belongs to the service itself.

    Parameters
    ----------
    path : a folder with one ``NAME.secret`` and ``service.public``, or that file ``NAME.secret`` with the other
        beside it.
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


def keys_of(place: str) -> Keys | None:
    """Return the keys of a client as `client_keys` does; None where no place is given."""
    return client_keys(Path(place)) if place else None


def check_folder(folder: Path) -> None:
    """Raise `KeyFileError` where others than the owner could put something into `folder`."""
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
        # a cause that passes, as when there are too many open files, is to be told from one that does not
        raise KeyFileError(str(problem)) from (problem.__cause__ or problem)
    except OSError as problem:
        raise KeyFileError(f"{path} cannot be read: {problem.strerror}") from problem


def _key(path: Path, content: bytes) -> bytes:
    key = content.strip()
    try:
        good = len(key) == _LENGTH and len(z85.decode(key)) == 32
    except (KeyError, struct.error):
        # no character of Z85, or five of them that are more than 32 bits
        good = False
    if not good:
        raise _no_key(path)
    return key


def _no_key(path: Path) -> KeyFileError:
    return KeyFileError(f"{path} holds no key: it should be one line of {_LENGTH} characters")
