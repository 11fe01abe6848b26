"""What the views keep of what they hear: signals, results and events on one axis, in memory that does not grow."""

from gui.history.envelope import Envelope
from gui.history.history import History, PlacedEvent
from gui.history.pyramid import Pyramid
from gui.history.results import ResultHistory
from gui.history.signals import SignalHistory
from gui.history.timeline import Segment, Timeline

__all__ = [
    "Envelope",
    "History",
    "PlacedEvent",
    "Pyramid",
    "ResultHistory",
    "Segment",
    "SignalHistory",
    "Timeline",
]
