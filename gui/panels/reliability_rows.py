"""The rows of a model that is judged: its reliabilities, and its band with the measurement; and their numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from gui.model.alarm_limits import WatchedLimits
from gui.model.history.history import History
from gui.model.history.results import ResultHistory
from gui.panels.alarm_lines import alarm_lines
from gui.plots.time.rows import Curve, Interval, Row, RowData, Trace, band, intervals, spread, trace

_CURVES = (
    ("reliability_instantaneous", Curve("instantaneous", "muted", faint=True)),
    ("reliability_first_passage", Curve("first-passage", 1)),
    ("reliability_accumulated", Curve("accumulated", 0)),
    ("reliability_windowed", Curve("windowed", 2, dashed=True)),
)
_WITH_ERROR = _CURVES[1:]  # the instantaneous one is background
_FROM_0_TO_1 = -0.04, 1.04
_MEDIAN, _BAND = "model_median", ("model_low", "model_high")
_MODEL_WEIGHT = 0.9


def reliability_rows(history: History, results: ResultHistory, site: str) -> Iterator[Row]:
    """Give the rows of a site: what is told of all sites together is followed by each of them."""
    if results.column(site, _MEDIAN) is not None:
        yield _reliability_row(site, site, history.limits)
        yield _model_row(history, results, site)
        return
    yield _reliability_row(site, "all sites", history.limits)
    for owner in results.sites:
        if owner != site:
            yield _reliability_row(owner, owner, history.limits)


def row_data(
    history: History, results: ResultHistory, row: Row, left: float, right: float, n_columns: int
) -> RowData:
    """Return the numbers of a row from `left` to `right`, s, in about `n_columns` buckets."""
    kind, _, owner = row.key.partition(":")
    model = kind == "model"
    names = [_MEDIAN, *_BAND] if model else [*_names(), *(f"{name}_se" for name, _ in _WITH_ERROR)]
    found = results.envelope(left, right, n_columns, [(owner, name) for name in names])
    one: Callable[[int], Trace] = partial(trace, found)
    if not model:
        bands = tuple(spread(one(1 + i), one(len(_CURVES) + i)) for i in range(len(_WITH_ERROR)))
        return RowData(tuple(one(i) for i in range(len(_CURVES))), bands)
    curves = [one(0)]
    column = _channel(history, owner)
    if history.signals is not None and column is not None:
        curves.append(trace(history.signals.envelope(left, right, n_columns, [column]), 0))
    return RowData(tuple(curves[: len(row.curves)]), (band(one(1), one(2)),))


def row_values(history: History, row: Row, x: float) -> list[Interval]:
    """Return what is known of a row's curves at `x`, s, or at the newest instant before."""
    results = history.results
    if results is None:
        return []
    kind, _, owner = row.key.partition(":")
    names = [_MEDIAN] if kind == "model" else _names()
    found = intervals(*results.between(min(x, results.end_x), [(owner, name) for name in names]))
    column = _channel(history, owner)
    if history.signals is not None and column is not None and len(row.curves) > len(names):
        found += intervals(*history.signals.between(min(x, history.signals.end_x), [column]))
    return found


def _names() -> list[str]:
    return [name for name, _ in _CURVES]


def _reliability_row(owner: str, name: str, watched: WatchedLimits) -> Row:
    curves = tuple(curve for _, curve in _CURVES)
    lines = alarm_lines(watched, {(owner, name): curve.label for name, curve in _CURVES})
    return Row(
        f"reliability:{owner}", name, "reliability", "1", curves, tuple(curve.colour for _, curve in _WITH_ERROR),
        lines, fixed=_FROM_0_TO_1, legend="bands ± 1 se",
    )  # fmt: skip


def _model_row(history: History, results: ResultHistory, owner: str) -> Row:
    median = results.column(owner, _MEDIAN)
    unit = "" if median is None else results.columns[median].unit
    curves = [Curve("model median", "command")]
    if _channel(history, owner) is not None:
        curves.append(Curve("measured", "measured"))
    return Row(
        f"model:{owner}", owner, "model and measurement", unit, tuple(curves), ("command",), prefixed=True,
        weight=_MODEL_WEIGHT, legend="band: 5 to 95 % of the model",
    )  # fmt: skip


def _channel(history: History, name: str) -> int | None:
    """Return the column of the channel of a site; None where signals are not published."""
    channels = () if history.signals is None else history.signals.channels
    return next((i for i, channel in enumerate(channels) if channel.name == name), None)
