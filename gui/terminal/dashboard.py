"""Dashboard of a service: live in a terminal, or as a line at intervals elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from functools import partial
from itertools import islice

from rich.console import Console
from rich.live import Live

from gui.model.alarms import summarize
from gui.model.history import History
from gui.model.receiver import ReceivedMessages, ServiceSubscription
from gui.model.results import ResultHistory
from gui.model.tracking_status import contradiction_mark, headline_status
from gui.terminal.screen import Screen
from gui.terminal.sections import decision
from monitor.messages.blocks import Event
from monitor.messages.headline import first_indicator, read_headline
from monitor.messages.health import Health
from monitor.text.numbers import count, fitted

_FRAME = 0.1
_LINE = 3.0
_EVENTS_SHOWN = 100
# enough for a minute of results of 64 actuators, without signals
_MEMORY, _MINUTES = 192 << 20, 1.0


class Dashboard:
    """Dashboard of a service.

    Parameters
    ----------
    link : subscription; closed by the caller.
    console : output.
    clock : s, monotonic.
    """

    def __init__(
        self, link: ServiceSubscription, console: Console, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._link = link
        self._console = console
        self._clock = clock
        self.history = History(_MEMORY, _MINUTES)

    def update(self, timeout: float) -> bool:
        """Process received messages; wait up to `timeout` s for the first; return whether there were any."""
        arrivals = ReceivedMessages.sort(self._link.receive(timeout))
        self.history.update(arrivals, silence=self._link.silence, age=self._link.age)
        return bool(arrivals)

    @property
    def health(self) -> Health | None:
        """Newest health message; None before the first."""
        return self.history.health

    @property
    def events(self) -> tuple[Event, ...]:
        """The last events, the newest at the end."""
        newest = islice(reversed(self.history.events), _EVENTS_SHOWN)
        return tuple(placed.event for placed in newest)[::-1]

    @property
    def screen(self) -> Screen:
        """The current screen."""
        history, link = self.history, self._link
        alarms = history.alarms_at(None)
        return Screen(history.results, history.health, link.silence, link.age, self.events, history.transfer, alarms)

    @property
    def line(self) -> str:
        """The current values in one line."""
        health = self.health or Health()
        parts = [f"{self.screen.state}: {count(health.counts.received)} samples, {count(health.counts.lost)} lost"]
        found = summarize(self.history.alarms_at(None))
        if found.plain_words:
            parts.append(f"alarms: {found.plain_words}")
        if (results := self.history.results) is not None:
            parts += [_tracking_text(results, actuator, health.paused) for actuator in results.actuators]
            parts += [_model_text(results, site) for site in results.sites]
        return " | ".join(parts)

    def run(self, done: Callable[[], bool], *, live: bool | None = None) -> None:
        """Show until `done`: live on a terminal, a line every few seconds elsewhere.

        The last live screen is printed at the end.
        """
        if not (self._console.is_terminal if live is None else live):
            self._print_lines(done)
            return
        # without a thread of rich: nothing is drawn while it is updated
        with Live(
            console=self._console,
            screen=True,
            auto_refresh=False,
            get_renderable=lambda: self.screen,
            redirect_stdout=False,
            redirect_stderr=False,
        ) as picture:
            while not done():
                self._update_until(self._clock() + _FRAME)
                picture.refresh()
        self._drain()
        self._console.print(self.screen)

    def _print_lines(self, done: Callable[[], bool]) -> None:
        due = self._clock() + _LINE
        while not done():
            self._update_until(self._clock() + _FRAME)
            if self._clock() >= due:
                self._console.print(self.line, markup=False, highlight=False, soft_wrap=True)
                due += _LINE
        self._drain()

    def _update_until(self, deadline: float) -> None:
        while (left := deadline - self._clock()) > 0.0:
            self.update(left)

    def _drain(self) -> None:
        while self.update(_FRAME):
            pass


def _tracking_text(results: ResultHistory, actuator: str, paused: Collection[str]) -> str:
    indicator = first_indicator(lambda name: results.column(actuator, name) is not None, paused)
    found = read_headline(indicator, partial(results.value, actuator))
    words = headline_status(found, results.value(actuator, f"{indicator}_reason")).words
    mark = contradiction_mark(found.contradicting)
    status = f"{words}, {mark}" if mark else words
    return f"{actuator} {fitted(1e3 * found.delay, 7, 1)} ms, ratio {fitted(found.ratio, 7, 3)} ({status})"


def _model_text(results: ResultHistory, site: str) -> str:
    passage, accumulated = (
        fitted(results.last_valid(site, f"reliability_{name}"), 6, 3) for name in ("first_passage", "accumulated")
    )
    word = decision(results, site)
    return f"{site} first-passage {passage}, accumulated {accumulated}" + (f" ({word})" if word else "")
