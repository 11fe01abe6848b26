"""Checksum of a window state of Qt: a damaged one must not reach `restoreState`, which can crash on it."""

from __future__ import annotations

from zlib import crc32

from PySide6.QtCore import QByteArray

_SIZE = 4


def with_checksum(state: QByteArray) -> QByteArray:
    """Return the state with its checksum in front."""
    content = bytes(state.data())
    return QByteArray(crc32(content).to_bytes(_SIZE, "big") + content)


def without_checksum(stored: object) -> QByteArray | None:
    """Return the state as it was; None where its checksum does not match."""
    if not isinstance(stored, QByteArray):
        return None
    whole = bytes(stored.data())
    checksum, content = whole[:_SIZE], whole[_SIZE:]
    return QByteArray(content) if content and crc32(content).to_bytes(_SIZE, "big") == checksum else None
