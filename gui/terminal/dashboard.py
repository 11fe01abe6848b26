"""The dashboard: what a service publishes, live in a terminal, or as a line now and then elsewhere."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

from rich.console import Console
from rich.live import Live

from gui.history import History
from gui.link import ResultLink
from gui.numbers import count, number
from gui.terminal.reliability_lines import decision
from gui.terminal.screen import Screen
from gui.verdict import verdict
from monitor.blocks import Event
from monitor.health import Health
from monitor.transfer import TransferBlock

_FRAME = 0.1
_LINE = 3.0
_EVENTS_KEPT = 100


class Dashboard:
    """Watch a service.

    Parameters
    ----------
    link : to the service; stays the caller's to close.
    console : where to show it.
    history : what to keep of the results.
    clock : s, monotonic.
    """

    def __init__(
        self,
        link: ResultLink,
        console: Console,
        history: History | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._link = link
        self._console = console
        self._clock = clock
        self.history = History() if history is None else history
        self.health: Health | None = None
        self.transfer: TransferBlock | None = None
        self.events: deque[Event] = deque(maxlen=_EVENTS_KEPT)

    def take(self, timeout: float) -> bool:
        """Take what has come; wait up to `timeout` s for it; tell whether anything has."""
        arrivals = self._link.look(timeout)
        self.health = arrivals.health or self.health
        self.transfer = arrivals.transfer or self.transfer
        self.events.extend(arrivals.events)
        for block in arrivals.results:
            self.history.add(block)
        return arrivals.health is not None or bool(arrivals.events or arrivals.results or arrivals.transfer)

    @property
    def screen(self) -> Screen:
        """The picture of this moment."""
        link = self._link
        followed, transfer = self.history.stream, self.transfer
        if followed is not None and transfer is not None and transfer.stream.epoch != followed.epoch:
            # what was told of the run before is no longer so
            transfer = None
        return Screen(self.history, self.health, link.silence, link.age, tuple(self.events), transfer)

    @property
    def line(self) -> str:
        """This moment in one line."""
        health = self.health or Health()
        parts = [f"{self.screen.state}: {count(health.counts.received)} samples, {count(health.counts.lost)} lost"]
        for actuator in self.history.actuators:
            delay, ratio, phase = (
                self.history.value(actuator, f"fdb_{name}") for name in ("delay", "ratio", "phase")
            )
            words, _ = verdict(delay, ratio, phase)
            parts.append(f"{actuator} {number(1e3 * delay, 7, 1)} ms, ratio {number(ratio, 7, 3)} ({words})")
        for site in self.history.sites:
            passage, accumulated = (
                self.history.last_valid(site, f"reliability_{name}") for name in ("first_passage", "accumulated")
            )
            word = decision(self.history, site)
            parts.append(
                f"{site} first-passage {number(passage, 6, 3)}, accumulated {number(accumulated, 6, 3)}"
                + (f" ({word})" if word else "")
            )
        return " | ".join(parts)

    def run(self, done: Callable[[], bool], *, live: bool | None = None) -> None:
        """Show until `done`; by default live on a terminal, and a line every few seconds elsewhere.

        What was shown live is shown once more at the end, where it stays.
        """
        if not (self._console.is_terminal if live is None else live):
            self._tell(done)
            return
        # no thread of its own: drawn here, so that nothing is drawn half updated
        with Live(
            console=self._console,
            screen=True,
            auto_refresh=False,
            get_renderable=lambda: self.screen,
            redirect_stdout=False,
            redirect_stderr=False,
        ) as picture:
            while not done():
                self._take_until(self._clock() + _FRAME)
                picture.refresh()
        self._drain()
        self._console.print(self.screen)

    def _tell(self, done: Callable[[], bool]) -> None:
        due = self._clock() + _LINE
        while not done():
            self._take_until(self._clock() + _FRAME)
            if self._clock() >= due:
                self._console.print(self.line, markup=False, highlight=False, soft_wrap=True)
                due += _LINE
        self._drain()

    def _take_until(self, deadline: float) -> None:
        while (left := deadline - self._clock()) > 0.0:
            self.take(left)

    def _drain(self) -> None:
        while self.take(_FRAME):
            pass
