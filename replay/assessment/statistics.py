"""Statistics of one actuator: headline, spread of each indicator, contradictions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from monitor.messages.blocks import Pair
from monitor.messages.headline import COMPARED_QUANTITIES, HEADLINE, QUANTITIES, TOLERANCE, contradicts
from monitor.messages.reasons import REASONS, Reason
from replay.assessment.change_points import Segmentation, segment_series
from replay.assessment.results import (
    Contradiction,
    Departure,
    HeadlineEstimate,
    PairAssessment,
    Presence,
    Spread,
    WholeRecord,
)

# smallest changes: of the delay in s and as a fraction of it, of the ratio as a fraction; of a change point in s
_DELAY_CHANGE, _SHARE, _RATIO_CHANGE, _DELAY_STEP = 1e-3, 0.1, 0.02, 5e-4
# smallest change of a stiffness, as a fraction of it
_STIFFNESS_CHANGE = 0.02
# standard deviations beyond which two values differ
_SIGNIFICANT_SDS = 3.0
# windows with a standard deviation above so many medians do not count for the range
_CERTAIN = 3.0
# standard deviation over the median absolute deviation, and standard deviations at which an outlier is clipped
_NORMAL, _CLIPPED = 1.4826, 3.0
# values of a window that are compared with those of later ones
_PER_WINDOW = 8
# half width of a band in standard deviations, and what the farthest window of a departure must exceed
_BAND, _DEPARTS = 2.0, 4.0
# standard deviations below this fraction of the smallest departure are rounding
_SMALLEST_SD = 1e-6
# windows that a departure must last: whatever happens is in all windows that hold it
_LASTS = 0.6
_REASON = "_reason"

Values = Mapping[str, NDArray[np.float64]]


def assess_pair(
    whole: WholeRecord, pair: Pair, time: NDArray[np.float64], values: Values, window: float, relative_gate: float
) -> PairAssessment:
    """Return the statistics of one actuator.

    Parameters
    ----------
    time : (n,), s after the record's first sample, of the results.
    values : (n,) by the name of the column.
    window : s.
    relative_gate : fraction of the command's largest amplitude above which it counts as moving.
    """
    n = len(next(iter(values.values()), ()))
    moving = is_moving(values, n, relative_gate)
    valid = moving.copy()
    for name in ("fdb_phase", "paei_phase"):
        if name in values:
            valid &= ~np.isnan(values[name])
    totals, spreads = {}, {}
    for name, series in values.items():
        if name.endswith("_total"):
            counted = series[~np.isnan(series)]
            totals[name] = float(counted[-1]) if len(counted) else np.nan
        elif not name.endswith(_REASON):
            spreads[name] = spread(series[moving], angle=name.endswith("_phase"))
    headline, departing = _headline(time, values, spreads, moving, window)
    compared = moving & ~departing
    return PairAssessment(
        pair,
        headline,
        {
            prefix: _contradicting(values, prefix, compared)
            for prefix in COMPARED_QUANTITIES
            if f"{prefix}_delay" in values
        },
        spreads,
        totals,
        float(valid.mean()) if n else 0.0,
        {name.removesuffix(_REASON): _presence(values[name], moving) for name in values if name.endswith(_REASON)},
        whole,
        _stiffness(time, values, window),
    )


def _stiffness(time: NDArray[np.float64], values: Values, window: float) -> Segmentation:
    """Return the change points of the specimen's stiffness; none where it was not computed."""
    if "specimen_stiffness" not in values:
        return Segmentation()
    found, sd = values["specimen_stiffness"], values["specimen_stiffness_sd"]
    good = np.isfinite(found)
    least = _STIFFNESS_CHANGE * abs(float(np.median(found[good]))) if good.any() else 0.0
    return segment_series(time, found, sd, window, least)


def _presence(codes: NDArray[np.float64], moving: NDArray[np.bool_]) -> Presence:
    """Return how often there is a value; `codes` (n,) of reasons."""
    if not len(codes):
        return Presence(0.0, {})
    found, counts = np.unique(codes[codes != Reason.VALID], return_counts=True)
    largest_first = np.argsort(-counts, kind="stable")
    missing = {REASONS[found[i]]: float(counts[i] / len(codes)) for i in largest_first}
    return Presence(float((moving & (codes == Reason.VALID)).mean()), missing)


def headline_of(
    time: NDArray[np.float64], values: Values, window: float, relative_gate: float
) -> HeadlineEstimate | None:
    """Return the headline alone, from its columns and ``fdb_amplitude``; None without them. Parameters as above."""
    names = [f"{HEADLINE}_{quantity}{end}" for quantity in QUANTITIES for end in ("", "_sd")]
    if not all(name in values for name in names):
        return None
    moving = is_moving(values, len(time), relative_gate)
    spreads = {name: spread(values[name][moving], angle=False) for name in names}
    return _headline(time, values, spreads, moving, window)[0]


def is_moving(values: Values, n: int, relative_gate: float) -> NDArray[np.bool_]:
    """Return (n,) at which instants the command moves; all where its amplitude was not computed."""
    if "fdb_amplitude" not in values:
        return np.ones(n, dtype=bool)
    amplitude = np.nan_to_num(values["fdb_amplitude"])
    return np.asarray(amplitude >= relative_gate * np.max(amplitude, initial=0.0))


def spread(values: NDArray[np.float64], *, angle: bool) -> Spread:
    """Return the spread of the (n,) values that are not NaN; of angles [rad] about their mean direction."""
    values = values[~np.isnan(values)]
    if not len(values):
        return Spread(np.nan, np.nan, np.nan, np.nan)
    centre = 0.0
    if angle:
        # about the mean direction, so that -179 and 179 degrees do not average to zero
        centre = float(np.angle(np.exp(1j * values).sum()))
        values = np.angle(np.exp(1j * (values - centre)))
    low, median, high = np.percentile(values, [5.0, 50.0, 95.0])
    return Spread(centre + median, centre + values.mean(), centre + low, centre + high)


def _headline(
    time: NDArray[np.float64], values: Values, spreads: Mapping[str, Spread], moving: NDArray[np.bool_], window: float
) -> tuple[HeadlineEstimate | None, NDArray[np.bool_]]:
    """Return the headline, None where it was not computed, and which (n,) instants are near a departure from it."""
    departing = np.zeros(len(moving), dtype=bool)
    delay, ratio = (f"{HEADLINE}_{quantity}" for quantity in QUANTITIES)
    if delay not in values:
        return None, departing
    valid = moving & ~np.isnan(values[delay])
    of_delay, of_delay_sd, of_ratio, of_ratio_sd = (
        spreads[name].median for name in (delay, f"{delay}_sd", ratio, f"{ratio}_sd")
    )
    segmentations, ranges, farthest = [], [], []
    for name, level, step, least, share, irrelevant in (
        (delay, of_delay, _DELAY_STEP, _DELAY_CHANGE, _SHARE * abs(of_delay), TOLERANCE["delay"]),
        (
            ratio,
            of_ratio,
            _RATIO_CHANGE * of_ratio,
            _RATIO_CHANGE * of_ratio,
            _RATIO_CHANGE * of_ratio,
            TOLERANCE["ratio"] * of_ratio,
        ),
    ):
        found, sd = values[name][valid], values[f"{name}_sd"][valid]
        segmentation = segment_series(time[valid], found, sd, window, step)
        wide = _range(found, sd, max(least, share), irrelevant)
        if segmentation.changes:
            levels = [segment.first for segment in segmentation.segments if not segment.drifts]
            wide = segmentation.extremes if wide is None else (min([wide[0], *levels]), max([wide[1], *levels]))
        low, high = (level, level) if wide is None else wide
        floor = max(irrelevant, share, _SHARE * (high - low))
        departures = tuple(_departures(time[valid], found, sd, low, high, floor, window))
        for each in departures:
            departing |= (time >= each.start - window) & (time <= each.stop + window)
        ranges.append(wide)
        segmentations.append(segmentation)
        farthest.append(max(departures, key=lambda each: max(low - each.value, each.value - high), default=None))
    headline = HeadlineEstimate(
        of_delay,
        of_delay_sd,
        of_ratio,
        of_ratio_sd,
        float(valid.mean()) if len(valid) else 0.0,
        ranges[0],
        ranges[1],
        segmentations[0],
        segmentations[1],
        farthest[0],
        farthest[1],
        *(median_sd(time, values[name], values[f"{name}_sd"], valid, window) for name in (delay, ratio)),
    )
    return headline, departing


def median_sd(
    time: NDArray[np.float64],
    values: NDArray[np.float64],
    sd: NDArray[np.float64],
    counted: NDArray[np.bool_],
    window: float,
) -> float:
    """Return the standard deviation of the median of overlapping windows, by how many of them are independent.

    A window is independent of the next one at most; where values a window and more apart are alike, more of them
    count as one. The scatter is that of the values, or one window's standard deviation if that is larger.

    Parameters
    ----------
    time, values, sd : (n,), s, a quantity of the window that ends then, and its standard deviation.
    counted : (n,), of which values it is the median.
    window : s.
    """
    good = counted & np.isfinite(values) & np.isfinite(sd)
    if not good.any():
        return np.nan
    away = np.where(good, values - np.median(values[good]), np.nan)
    scatter = float(_NORMAL * np.median(np.abs(away[good])))
    usual = float(np.median(sd[good]))
    size = max(scatter, usual)
    rows = max(1.0, window / float(np.median(np.diff(time)))) if len(time) > 1 else 1.0
    windows, alike = good.sum() / rows, 1.0
    if scatter > 0.0:
        stride = max(1, round(rows / _PER_WINDOW))
        lag = max(1, round(rows / stride))
        away = np.clip(away[::stride], -_CLIPPED * scatter, _CLIPPED * scatter)
        power = np.nanmean(away**2)
        for k in range(lag, len(away) // 2, lag):
            products = away[k:] * away[:-k]
            common = float(np.nanmean(products) / power) if np.isfinite(products).any() else 0.0
            if common <= 0.0:
                break
            alike += 2.0 * common
    return size * min(1.0, float(np.sqrt(0.5 * np.pi * alike / max(windows, 1.0))))


def _departures(
    time: NDArray[np.float64],
    values: NDArray[np.float64],
    sd: NDArray[np.float64],
    low: float,
    high: float,
    floor: float,
    window: float,
) -> Iterator[Departure]:
    """Yield the stretches of (n,) values that are below `low` or above `high` by more than `floor` and their band."""
    for beyond in (low - values, values - high):
        outside = np.flatnonzero(beyond > floor + _BAND * sd)
        # windows closer than one window share samples
        for rows in np.split(outside, np.flatnonzero(np.diff(time[outside]) > window) + 1):
            certain = rows[beyond[rows] > _DEPARTS * sd[rows]]
            if len(certain) and time[rows[-1]] - time[rows[0]] > _LASTS * window:
                # by their uncertainty: windows that hold only a part of it count little
                weights = 1.0 / np.maximum(sd[rows], _SMALLEST_SD * floor) ** 2
                mean, usual = np.average(values[rows], weights=weights), 1.0 / np.sqrt(weights.mean())
                yield Departure(float(time[rows[0]]), float(time[rows[-1]]), float(mean), float(usual))


def _range(
    values: NDArray[np.float64], sd: NDArray[np.float64], least: float, irrelevant: float
) -> tuple[float, float] | None:
    """Return the range of (n,) values that change significantly; None where they may all be equal, or nearly.

    Parameters
    ----------
    least : the smallest change, between windows of any uncertainty.
    irrelevant : a range of the certain windows below this does not count.
    """
    if not len(values):
        return None
    # each window by its own uncertainty: one in weak motion may be far off without a change
    low, high = (
        np.percentile(values + _SIGNIFICANT_SDS * sd, 5.0),
        np.percentile(values - _SIGNIFICANT_SDS * sd, 95.0),
    )
    if not high - low > least:
        return None
    certain = values[sd <= _CERTAIN * np.median(sd)]
    low, high = np.percentile(certain, (5.0, 95.0))
    return (float(low), float(high)) if high - low >= irrelevant else None


def _contradicting(values: Values, prefix: str, moving: NDArray[np.bool_]) -> Contradiction:
    if f"{HEADLINE}_delay" not in values:
        return Contradiction(np.nan, 0.0, 0.0)
    against, both = np.zeros(len(moving), dtype=bool), moving.copy()
    differences = {}
    for quantity in QUANTITIES:
        names = [f"{one}_{quantity}{end}" for one in (HEADLINE, prefix) for end in ("", "_sd")]
        mine, mine_sd, other, other_sd = (values[name] for name in names)
        if quantity in COMPARED_QUANTITIES[prefix]:
            against |= contradicts(quantity, mine, mine_sd, other, other_sd)
        both &= ~np.isnan([mine, mine_sd, other, other_sd]).any(axis=0)
        differences[quantity] = np.abs(other - mine) / (np.abs(mine) if quantity == "ratio" else 1.0)
    against &= both
    if not against.any():
        return Contradiction(0.0 if both.any() else np.nan, 0.0, 0.0)
    fraction = float(against.sum() / both.sum())
    return Contradiction(fraction, *(float(np.median(differences[name][against])) for name in QUANTITIES))
