"""An event as a person reads it: its kind in a word and a shape, and what happened in a sentence."""

from __future__ import annotations

from gui.wording.alarm_text import severity_level, severity_shape, severity_word, transition_words
from gui.wording.level import Level
from gui.wording.numbers import count
from monitor.messages.alarms import AlarmAction
from monitor.messages.blocks import Event, EventKind

_SHAPES = {
    EventKind.STARTED: "●",
    EventKind.ENDED: "■",
    EventKind.RESTART: "▲",
    EventKind.GAP: "▲",
    EventKind.CLOCK_JUMP: "▲",
    EventKind.REJECTED: "▼",
    EventKind.NOTE: "✎",
}
_QUIET = (EventKind.STARTED, EventKind.ENDED, EventKind.DECISION, EventKind.NOTE)
_TELLS = {
    EventKind.GAP: "{} samples lost",
    EventKind.DUPLICATE: "{} samples came twice",
    EventKind.REORDERED: "{} samples came too late",
    EventKind.REJECTED: "{} messages refused",
}


def kind_word(kind: EventKind) -> str:
    """Return what a kind is called, such as ``clock jump``."""
    return kind.value.replace("_", " ")


def kind_shape(kind: EventKind) -> str:
    """Return the shape that goes with the word."""
    return _SHAPES.get(kind, "◆")


def kind_level(kind: EventKind) -> Level:
    """Return how much events of a kind matter: those that cost samples warn."""
    return Level.INFO if kind in _QUIET else Level.WARN


def event_level(event: Event) -> Level:
    """Return how much an event matters: an alarm that occurs as much as it is grave, its other steps little."""
    transition = event.alarm
    if transition is None:
        return kind_level(event.kind)
    return severity_level(transition.severity) if transition.action is AlarmAction.OCCUR else Level.INFO


def sentence(event: Event) -> str:
    """Return what happened in one line; empty where the kind says it all."""
    transition = event.alarm
    if transition is not None:
        severity = transition.severity
        return f"{severity_shape(severity)} {severity_word(severity)} {transition_words(transition)}"
    told = _TELLS[event.kind].format(count(event.count)) if event.kind in _TELLS else ""
    return ": ".join(part for part in (told, event.detail) if part)
