"""Dashboard of a service: live in a terminal, or as a line at intervals elsewhere."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice

from rich.box import ROUNDED
from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from gui.model.alarms import summarize
from gui.model.history import History
from gui.model.receiver import ReceivedMessages, ServiceSubscription
from gui.model.results import ResultHistory
from gui.model.service_state import service_state
from gui.model.tracking_status import contradiction_mark, headline_status
from gui.terminal.sections import (
    HEADING_LINES,
    actuator_table,
    alarm_lines,
    contradiction_lines,
    decision,
    reliability_lines,
    transfer_lines,
)
from gui.wording.event_text import event_sentence, kind_level, kind_name
from gui.wording.level import Level
from monitor.messages.alarms import Alarm
from monitor.messages.blocks import Event
from monitor.messages.headline import first_indicator, read_headline
from monitor.messages.health import LONGEST_UNWRITTEN, Health
from monitor.messages.transfer import TransferBlock
from monitor.text.numbers import count, fitted, instant_text, percent, shortened

_EVENTS, _MOST_EVENTS = 3, 12
_ALARMS = 8
_GAP = "   "
_STATE_STYLES = {
    "connecting": "yellow",
    "waiting": "yellow",
    "receiving": "bold green",
    "overloaded": "bold yellow",
    "stale": "bold red",
    "ended": "bold blue",
    "silent": "bold red",
}


@dataclass(frozen=True)
class Screen:
    """A rich renderable that fills the given width and height.

    Parameters
    ----------
    results : that are shown; None before the first.
    health : newest health message; None before the first.
    silence : s since then.
    age : s since the newest results.
    events : the newest last.
    transfer : the newest transfer functions; shown where there is room.
    alarms : of the service; active ones are shown first, then those that are not judged.
    """

    results: ResultHistory | None = None
    health: Health | None = None
    silence: float = 0.0
    age: float = math.inf
    events: Sequence[Event] = field(default_factory=tuple)
    transfer: TransferBlock | None = None
    alarms: Sequence[Alarm] = ()

    @property
    def state(self) -> str:
        """connecting, waiting, receiving, stale, ended or silent."""
        return service_state(self.health, self.silence).key

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Render; without room transfer functions are omitted first, then the frame, events, actuators but two."""
        # a live display of rich does not pass on its height
        width, height = options.max_width, options.height or (console.height if console.is_alt_screen else None)
        # without actuators there may be a model; else a line says that there are no results
        names, sites = (self.results.actuators, self.results.sites) if self.results is not None else ((), ())
        actuators = len(names) or (0 if sites else 1)
        heading = HEADING_LINES if names else 0
        models = self._models(width)
        framed = _flow(self._fields(width - 4), width - 4)
        plain = _flow(self._fields(width), width)
        events, head = _EVENTS, len(framed) + 2
        left = 10_000 if height is None else height - heading - 1
        # with the heading: at least one event, and at most a quarter of the lines
        alarms = list(alarm_lines(self.alarms, width, min(_ALARMS, max(2, left // 4)), silent=self._silent))
        left -= len(alarms)
        if left < head + actuators + len(models) + events:
            head = len(plain)
        events = max(1, min(events, left - head - actuators - len(models)))
        if head == len(plain):
            yield from plain
        else:
            yield Panel(Text("\n").join(framed), box=ROUNDED, title=self._title(), title_align="left")
        yield from alarms
        models = _shortened(models, left - head - events - min(2, actuators))
        room = left - head - events - len(models)
        notes = self._notes(width) if room > actuators else []
        room -= len(notes)
        transfer = list(transfer_lines(self.transfer, width)) if self.transfer is not None else []
        if len(transfer) > room - actuators or self._silent:
            transfer = []
        if height is not None:
            more = min(len(self.events), _MOST_EVENTS) - events
            events += max(0, min(more, room - actuators - len(transfer)))
        if actuators:
            yield self._actuators(width, max(2, room - len(transfer)))
        yield from notes
        yield from models
        yield from transfer
        yield from self._event_line(width, events)

    def _title(self) -> Text:
        return Text("Synchroscope", style="bold")

    def _fields(self, width: int) -> Iterator[list[Text]]:
        """Yield the groups of fields; each begins a line."""
        state = service_state(self.health, self.silence)
        health = self.health or Health()
        first = [Text(f"{state.shape} {state.words}", style=_STATE_STYLES.get(state.key, ""))]
        if health.rig:
            first.append(Text.assemble("rig ", (shortened(health.rig, 24), "bold")))
        if health.sample_rate:
            first.append(Text(f"{health.sample_rate:.5g} Hz nominal, {health.measured_rate:.5g} actual"))
        if health.sample_rate and self.state != "ended":
            # the service reports the age at intervals; results show theirs by arriving
            first.append(Text(f"data {min(health.age + self.silence, self.age):.1f} s old"))
        yield first
        counts = health.counts
        yield [
            Text(f"received {count(counts.received)}"),
            *(
                Text(f"{name} {count(number)}", style="bold yellow" if number else "")
                for name, number in (
                    ("lost", counts.lost),
                    ("duplicates", counts.duplicates),
                    ("restarts", counts.restarts),
                    ("rejected", counts.rejected),
                )
            ),
        ]
        if health.shed:
            yield [Text(f"left out: {', '.join(health.shed)}", style="yellow")]
        if missing := health.compilation.measures:
            text = f"being compiled, {percent(health.compilation.share)}: {', '.join(missing)}"
            yield [Text(text, style="yellow")]
        if not health.recording:
            yield [Text("not recording", style="yellow")]
            return
        recorded = Text(f"{count(health.recorded)} samples safe on disk")
        room = max(12, width - len(recorded) - len(_GAP) - len("recording "))
        last = [Text.assemble("recording ", (shortened(health.recording, room), "bold")), recorded]
        if health.unwritten_age > LONGEST_UNWRITTEN:
            last.append(Text(f"disk {health.unwritten_age:.0f} s behind", style="bold yellow"))
        if health.unrecorded:
            last.append(Text(f"{count(health.unrecorded)} samples not recorded", style="bold red"))
        yield last

    def _actuators(self, width: int, rows: int) -> Table | Text:
        if self.results is None or not self.results.actuators:
            return Text("no results yet: the first comes when a window is full", style="dim", overflow="ellipsis")
        paused = () if self.health is None else self.health.paused
        return actuator_table(self.results, width, rows, silent=self._silent, paused=paused)

    def _notes(self, width: int) -> list[Text]:
        if self.results is None or self._silent:
            return []
        return list(contradiction_lines(self.results, width))

    def _models(self, width: int) -> list[Text]:
        if self.results is None or not self.results.sites:
            return []
        return list(reliability_lines(self.results, width, silent=self._silent))

    @property
    def _silent(self) -> str:
        """Text shown in place of old values."""
        return {"stale": "stale", "silent": "no data"}.get(self.state, "")

    def _event_line(self, width: int, lines: int) -> Iterator[Text]:
        yield Text("─ events " + "─" * max(0, width - 9), style="dim", no_wrap=True, overflow="crop")
        shown = [_sentence(event) for event in self.events[-lines:]] or [Text("nothing yet", style="dim")]
        for text in shown + [Text()] * (lines - len(shown)):
            text.no_wrap, text.overflow = True, "ellipsis"
            text.truncate(width, overflow="ellipsis")
            yield text


def _flow(groups: Iterator[list[Text]], width: int) -> list[Text]:
    """Wrap fields into lines."""
    lines: list[Text] = []
    for fields in groups:
        line = Text()
        for part in fields:
            if line and line.cell_len + len(_GAP) + part.cell_len > width:
                lines.append(line)
                line = Text()
            line = Text.assemble(line, _GAP if line else "", part)
        lines.append(line)
    for line in lines:
        line.truncate(max(1, width), overflow="ellipsis")
    return lines


def _shortened(models: list[Text], room: int) -> list[Text]:
    """Return the heading and the last sites; nothing where both do not fit."""
    heading, sites = models[:1], models[1:]
    shown = min(len(sites), room - len(heading))
    return heading + sites[-shown:] if shown > 0 else []


def _sentence(event: Event) -> Text:
    style = "yellow" if kind_level(event.kind) is Level.WARN else ""
    return Text.assemble(
        (f"{instant_text(event.time):>10}  ", "dim"), (f"{kind_name(event.kind):<12}", style), event_sentence(event)
    )


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
