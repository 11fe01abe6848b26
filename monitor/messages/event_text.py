"""Texts of events without one of their own."""

from __future__ import annotations

from monitor.messages.blocks import Event, EventKind

_TEXTS = {
    EventKind.STARTED: "the stream starts",
    EventKind.RESTART: "the rig has restarted",
    EventKind.ENDED: "the stream has ended",
    EventKind.CLOCK_JUMP: "the rig's clock jumped",
    EventKind.CONTRADICTION: "the rig contradicts itself",
    EventKind.ALARM: "alarm",
}
_COUNTED = {
    EventKind.GAP: ("sample", "lost"),
    EventKind.DUPLICATE: ("duplicate sample", "ignored"),
    EventKind.REORDERED: ("late sample", "ignored"),
    EventKind.REJECTED: ("message", "rejected"),
}


def kind_text(event: Event) -> str:
    """Return the text of the event's kind with its count, such as ``10 samples lost``; empty for a note."""
    if event.kind in _COUNTED:
        noun, what = _COUNTED[event.kind]
        text = f"{noun}{'' if event.count == 1 else 's'} {what}"
    else:
        text = _TEXTS.get(event.kind, "")
    return f"{event.count} {text}" if event.count and text else text
