"""Texts of events without one of their own."""

from __future__ import annotations

from monitor.messages.blocks import Event, EventKind

_TEXTS = {
    EventKind.STARTED: "the stream starts",
    EventKind.RESTART: "the rig has restarted",
    EventKind.ENDED: "the stream has ended",
    EventKind.GAP: "samples lost",
    EventKind.DUPLICATE: "duplicate samples ignored",
    EventKind.REORDERED: "late samples ignored",
    EventKind.CLOCK_JUMP: "the rig's clock jumped",
    EventKind.REJECTED: "messages rejected",
    EventKind.ALARM: "alarm",
}


def kind_text(event: Event) -> str:
    """Return the text of the event's kind with its count, such as ``10 samples lost``; empty for a note."""
    text = _TEXTS.get(event.kind, "")
    return f"{event.count} {text}" if event.count and text else text
