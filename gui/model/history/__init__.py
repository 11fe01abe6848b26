"""What the views keep of what they hear: signals, results and events on one axis, in memory that does not grow."""

from gui.model.history.envelope import Envelope
from gui.model.history.history import History, PlacedEvent
from gui.model.history.pyramid import Pyramid
from gui.model.history.results import ResultHistory
from gui.model.history.signals import SignalHistory
from gui.model.history.timeline import Segment, Timeline

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
