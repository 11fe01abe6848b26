"""Dashboard of a service: a screen in a terminal, or a line at intervals elsewhere."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from gui.model.alarms import sorted_alarms, summarize
from gui.model.health_items import health_items
from gui.model.history import History
from gui.model.receiver import ReceivedMessages, ServiceSubscription
from gui.model.results import ResultHistory
from gui.model.tracking_status import Status, contradiction_mark, decision_status, tracking_status
from gui.wording.event_text import (
    NOT_JUDGED_SHAPE,
    alarm_line,
    alarm_source,
    event_level,
    event_sentence,
    kind_name,
    severity_level,
    severity_shape,
    severity_word,
    since_text,
    state_text,
)
from gui.wording.level import Level
from monitor.catalogue import RATIO_UNIT, display_unit, outputs_by_name
from monitor.messages.alarms import Alarm, AlarmState
from monitor.messages.headline import HEADLINE, LABELS, HeadlineValues, first_indicator, label_of, read_headline
from monitor.messages.health import Health
from monitor.text.numbers import DASH, count, fitted, instant_text, percent

_STYLES = {Level.NONE: "", Level.GOOD: "green", Level.INFO: "blue", Level.WARN: "yellow", Level.BAD: "bold red"}
_GAP = "   "
_EVENTS, _ALARMS = 3, 8
_HEADING = 2  # lines of the table of actuators
_LEAST = 2  # rows of a table: one, and how many there are more


@dataclass(frozen=True)
class Screen:
    """A rich renderable of what a history has now, within the height of a live display.

    Without room events give way first, then actuators and sites but two lines of each.
    """

    history: History

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Render."""
        # a live display of rich does not pass on its height
        height = options.height or (console.height if console.is_alt_screen else None)
        width, left = options.max_width, 10_000 if height is None else height
        results = self.history.results
        names, sites = (results.actuators, results.sites) if results is not None else ((), ())
        head: list[Rule | Text] = [*_header(self.history, width)]
        head += _alarm_lines(self.history.alarms_at(None), min(_ALARMS, max(2, (left - len(head)) // 3)))
        yield from head
        left -= len(head)
        rows, models = len(names), len(sites)
        if models:
            # with its heading, and below the least of the actuators and an event
            models = min(models, max(_LEAST, left - 3 - (_HEADING + min(rows, _LEAST) if rows else 0)))
            left -= 1 + models
        if rows:
            is_room = left >= _HEADING + min(rows, _LEAST)
            rows = min(rows, max(_LEAST, left - _HEADING - 2)) if is_room else 0
            left -= _HEADING + rows if is_room else 1
        if results is None or not (names or sites):
            yield _line("no results yet: the first comes when a window is full", "dim")
            left -= 1
        else:
            old = _replacement(self.history)
            paused = () if self.history.health is None else self.history.health.paused
            if rows:
                shown = names if rows == len(names) else names[: rows - 1]
                yield _actuator_table(results, shown, speaker(results, names, paused), width, old)
                yield from _more(names, shown)
            elif names:
                yield _line(f"actuators: {len(names)}, no room in {height} lines", "yellow")
            if sites:
                shown = sites if models == len(sites) else sites[1 - models :]
                yield _site_table(results, shown, width, old)
                yield from _more(sites, shown)
        yield from _event_lines(self.history, _EVENTS if height is None else left - 1)


def _more(names: Sequence[str], shown: Sequence[str]) -> Iterator[Text]:
    if len(shown) < len(names):
        yield _line(f"and {len(names) - len(shown)} more", "dim")


def _line(text: str, style: str = "") -> Text:
    return Text(text, style=style, no_wrap=True, overflow="ellipsis")


def _replacement(history: History) -> str:
    """Return the words in place of values that are not current; empty: they are shown, as the last of a run are."""
    state = history.state
    return "" if state.current or state.key == "ended" else state.brief or state.words


def _header(history: History, width: int) -> Iterator[Text]:
    """Yield lines of the items of the window's health strip, and what is left out or being compiled by name."""
    parts = [
        Text(item.text if len(item.text) <= width else item.brief or item.text, style=_STYLES[item.level])
        for item in health_items(history)
        if item.key not in ("alarms", "shed", "compiling")
    ]
    if (health := history.health) is not None:
        parts.append(Text(f"received {count(health.counts.received)}"))
        if health.shed:
            parts.append(Text(f"left out: {', '.join(health.shed)}", style="yellow"))
        if missing := health.compilation.measures:
            text = f"being compiled, {percent(health.compilation.share)}: {', '.join(missing)}"
            parts.append(Text(text, style="yellow"))
    line = _line("")
    for part in parts:
        if line and line.cell_len + len(_GAP) + part.cell_len > width:
            yield line
            line = _line("")
        line.append(_GAP if line else "").append_text(part)
    yield line


def _alarm_lines(alarms: Sequence[Alarm], room: int) -> Iterator[Rule | Text]:
    """Yield a heading with counts, and the gravest alarms in force, then those that are not judged; else nothing."""
    found = summarize(alarms)
    if not (found.any_active or found.not_judged):
        return
    unacknowledged = f"{found.unacknowledged} unacknowledged" if found.unacknowledged else ""
    counts = ", ".join(filter(None, (found.words, unacknowledged, *found.aside)))
    yield _rule(f"alarms: {counts}", _STYLES[found.level] or "bold")
    shown = (alarm for alarm in alarms if alarm.is_annunciated or alarm.state is AlarmState.NOT_JUDGED)
    for alarm in sorted_alarms(shown)[: room - 1]:
        active, severity = alarm.is_annunciated, alarm.severity
        line = _line(f"{since_text(alarm):>10}  ")
        shape = severity_shape(severity) if active else NOT_JUDGED_SHAPE
        line.append(f"{shape} {severity_word(severity)}  ", style=_STYLES[severity_level(severity)] if active else "")
        # the name is what an acknowledgement asks for
        line.append(alarm.name.removesuffix(f".{severity}"), style="bold")
        line.append(alarm_line(alarm).removeprefix(alarm_source(alarm)))
        label = label_of(alarm.source)
        by = "" if label in ("", LABELS[HEADLINE]) else f", by {label}"
        yield line.append(f": {state_text(alarm)}{by}")


def _rule(heading: str, style: str) -> Rule:
    return Rule(Text(heading, style=style), align="left", style=style)


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of numbers in the display unit of `result`, where the terminal has `at` characters or more.

    Numbers below `critical` are emphasised.
    """

    title: str
    name: str
    result: str
    width: int
    decimals: int
    at: int = 0
    style: str = "dim"
    critical: float = -math.inf

    def heading(self, published: str) -> str:
        """Return the title, and below it the name with the display unit of values published in a unit."""
        output = _OUTPUTS[self.result]
        unit = display_unit(output.display_unit, published) if output.display_unit else output.unit
        return f"{self.title}\n{self.name} {unit.replace(RATIO_UNIT, '')}".replace("\n ", "\n").rstrip(" ")


_OUTPUTS = outputs_by_name()
_USUAL, _MORE, _WIDE = 80, 100, 140
_OTHERS = (
    _Column("FDB", "delay", "fdb_delay", 8, 1, _MORE),
    _Column("", "ratio", "fdb_ratio", 6, 3, _WIDE),
    _Column("PAEI", "delay", "paei_delay", 8, 1, _MORE),
    _Column("", "ratio", "paei_ratio", 6, 3, _WIDE),
    _Column("FDB", "phase", "fdb_phase", 7, 1, _WIDE),
    _Column("", "freq", "fdb_frequency", 7, 2, _WIDE),
    _Column("damping", "", "fdb_added_damping", 7, 2, _USUAL, critical=-0.2),
    _Column("NRMSE", "", "nrmse", 5, 1, _USUAL),
)


def _columns(indicator: str, width: int) -> tuple[_Column, ...]:
    """Return the columns of the headline indicator, then those of others, as many as fit into a width."""
    label = LABELS[indicator]
    first = (
        _Column(label, "delay", f"{indicator}_delay", max(8, len(label)), 1, style="bold"),
        _Column("", "±", f"{indicator}_delay_sd", 4, 1),
        _Column("", "ratio", f"{indicator}_ratio", 6, 3, style="bold"),
        _Column("", "±", f"{indicator}_ratio_sd", 5, 3, _USUAL),
    )
    others = (column for column in _OTHERS if column.result not in (first[0].result, first[2].result))
    return tuple(column for column in (*first, *others) if width >= column.at and column.result in _OUTPUTS)


def _actuator_table(results: ResultHistory, names: Sequence[str], indicator: str, width: int, old: str) -> Table:
    """Return the table of actuators; `old` words stand in place of values that are not current."""
    columns = _columns(indicator, width)
    units = {column.name: column.unit for column in results.columns}
    table = _table("\nactuator", names, width)
    for column in columns:
        heading = _line(column.heading(units.get(column.result, "")))
        table.add_column(heading, width=column.width, justify="right", style=column.style, no_wrap=True)
    table.add_column(_line("\ntracking"), no_wrap=True, overflow="ellipsis")
    for name in names:
        numbers = []
        for column in columns:
            value = math.nan if old else _OUTPUTS[column.result].display_factor * results.value(name, column.result)
            style = "not dim bold red" if value < column.critical else ""
            numbers.append(Text(fitted(value, column.width, column.decimals), style=style))
        found, words = tracking(results, name, indicator)
        status = Text(old, style="dim") if old else Text(words, style="cyan" if found.contradicting else "")
        table.add_row(Text(name), *numbers, status)
    return table


def _table(heading: str, names: Sequence[str], width: int) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False, header_style="dim")
    room = min(width // 6 + 1, max(8, *map(len, names)))
    table.add_column(_line(heading), width=room, style="bold", no_wrap=True, overflow="ellipsis")
    return table


def speaker(results: ResultHistory, actuators: Sequence[str], paused: Collection[str]) -> str:
    """Return the prefix of the headline indicator of some actuators."""
    return first_indicator(
        lambda name: any(results.column(actuator, name) is not None for actuator in actuators), paused
    )


def tracking(results: ResultHistory, actuator: str, indicator: str) -> tuple[HeadlineValues, str]:
    """Return the headline values of an actuator, and its status with the indicators that contradict."""
    read = partial(results.value, actuator)
    found = read_headline(indicator, read)
    column = results.column(actuator, f"{indicator}_ratio")
    # a ratio of different units can be neither too large nor too small
    is_share = column is not None and results.columns[column].unit in ("", "1")
    ratio, ratio_sd = (found.ratio, found.ratio_sd) if is_share else (1.0, 0.0)
    words = tracking_status(found.delay, ratio, found.delay_sd, ratio_sd, read(f"{indicator}_reason")).words
    return found, ", ".join(filter(None, (words, contradiction_mark(found.contradicting))))


_VALUES = (("accumulated", "accumulated", 0), ("first-passage", "first_passage", 0), ("windowed", "windowed", _USUAL))


def _site_table(results: ResultHistory, sites: Sequence[str], width: int, old: str) -> Table:
    """Return the reliabilities of sites with standard errors, and the decision; `old` as for actuators.

    Values of an instant before the newest, as after the end of the ensemble, are dim.
    """
    table = _table("model", sites, width)
    values = [(title, name) for title, name, at in _VALUES if width >= at]
    for title, _ in values:
        table.add_column(title, width=13, no_wrap=True)
    table.add_column("decision", no_wrap=True, overflow="ellipsis")
    for site in sites:
        cells = [Text(DASH) if old else _reliability(results, site, name) for _, name in values]
        decided = site_decision(results, site)
        word = f"{decided.shape} {decided.words}".strip()
        verdict = Text(old, style="dim") if old else Text(word, style=_STYLES[decided.level])
        table.add_row(Text(site), *cells, verdict)
    return table


def site_decision(results: ResultHistory, site: str) -> Status:
    """Return the newest decision at a site, without words where there is none to be made."""
    name = "reliability_decision"
    return Status("", "") if results.column(site, name) is None else decision_status(results.last_valid(site, name))


def _reliability(results: ResultHistory, site: str, name: str) -> Text:
    """Return the newest valid value, with its standard error if that is known."""
    value, error = (results.last_valid(site, f"reliability_{name}{suffix}") for suffix in ("", "_se"))
    said = f"{value:.3f}" + (f" ±{error:.4f}" if error == error else "") if value == value else DASH
    now = results.value(site, f"reliability_{name}")
    return Text(said, style="" if now == now else "dim")


def _event_lines(history: History, room: int) -> Iterator[Rule | Text]:
    """Yield a heading and the newest events in `room` lines, the newest last."""
    if room < 1:
        return
    yield _rule("events", "dim")
    newest = [placed.event for placed in islice(reversed(history.events), room)]
    for event in reversed(newest):
        line = _line(f"{instant_text(event.time, 1):>10}  ")
        line.append(f"{kind_name(event.kind):<12}", style=_STYLES[event_level(event)])
        yield line.append(event_sentence(event))
    if not newest:
        yield _line("nothing yet", "dim")


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
