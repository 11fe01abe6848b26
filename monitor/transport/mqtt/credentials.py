"""How the broker knows the service, and the service the broker: files and the environment, never a command line."""

from __future__ import annotations

import os
import ssl
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

from monitor.config import MqttSettings

_MOST = 4096


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
            found = file.read(_MOST + 1)
        try:
            text = found.decode().rstrip("\r\n") if len(found) <= _MOST else ""
        except UnicodeDecodeError:
            text = ""
        if not text or "\n" in text:
            raise CredentialError(f"{settings.password_file}: should be one line with the password")
        return text
    text = environment.get(settings.password_variable, "") if settings.password_variable else ""
    if not text and not settings.certificate:
        raise CredentialError(
            f"no password for {settings.username!r}: give password_file, or set {settings.password_variable}"
        )
    if not text.isascii() and not text.isprintable():
        raise CredentialError(f"{settings.password_variable}: what is in it cannot be a password")
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
        _opened(Path(settings.key)).close()
        try:
            # without a word here it would be asked for at the terminal
            context.load_cert_chain(settings.certificate, settings.key, password=b"")
        except (OSError, ValueError) as problem:
            raise CredentialError(
                f"{settings.certificate} and {settings.key}: no certificate with its key, not encrypted, in PEM "
                f"({_reason(problem)})"
            ) from problem
    return context


def _opened(path: Path) -> BinaryIO:
    """Open a file that nobody but its owner can read."""
    try:
        file = path.open("rb")
    except OSError as problem:
        raise CredentialError(f"{path}: cannot be read ({problem.strerror})") from problem
    mode = os.fstat(file.fileno()).st_mode
    open_to = stat.S_IRWXO if _handed_over(path) else stat.S_IRWXG | stat.S_IRWXO
    if os.name == "posix" and mode & open_to:
        file.close()
        raise CredentialError(f"{path}: open to others, which a secret must not be: chmod 600 {path}")
    return file


def _handed_over(path: Path) -> bool:
    """Tell whether it is a credential of systemd, whose access list for the service shows as a right of the group."""
    folder = os.environ.get("CREDENTIALS_DIRECTORY")
    return folder is not None and path.absolute().parent == Path(folder).absolute()


def _reason(problem: Exception) -> str:
    return (getattr(problem, "reason", None) or getattr(problem, "strerror", None) or str(problem)).lower()
