"""Bytes that come in pieces, cut into lines."""

from __future__ import annotations

_LONGEST = 64 << 20  # bytes; what is longer is no line of ours


class Lines:
    """Keep what has no end of line yet; forget a line that never ends."""

    def __init__(self) -> None:
        self._held = bytearray()

    def feed(self, piece: bytes) -> list[bytes]:
        """Return the lines that `piece` completes, without their ends; empty ones are left out."""
        if b"\n" not in piece:
            # not searched again: a long line comes in thousands of pieces
            self._held += piece
            if len(self._held) > _LONGEST:
                self._held.clear()
            return []
        *whole, rest = (bytes(self._held) + piece).split(b"\n")
        self._held = bytearray(rest)
        return [line for line in whole if line.strip()]

    def rest(self) -> list[bytes]:
        """Return what is left when nothing more comes."""
        left, self._held = bytes(self._held), bytearray()
        return [left] if left.strip() else []
