"""A model judged while the stream goes on: rows beside those of the indicators, and what there is to tell."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil

import numpy as np

from monitor.blocks import Column, Event, EventKind, Samples, SignalBlock, Stream
from monitor.reliability.curves import NAMES, Reliability
from monitor.reliability.decision import SURE, Estimate, Limits, Verdict, decide
from monitor.reliability.instants import instants_of
from monitor.reliability.plan import ALL_SITES, BAND, PlannedSite, ReliabilityPlan
from monitor.reliability.ranks import Integers
from monitor.reliability.several_sites import product
from monitor.reliability.site import SiteReliability

DECISION = "reliability_decision"
_CURVES = 2 * len(NAMES)  # columns: each value and its standard error
_NAMED = 6  # of the channels that a rig sends
_ROUNDING = 1e-3  # of a step or a sample


class ReliabilityMonitor:
    """Judge the channels of one stream.

    The values are made at the ensembles' instants, and stand until the next one is due; after the last there are
    none.

    Parameters
    ----------
    plan : what is judged.
    stream : of the signals.

    Raises
    ------
    ValueError : a channel is not there, its unit is not the ensemble's, or the instants are not the samples'.
    """

    def __init__(self, plan: ReliabilityPlan, stream: Stream) -> None:
        self._plan = plan
        self._positions = [_position(site, stream) for site in plan.sites]
        first = plan.sites[0].ensemble
        self._instants = instants_of(first, stream.sample_rate, plan.start, plan.shift)
        window = max(1, round(plan.window / (self._instants.steps * first.dt)))
        self._always_short = window > self._instants.n_judged
        # one that is never full needs no more room than that
        window = min(window, self._instants.n_judged + 1)
        self._sites = [SiteReliability(site.ensemble, site.tolerance, 1, window) for site in plan.sites]
        self._first_decided = ceil(plan.after / first.dt - _ROUNDING)
        self.columns = self._name_columns()
        self._standing = np.full(len(self.columns), np.nan)
        self._verdict = np.nan
        self._next: int | None = None
        self._ended = False

    def _name_columns(self) -> tuple[Column, ...]:
        columns = []
        for site in self._plan.sites:
            columns += [Column(name, site.ensemble.unit, site.channel) for name in BAND]
            columns += _reliability_columns(site.channel)
        if len(self._plan.sites) > 1:
            columns += _reliability_columns(ALL_SITES)
        # one for all sites: the last group has it
        columns.append(Column(DECISION, "1", columns[-1].actuator))
        return tuple(columns)

    def advance(self, block: SignalBlock, every: int) -> tuple[Samples, tuple[Event, ...]]:
        """Take the next block of the stream.

        Returns
        -------
        rows : (n_rows, n_columns), at the sample numbers that `every` divides.
        events : the decision where it changed, and the ensemble's end.
        """
        first, n = block.index, len(block)
        events = self._join(block) if self._next is None else []
        if self._next is not None and len(self._instants.within(self._next, first - self._next)[0]):
            # an instant was due among the samples that are lost
            self._standing[:] = np.nan
        self._next = first + n
        numbers, instants = self._instants.within(first, n)
        made = np.empty((len(numbers), len(self.columns)))
        if len(numbers):
            made[:] = self._judge(block.samples[numbers - first], instants)
            events += self._decide(made, numbers, instants, block)
        rows = np.arange(-(-first // every) * every, first + n, every)
        # the newest judgement at or before each row; where it came before the block, the standing one
        newest = np.searchsorted(numbers, rows, side="right")
        standing = np.vstack([self._standing, made])
        values = standing[newest]
        values[rows >= self._instants.end] = np.nan
        self._standing = standing[-1]
        if not self._ended and self._next > self._instants.end:
            self._ended = True
            end = f"the ensemble ends at {self._plan.sites[0].ensemble.time[-1]:g} s: nothing is judged beyond"
            events.append(_event(block, self._instants.end, end))
        return values, tuple(events)

    def _join(self, block: SignalBlock) -> list[Event]:
        """Return what there is to tell when the stream starts."""
        instants, plan = self._instants, self._plan
        notes = list(plan.notes)
        if plan.shift:
            notes.append(f"the model's channels are read {plan.shift:g} s later, as set")
        if abs(instants.offset) > _ROUNDING * block.stream.dt:
            off = f"{abs(instants.offset):.3g} s {'before' if instants.offset > 0.0 else 'after'}"
            notes.append(f"the model's instants fall between samples: the nearest are taken, {off} them")
        if self._always_short:
            notes.append(f"the windowed reliability has no value: the ensemble is shorter than {plan.window:g} s")
        if block.index >= instants.end:
            self._ended = True
            notes.append("nothing is judged: the ensemble had ended when the stream was joined")
        elif block.index > instants.origin:
            late = (block.index - instants.origin) * block.stream.dt
            notes.append(f"the model is judged {late:.3g} s late: first-passage is of what comes from here on")
        return [_event(block, block.index, note) for note in notes]

    def _judge(self, samples: Samples, instants: Integers) -> Samples:
        """Return (n_instants, n_columns), the decision still empty."""
        parts, reliabilities = [], []
        for planned, site, position in zip(self._plan.sites, self._sites, self._positions, strict=True):
            found = site.update(instants, samples[:, [position]]).reliability
            reliabilities.append(found)
            parts += [planned.band[instants], _values(found)]
        if len(reliabilities) > 1:
            parts.append(_values(product(reliabilities)))
        parts.append(np.full((len(instants), 1), np.nan))
        return np.concatenate(parts, axis=1)

    def _decide(self, made: Samples, numbers: Integers, instants: Integers, block: SignalBlock) -> list[Event]:
        """Write the decisions into `made`, and return as events those that are others than the one before."""
        if not self._plan.limits:
            return []
        estimates = made[:, -1 - _CURVES : -1]
        decided = np.flatnonzero(~np.isnan(estimates[:, 0]) & (instants >= self._first_decided))
        verdicts = _verdicts(estimates[decided], self._plan.limits)
        made[decided, -1] = verdicts
        before = np.concatenate([[self._verdict], verdicts])
        self._verdict = before[-1]
        events = []
        for row in decided[verdicts != before[:-1]].tolist():
            pairs = estimates[row].reshape(-1, 2).tolist()
            known = {name: Estimate(*pair) for name, pair in zip(NAMES, pairs, strict=True)}
            decision = decide(known, self._plan.limits)
            detail = f"{self.columns[-1].actuator}: {decision.verdict.name.lower()}: {decision.reason}"
            events.append(_event(block, int(numbers[row]), detail, EventKind.DECISION))
        return events


def _verdicts(estimates: Samples, limits: Mapping[str, Limits]) -> Samples:
    """Return (n,): what `decide` says of estimates (n, 2 a reliability); a sentence each would take too long."""
    rejected, accepted = np.zeros(len(estimates), dtype=bool), np.ones(len(estimates), dtype=bool)
    for name, limit in limits.items():
        value, error = estimates[:, 2 * NAMES.index(name) :][:, :2].T
        margin = SURE * np.where(error > 0.0, error, 0.0)
        rejected |= value + margin < limit.reject
        accepted &= value - margin >= limit.accept
    unless_rejected = np.where(accepted, float(Verdict.ACCEPT), float(Verdict.WATCH))
    return np.where(rejected, float(Verdict.REJECT), unless_rejected)


def _event(block: SignalBlock, number: int, text: str, kind: EventKind = EventKind.NOTE) -> Event:
    return Event(kind, block.time + (number - block.index) * block.stream.dt, number, 0, text)


def _position(site: PlannedSite, stream: Stream) -> int:
    names = [channel.name for channel in stream.channels]
    if site.channel not in names:
        sent = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
        raise ValueError(f"there is no channel {site.channel!r} to judge: the rig sends {sent}")
    position = names.index(site.channel)
    unit = stream.channels[position].unit
    if unit and site.ensemble.unit and unit != site.ensemble.unit:
        raise ValueError(f"channel {site.channel!r} is in {unit}, its ensemble in {site.ensemble.unit}: convert one")
    return position


def _reliability_columns(actuator: str) -> list[Column]:
    names = [f"reliability_{name}{suffix}" for name in NAMES for suffix in ("", "_se")]
    return [Column(name, "1", actuator) for name in names]


def _values(found: Reliability) -> Samples:
    """Return (n_instants, 8): each curve's value and standard error."""
    return np.column_stack([part for curve in found.curves for part in (curve.value, curve.standard_error)])
