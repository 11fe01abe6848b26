"""Bytes that Qt made, kept with a check: what is damaged must not reach Qt, which breaks on it."""

from __future__ import annotations

from zlib import crc32

from PySide6.QtCore import QByteArray

_CHECK = 4


def seal(state: QByteArray) -> QByteArray:
    """Put a check before the bytes."""
    held = bytes(state.data())
    return QByteArray(crc32(held).to_bytes(_CHECK, "big") + held)


def unseal(kept: object) -> QByteArray | None:
    """Return the bytes as they were sealed; None where they are not those."""
    if not isinstance(kept, QByteArray):
        return None
    held = bytes(kept.data())
    check, state = held[:_CHECK], held[_CHECK:]
    return QByteArray(state) if state and crc32(state).to_bytes(_CHECK, "big") == check else None
