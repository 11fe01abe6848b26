"""Password, key and certificates of a connection to a broker."""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

from monitor.config import MqttSettings
from monitor.system.files import GROUP_OTHER_ACCESS, UnsafeFileError, is_systemd_credential, open_guarded

_MAX_PASSWORD = 4096
_OTHER_ACCESS = GROUP_OTHER_ACCESS & 0o007


class CredentialError(ValueError):
    """A password, key or certificate cannot be used; the text is one line and says what to do."""


def password(settings: MqttSettings, environment: Mapping[str, str] = os.environ) -> str | None:
    """Return the password; None if no user name is set.

    Raises
    ------
    CredentialError : there is none, or other users can read its file.
    """
    if not settings.username:
        return None
    if settings.password_file:
        with _open_secret(Path(settings.password_file)) as file:
            text = _password_text(file.read(_MAX_PASSWORD + 1))
        if not text:
            raise CredentialError(f"{settings.password_file}: should be one line with the password")
        return text
    found = environment.get(settings.password_variable, "") if settings.password_variable else ""
    if not found and not settings.certificate:
        raise CredentialError(
            f"no password for {settings.username!r}: give password_file, or set {settings.password_variable}"
        )
    text = _password_text(found)
    if found and not text:
        raise CredentialError(f"{settings.password_variable}: should be one line with the password")
    return text or None


def tls_context(settings: MqttSettings) -> ssl.SSLContext | None:
    """Return the TLS context, None without encryption; certificates and host names are always verified.

    Raises
    ------
    CredentialError : a file is missing or invalid, or other users can read the key.
    """
    if not settings.encrypted:
        return None
    try:
        context = ssl.create_default_context(cafile=settings.ca or None)
    except (OSError, ValueError) as problem:
        raise CredentialError(f"{settings.ca}: no trusted certificates in it ({_reason(problem)})") from problem
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if settings.certificate:
        with _open_secret(Path(settings.key)) as key:
            try:
                # without a password OpenSSL would prompt at the terminal
                context.load_cert_chain(settings.certificate, _descriptor_path(key, settings.key), password=b"")
            except (OSError, ValueError) as problem:
                raise CredentialError(
                    f"{settings.certificate} and {settings.key}: no certificate with its key, not encrypted, in PEM "
                    f"({_reason(problem)})"
                ) from problem
    return context


def _password_text(content: bytes | str) -> str:
    """Return a valid password, without its line end; else an empty string."""
    try:
        text = (content if isinstance(content, str) else content.decode()).rstrip("\r\n")
    except UnicodeDecodeError:
        return ""
    return text if text.isprintable() and len(content) <= _MAX_PASSWORD else ""


def _open_secret(path: Path) -> BinaryIO:
    """Open a file that only its owner can read, or also its group for a credential of systemd."""
    try:
        return open_guarded(path, _OTHER_ACCESS if is_systemd_credential(path) else GROUP_OTHER_ACCESS)
    except UnsafeFileError as problem:
        raise CredentialError(str(problem)) from problem


def _descriptor_path(file: BinaryIO, path: str) -> str:
    """Return a path of the open file itself, if the system has one, so that it cannot be replaced meanwhile."""
    descriptor_path = Path(f"/dev/fd/{file.fileno()}")
    return str(descriptor_path) if descriptor_path.exists() else path


def _reason(problem: Exception) -> str:
    return (getattr(problem, "reason", None) or getattr(problem, "strerror", None) or str(problem)).lower()
