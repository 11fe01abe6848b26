"""The desktop window offscreen, fed with messages without a service."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

# before anything of Qt is imported; a platform that was chosen is kept
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import QEvent, QObject, QSettings
from PySide6.QtWidgets import QApplication, QWidget

from benchmarks.throughput import make_samples, make_stream
from gui.model.history import History
from gui.model.receiver import ReceivedMessages
from gui.plots.view import View
from gui.sources.processes.catalogue import Catalogue
from gui.widgets.theme import LIGHT, apply_palette
from gui.window.layout_controller import LayoutStore
from gui.window.service_connection import ServiceConnection
from gui.window.window import MainWindow
from monitor.config import IndicatorSettings
from monitor.engine.monitor import Monitor
from monitor.messages.blocks import SignalBlock
from monitor.messages.health import Health, StreamCounts

RATE, N_PAIRS, WINDOW, SPAN = 1000.0, 8, 2.0, 60.0
SIZE = 1600, 1000
TICK = 40
"""Samples from one frame to the next, at 25 a second."""
_HEALTH_INTERVAL = 12  # frames


class FedConnection(ServiceConnection):
    """Receives what is assigned to `pending`, as if a service had sent it."""

    pending = ReceivedMessages()

    @property
    def is_open(self) -> bool:
        return True

    def poll(self) -> bool:
        received, self.pending = self.pending, ReceivedMessages()
        update(self.history, received, self.view)
        return bool(received)


def application() -> QApplication:
    """Return the one application of this process, in the program's own style."""
    found = QApplication.instance() or QApplication(["synchroscope"])
    assert isinstance(found, QApplication)
    apply_palette(found, LIGHT)
    return found


def open_window(layout: str, folder: Path) -> MainWindow:
    """Show the whole window with its panels in a layout that is built in; settings are kept in `folder`."""
    view = View()
    view.span = SPAN
    store = QSettings(str(folder / "window.ini"), QSettings.Format.IniFormat)
    window = MainWindow(view, FedConnection(view, 512 << 20, 10.0), Catalogue(), store, LIGHT)
    window.resize(*SIZE)
    window.show()
    window.show_data(True)
    LayoutStore(window, window.dock_area.docks, store, window.dock_area).apply(layout)
    return window


def settle() -> None:
    """Let Qt paint; a picture that asks for another one while it is painted gets it, at its own cost."""
    for _ in range(2):
        QApplication.processEvents()


def close(widget: QWidget) -> None:
    """Close a window and let go of what it holds."""
    widget.close()
    widget.deleteLater()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


class _Paints(QObject):
    """Count the widgets that are painted."""

    n = 0

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: ARG002 - Qt's arguments
        self.n += event.type() is QEvent.Type.Paint
        return False


def painted(frame: Callable[[], object]) -> bool:
    """Return whether a frame ends with something painted, and does not only ask for it."""
    paints = _Paints()
    application().installEventFilter(paints)
    frame()
    application().removeEventFilter(paints)
    return paints.n > 0


def update(history: History, received: ReceivedMessages, view: View) -> None:
    """Add messages to a history, and let the view follow."""
    history.update(received, silence=0.0, age=0.0)
    view.extend(history.begin_x, history.end_x)


def health(received: int) -> Health:
    """Return what a service that lacks nothing would say of itself."""
    return Health("bench", "receiving", StreamCounts(received), RATE, RATE)


def sent(seconds: float, n_ticks: int, n_pairs: int = N_PAIRS, tick: int = TICK) -> Iterator[ReceivedMessages]:
    """Give what a service sends: `seconds` in one, then tick after tick, one sample a message as it is hardest.

    Parameters
    ----------
    tick : samples from one frame to the next.
    """
    monitor = Monitor(IndicatorSettings(window=WINDOW))
    stream, before = make_stream("bench", n_pairs, RATE), int(seconds * RATE)
    samples = make_samples(before + n_ticks * tick, n_pairs, RATE)
    blocks = [SignalBlock(stream, i, i / RATE, samples[i : i + tick]) for i in range(0, before, tick)]
    yield _update(monitor, blocks, with_health=True)
    for number, start in enumerate(range(before, len(samples), tick)):
        blocks = [SignalBlock(stream, i, i / RATE, samples[i : i + 1]) for i in range(start, start + tick)]
        yield _update(monitor, blocks, with_health=number % _HEALTH_INTERVAL == 0)


def _update(monitor: Monitor, blocks: list[SignalBlock], *, with_health: bool) -> ReceivedMessages:
    updates = [monitor.update(block) for block in blocks]
    transfers = [update.transfer for update in updates if update.transfer is not None]
    return ReceivedMessages(
        # several times a second, not at every frame
        health(blocks[-1].index) if with_health else None,
        tuple(event for update in updates for event in update.events),
        tuple(update.results for update in updates if update.results is not None),
        transfers[-1] if transfers else None,
        tuple(update.signals for update in updates if update.signals is not None),
    )
