"""Live reliability of a model: rows next to those of the indicators, and its decisions."""

from __future__ import annotations

from dataclasses import replace
from math import ceil

import numpy as np

from monitor.kernel import without_kernels
from monitor.messages.blocks import Column, Event, EventKind, Samples, SignalBlock, Stream, same_unit
from monitor.reliability.curves import NAMES, Reliability, product_of_sites
from monitor.reliability.ensemble import Integers
from monitor.reliability.plan import (
    ALL_SITES,
    MODEL_QUANTILES,
    ReliabilityEstimate,
    ReliabilityPlan,
    ValidationSite,
    decide,
    decide_rows,
    map_samples,
    resolution_of,
)
from monitor.reliability.site import SiteReliability

DECISION = "reliability_decision"
_CURVES = 2 * len(NAMES)  # columns: each value and its standard error
_NAMED = 6  # channel names listed in a message
_ROUNDING = 1e-3  # of a step or a sample
# s between reported decisions, or this share of the ensemble's duration, if that is less
_PAUSE, _SHARE = 1.0, 0.1


class ReliabilityMonitor:
    """Compute the reliability of a model from the channels of one stream.

    The values are computed at the ensembles' instants and held until the next one; after the last they are NaN.

    Parameters
    ----------
    plan : sites, tolerances and limits.
    stream : of the signals.
    compiling : its kernels are not there yet.

    Raises
    ------
    ValueError : a channel is missing, its unit differs from the ensemble's, or the instants do not match the samples.
    """

    def __init__(self, plan: ReliabilityPlan, stream: Stream, *, compiling: bool = False) -> None:
        self._plan = plan
        self._positions = [_position(site, stream) for site in plan.sites]
        first = plan.sites[0].ensemble
        self._instants = map_samples(first, stream.sample_rate, plan.start, plan.shift)
        window = max(1, round(plan.window / first.dt))
        self._always_short = window - 1 > (self._instants.n_assessed - 1) * self._instants.steps
        kind = without_kernels(SiteReliability) if compiling else SiteReliability
        self._sites = [kind(site.ensemble, site.tolerance, 1, window) for site in plan.sites]
        self._resolution = max(resolution_of(site.ensemble.n_realizations) for site in plan.sites)
        # instants from the first value to the first decision, and samples between reported decisions
        share = _SHARE * float(first.time[-1] - first.time[0])
        self._undecided = ceil((share if plan.after is None else plan.after) / first.dt - _ROUNDING)
        self._pause = round(min(_PAUSE, share) * stream.sample_rate)
        self._first_evaluated: int | None = None
        self._last_decision: tuple[float, int] | None = None
        self.columns = self._name_columns()
        self._held = np.full(len(self.columns), np.nan)
        self._next: int | None = None
        self._ended = False

    def _name_columns(self) -> tuple[Column, ...]:
        columns = []
        for site in self._plan.sites:
            columns += [Column(name, site.ensemble.unit, site.channel) for name in MODEL_QUANTILES]
            columns += _reliability_columns(site.channel)
        if len(self._plan.sites) > 1:
            columns += _reliability_columns(ALL_SITES)
        # one for all sites, in the last group
        columns.append(Column(DECISION, "1", columns[-1].actuator))
        return tuple(columns)

    def advance(self, block: SignalBlock, every: int) -> tuple[Samples, tuple[Event, ...]]:
        """Process the next block of the stream.

        Returns
        -------
        rows : (n_rows, n_columns), at the sample numbers that `every` divides.
        events : changed decisions, and the ensemble's end.
        """
        first, n = block.index, len(block)
        events = self._join(block) if self._next is None else []
        if self._next is not None and len(self._instants.select(self._next, first - self._next)[0]):
            # an instant is among the lost samples
            self._held[:] = np.nan
        self._next = first + n
        numbers, instants = self._instants.select(first, n)
        values_at = np.empty((len(numbers), len(self.columns)))
        if len(numbers):
            values_at[:] = self._evaluate(block.samples[numbers - first], instants)
            events += self._decide(values_at, numbers, instants, block)
        rows = np.arange(-(-first // every) * every, first + n, every)
        # the newest values at or before each row; before the block's first instant the held ones
        newest = np.searchsorted(numbers, rows, side="right")
        known = np.vstack([self._held, values_at])
        values = known[newest]
        values[rows >= self._instants.end] = np.nan
        self._held = known[-1]
        if not self._ended and self._next > self._instants.end:
            self._ended = True
            last = self._plan.sites[0].ensemble.time[-1]
            end = f"the ensemble ends at {last:g} s: no reliability is computed after it"
            events.append(_event(block, self._instants.end, end))
        return values, tuple(events)

    def _join(self, block: SignalBlock) -> list[Event]:
        """Return the notes at the start of the stream."""
        instants, plan = self._instants, self._plan
        notes = list(plan.notes)
        if plan.shift:
            notes.append(f"the model's channels are shifted by {plan.shift:g} s, as set")
        if abs(instants.offset) > _ROUNDING * block.stream.dt:
            off = f"up to {abs(instants.offset):.3g} s {'before' if instants.offset > 0.0 else 'after'}"
            notes.append(f"the model's instants fall between samples: the nearest are used, {off} them")
        if self._always_short:
            notes.append(f"the windowed reliability has no value: the ensemble is shorter than {plan.window:g} s")
        if block.index >= instants.end:
            self._ended = True
            notes.append("no reliability is computed: the ensemble had ended when the stream was joined")
        elif block.index > instants.origin:
            late = (block.index - instants.origin) * block.stream.dt
            notes.append(f"the reliability starts {late:.3g} s late: first-passage counts from here")
        return [_event(block, block.index, note) for note in notes]

    def _evaluate(self, samples: Samples, instants: Integers) -> Samples:
        """Return (n_instants, n_columns), without the decision."""
        parts, reliabilities = [], []
        for planned, site, position in zip(self._plan.sites, self._sites, self._positions, strict=True):
            found = site.update(instants, samples[:, [position]]).reliability
            reliabilities.append(found)
            parts += [planned.quantiles[instants], _values(found)]
        if len(reliabilities) > 1:
            parts.append(_values(product_of_sites(reliabilities)))
        parts.append(np.full((len(instants), 1), np.nan))
        return np.concatenate(parts, axis=1)

    def _decide(self, values_at: Samples, numbers: Integers, instants: Integers, block: SignalBlock) -> list[Event]:
        """Write the decisions into `values_at`; return as events those that differ from the last reported one.

        At most one event in a pause: near a limit a decision may change at every sample.
        """
        if not self._plan.limits:
            return []
        estimates = values_at[:, -1 - _CURVES : -1]
        evaluated = np.flatnonzero(~np.isnan(estimates[:, 0]))
        if self._first_evaluated is None and len(evaluated):
            self._first_evaluated = int(instants[evaluated[0]])
        decided = evaluated[instants[evaluated] >= (self._first_evaluated or 0) + self._undecided]
        found = decide_rows(estimates[decided], self._plan.limits, self._resolution)
        values_at[decided, -1] = found
        events: list[Event] = []
        for row, verdict in zip(decided.tolist(), found.tolist(), strict=True):
            number = int(numbers[row])
            if self._last_decision is not None and (
                verdict == self._last_decision[0] or number < self._last_decision[1] + self._pause
            ):
                continue
            self._last_decision = verdict, number
            pairs = estimates[row].reshape(-1, 2).tolist()
            known = {
                name: ReliabilityEstimate(pair[0], pair[1], self._resolution)
                for name, pair in zip(NAMES, pairs, strict=True)
            }
            decision = decide(known, self._plan.limits)
            site, word = self.columns[-1].actuator, decision.verdict.name.lower()
            event = _event(block, number, f"{site}: {word}: {decision.reason}", EventKind.DECISION)
            events.append(replace(event, site=site, verdict=word))
        return events


def _event(block: SignalBlock, number: int, text: str, kind: EventKind = EventKind.NOTE) -> Event:
    return Event(kind, block.time + (number - block.index) * block.stream.dt, number, 0, text)


def _position(site: ValidationSite, stream: Stream) -> int:
    names = [channel.name for channel in stream.channels]
    if site.channel not in names:
        sent = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
        raise ValueError(f"there is no channel {site.channel!r} for the model: the rig sends {sent}")
    position = names.index(site.channel)
    unit = stream.channels[position].unit
    if not same_unit(unit, site.ensemble.unit):
        raise ValueError(f"channel {site.channel!r} is in {unit}, its ensemble in {site.ensemble.unit}: convert one")
    return position


def _reliability_columns(actuator: str) -> list[Column]:
    names = [f"reliability_{name}{suffix}" for name in NAMES for suffix in ("", "_se")]
    return [Column(name, "1", actuator) for name in names]


def _values(found: Reliability) -> Samples:
    """Return (n_instants, 8): each curve's value and standard error."""
    return np.column_stack([part for curve in found.curves for part in (curve.value, curve.standard_error)])
