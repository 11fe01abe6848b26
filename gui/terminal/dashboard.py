"""Dashboard of a service: live in a terminal, or as a line at intervals elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection

from rich.console import Console
from rich.live import Live

from gui.model.alarms import summarize
from gui.model.history import History
from gui.model.receiver import ReceivedMessages, ServiceSubscription
from gui.model.results import ResultHistory
from gui.terminal.screen import Screen, site_decision, speaker, tracking
from monitor.messages.health import Health
from monitor.text.numbers import count, fitted

_FRAME = 0.1
_LINE = 3.0
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
        self.history.update(arrivals, silence=self._link.silence, age=self._link.age, now=time.time())
        return bool(arrivals)

    @property
    def health(self) -> Health | None:
        """Newest health message; None before the first."""
        return self.history.health

    @property
    def line(self) -> str:
        """The current values in one line."""
        health = self.health or Health()
        parts = [
            f"{self.history.state.key}: {count(health.counts.received)} samples, {count(health.counts.lost)} lost"
        ]
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
            get_renderable=lambda: Screen(self.history),
            redirect_stdout=False,
            redirect_stderr=False,
        ) as picture:
            while not done():
                self._update_until(self._clock() + _FRAME)
                picture.refresh()
        self._drain()
        self._console.print(Screen(self.history))

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
    found, status = tracking(results, actuator, speaker(results, (actuator,), paused))
    return f"{actuator} {fitted(1e3 * found.delay, 7, 1)} ms, ratio {fitted(found.ratio, 7, 3)} ({status})"


def _model_text(results: ResultHistory, site: str) -> str:
    passage, accumulated = (
        fitted(results.last_valid(site, f"reliability_{name}"), 6, 3) for name in ("first_passage", "accumulated")
    )
    word = site_decision(results, site).words
    return f"{site} first-passage {passage}, accumulated {accumulated}" + (f" ({word})" if word else "")
