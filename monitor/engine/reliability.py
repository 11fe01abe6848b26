"""The reliability of a model while the stream goes on: rows beside those of the indicators, and its decisions."""

from __future__ import annotations

from math import ceil

import numpy as np

from monitor.messages.blocks import Column, Event, EventKind, Samples, SignalBlock, Stream, same_unit
from monitor.reliability.curves import NAMES, Reliability, product_of_sites
from monitor.reliability.decision import ReliabilityEstimate, decide, decide_rows, resolution_of
from monitor.reliability.ensemble import Integers
from monitor.reliability.plan import ALL_SITES, MODEL_QUANTILES, ReliabilityPlan, ValidationSite, map_samples
from monitor.reliability.site import SiteReliability

DECISION = "reliability_decision"
_CURVES = 2 * len(NAMES)  # columns: each value and its standard error
_NAMED = 6  # of the channels that a rig sends
_ROUNDING = 1e-3  # of a step or a sample
# s between two decisions that are reported; or this share of the ensemble's time, if that is less
_PAUSE, _SHARE = 1.0, 0.1


class ReliabilityMonitor:
    """Judge the channels of one stream.

    The values are computed at the ensembles' instants and held until the next one is due; after the last there are
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
        self._instants = map_samples(first, stream.sample_rate, plan.start, plan.shift)
        window = max(1, round(plan.window / first.dt))
        self._always_short = window - 1 > (self._instants.n_assessed - 1) * self._instants.steps
        self._sites = [SiteReliability(site.ensemble, site.tolerance, 1, window) for site in plan.sites]
        self._resolution = max(resolution_of(site.ensemble.n_realizations) for site in plan.sites)
        # instants from the first that is judged to the first decision, and samples between two that are reported
        some = _SHARE * float(first.time[-1] - first.time[0])
        self._undecided = ceil((some if plan.after is None else plan.after) / first.dt - _ROUNDING)
        self._pause = round(min(_PAUSE, some) * stream.sample_rate)
        self._first_judged: int | None = None
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
        if self._next is not None and len(self._instants.select(self._next, first - self._next)[0]):
            # an instant was due among the samples that are lost
            self._held[:] = np.nan
        self._next = first + n
        numbers, instants = self._instants.select(first, n)
        made = np.empty((len(numbers), len(self.columns)))
        if len(numbers):
            made[:] = self._judge(block.samples[numbers - first], instants)
            events += self._decide(made, numbers, instants, block)
        rows = np.arange(-(-first // every) * every, first + n, every)
        # the newest judgement at or before each row; where it came before the block, the one that is held
        newest = np.searchsorted(numbers, rows, side="right")
        known = np.vstack([self._held, made])
        values = known[newest]
        values[rows >= self._instants.end] = np.nan
        self._held = known[-1]
        if not self._ended and self._next > self._instants.end:
            self._ended = True
            end = f"the ensemble ends at {self._plan.sites[0].ensemble.time[-1]:g} s: nothing is judged beyond"
            events.append(_event(block, self._instants.end, end))
        return values, tuple(events)

    def _join(self, block: SignalBlock) -> list[Event]:
        """Return the notes when the stream starts."""
        instants, plan = self._instants, self._plan
        notes = list(plan.notes)
        if plan.shift:
            notes.append(f"the model's channels are read {plan.shift:g} s later, as set")
        if abs(instants.offset) > _ROUNDING * block.stream.dt:
            off = f"up to {abs(instants.offset):.3g} s {'before' if instants.offset > 0.0 else 'after'}"
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
            parts += [planned.quantiles[instants], _values(found)]
        if len(reliabilities) > 1:
            parts.append(_values(product_of_sites(reliabilities)))
        parts.append(np.full((len(instants), 1), np.nan))
        return np.concatenate(parts, axis=1)

    def _decide(self, made: Samples, numbers: Integers, instants: Integers, block: SignalBlock) -> list[Event]:
        """Write the decisions into `made`; return as events those that differ from the last one reported.

        Not more often than once a pause: near a limit a decision may change at every sample.
        """
        if not self._plan.limits:
            return []
        estimates = made[:, -1 - _CURVES : -1]
        judged = np.flatnonzero(~np.isnan(estimates[:, 0]))
        if self._first_judged is None and len(judged):
            self._first_judged = int(instants[judged[0]])
        decided = judged[instants[judged] >= (self._first_judged or 0) + self._undecided]
        found = decide_rows(estimates[decided], self._plan.limits, self._resolution)
        made[decided, -1] = found
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
            detail = f"{self.columns[-1].actuator}: {decision.verdict.name.lower()}: {decision.reason}"
            events.append(_event(block, number, detail, EventKind.DECISION))
        return events


def _event(block: SignalBlock, number: int, text: str, kind: EventKind = EventKind.NOTE) -> Event:
    return Event(kind, block.time + (number - block.index) * block.stream.dt, number, 0, text)


def _position(site: ValidationSite, stream: Stream) -> int:
    names = [channel.name for channel in stream.channels]
    if site.channel not in names:
        sent = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
        raise ValueError(f"there is no channel {site.channel!r} to judge: the rig sends {sent}")
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
