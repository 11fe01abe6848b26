"""The dashboard: what a service publishes, live in a terminal, or as a line now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from itertools import islice

from rich.console import Console
from rich.live import Live

from gui.model.alarms import summarize
from gui.model.history import History
from gui.model.receiver import ReceivedMessages, ServiceSubscription
from gui.model.series import ResultHistory
from gui.model.tracking_status import contradiction_mark, tracking_status
from gui.terminal.screen import Screen
from gui.terminal.sections import decision
from gui.wording.numbers import count, number
from monitor.messages.blocks import Event
from monitor.messages.headline import first_indicator, read_headline
from monitor.messages.health import Health

_FRAME = 0.1
_LINE = 3.0
_EVENTS_SHOWN = 100
# a terminal shows a minute of results and no signals; of 64 actuators too
_MEMORY, _MINUTES = 192 << 20, 1.0


class Dashboard:
    """Watch a service.

    Parameters
    ----------
    link : to the service; stays the caller's to close.
    console : where to show it.
    history : what to keep.
    clock : s, monotonic.
    """

    def __init__(
        self,
        link: ServiceSubscription,
        console: Console,
        history: History | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._link = link
        self._console = console
        self._clock = clock
        self.history = History(_MEMORY, _MINUTES) if history is None else history

    def update(self, timeout: float) -> bool:
        """Take what has come; wait up to `timeout` s for it; tell whether anything has."""
        arrivals = ReceivedMessages.sort(self._link.receive(timeout))
        self.history.update(arrivals, silence=self._link.silence, age=self._link.age)
        return bool(arrivals)

    @property
    def health(self) -> Health | None:
        """The newest word of the service; None before the first."""
        return self.history.health

    @property
    def events(self) -> tuple[Event, ...]:
        """What happened last, the newest at the end."""
        newest = islice(reversed(self.history.events), _EVENTS_SHOWN)
        return tuple(placed.event for placed in newest)[::-1]

    @property
    def screen(self) -> Screen:
        """The picture of this moment."""
        history, link = self.history, self._link
        alarms = history.alarms or ()
        return Screen(history.results, history.health, link.silence, link.age, self.events, history.transfer, alarms)

    @property
    def line(self) -> str:
        """This moment in one line."""
        health = self.health or Health()
        parts = [f"{self.screen.state}: {count(health.counts.received)} samples, {count(health.counts.lost)} lost"]
        found = summarize(self.history.alarms or ())
        if found.any_active:
            parts.append(f"alarms: {found.plain_words}")
        if (results := self.history.results) is not None:
            parts += [_followed(results, actuator) for actuator in results.actuators]
            parts += [_judged(results, site) for site in results.sites]
        return " | ".join(parts)

    def run(self, done: Callable[[], bool], *, live: bool | None = None) -> None:
        """Show until `done`; by default live on a terminal, and a line every few seconds elsewhere.

        What was shown live is shown once more at the end, where it stays.
        """
        if not (self._console.is_terminal if live is None else live):
            self._print_lines(done)
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


def _followed(results: ResultHistory, actuator: str) -> str:
    indicator = first_indicator(lambda name: results.column(actuator, name) is not None)
    found = read_headline(indicator, partial(results.value, actuator))
    words = tracking_status(found.delay, found.ratio).words
    mark = contradiction_mark(found.contradicting)
    said = f"{words}, {mark}" if mark else words
    return f"{actuator} {number(1e3 * found.delay, 7, 1)} ms, ratio {number(found.ratio, 7, 3)} ({said})"


def _judged(results: ResultHistory, site: str) -> str:
    passage, accumulated = (
        number(results.last_valid(site, f"reliability_{name}"), 6, 3) for name in ("first_passage", "accumulated")
    )
    word = decision(results, site)
    return f"{site} first-passage {passage}, accumulated {accumulated}" + (f" ({word})" if word else "")
