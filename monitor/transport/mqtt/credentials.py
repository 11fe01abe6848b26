"""How the broker knows the service, and the service the broker: files and the environment, never a command line."""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

from monitor.config import MqttSettings
from monitor.transport.security.secret_file import OTHERS_READ, UnsafeFileError, handed_over, opened

_MOST = 4096
_BUT_GROUP = OTHERS_READ & 0o007


class CredentialError(ValueError):
    """A password, key or certificate cannot be used; the text is one line and says what to do."""


def password(settings: MqttSettings, environment: Mapping[str, str] = os.environ) -> str | None:
    """Return the password, None where no user is named.

    Raises
    ------
    CredentialError : there is none, or its file is open to others.
    """
    if not settings.username:
        return None
    if settings.password_file:
        with _opened(Path(settings.password_file)) as file:
            text = _word(file.read(_MOST + 1))
        if not text:
            raise CredentialError(f"{settings.password_file}: should be one line with the password")
        return text
    found = environment.get(settings.password_variable, "") if settings.password_variable else ""
    if not found and not settings.certificate:
        raise CredentialError(
            f"no password for {settings.username!r}: give password_file, or set {settings.password_variable}"
        )
    text = _word(found)
    if found and not text:
        raise CredentialError(f"{settings.password_variable}: should be one line with the password")
    return text or None


def tls_context(settings: MqttSettings) -> ssl.SSLContext | None:
    """Return how the connection is encrypted, None where it is not; certificates and host names are always checked.

    Raises
    ------
    CredentialError : a file is missing, no certificate or key, or a key that is open to others.
    """
    if not settings.encrypted:
        return None
    try:
        context = ssl.create_default_context(cafile=settings.ca or None)
    except (OSError, ValueError) as problem:
        raise CredentialError(f"{settings.ca}: no certificates to trust in it ({_reason(problem)})") from problem
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if settings.certificate:
        with _opened(Path(settings.key)) as key:
            try:
                # without a word here it would be asked for at the terminal
                context.load_cert_chain(settings.certificate, _again(key, settings.key), password=b"")
            except (OSError, ValueError) as problem:
                raise CredentialError(
                    f"{settings.certificate} and {settings.key}: no certificate with its key, not encrypted, in PEM "
                    f"({_reason(problem)})"
                ) from problem
    return context


def _word(found: bytes | str) -> str:
    """Return the password in a line; empty where it is none, by the same rule wherever it comes from."""
    try:
        text = (found if isinstance(found, str) else found.decode()).rstrip("\r\n")
    except UnicodeDecodeError:
        return ""
    return text if text.isprintable() and len(found) <= _MOST else ""


def _opened(path: Path) -> BinaryIO:
    """Open a file that nobody but its owner can read, or the group where systemd has put it there."""
    try:
        return opened(path, _BUT_GROUP if handed_over(path) else OTHERS_READ)
    except UnsafeFileError as problem:
        raise CredentialError(str(problem)) from problem


def _again(file: BinaryIO, path: str) -> str:
    """Return a name by which the open file itself is read again, whatever has become of its own; if there is one."""
    itself = Path(f"/dev/fd/{file.fileno()}")
    return str(itself) if itself.exists() else path


def _reason(problem: Exception) -> str:
    return (getattr(problem, "reason", None) or getattr(problem, "strerror", None) or str(problem)).lower()
