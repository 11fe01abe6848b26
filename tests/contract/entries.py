"""The one list that every contract runs over: a new indicator in the catalogue is in it by itself."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from monitor.catalogue import CATALOGUE
from monitor.config import IndicatorSettings, Measure
from monitor.indicators.base import WindowedIndicator
from monitor.indicators.tracking_pass import create_indicators
from tests.oracles.tones import Tones

RATE = 100.0
N_WINDOW = 50
FREQUENCY = 6.3
STIFFNESS = 3.0


class Entry(NamedTuple):
    """One indicator of the catalogue with one set of settings."""

    measure: Measure
    name: str
    settings: dict[str, Any]
    n_pairs: int = 1

    def make(self, *, n_pairs: int | None = None, **changes: Any) -> WindowedIndicator[Any]:
        """Return a new indicator, with other settings where `changes` says so."""
        given = {"window": N_WINDOW / RATE, "measures": (self.measure,), **self.settings, **changes}
        settings = IndicatorSettings(**given)
        (indicator,) = create_indicators(settings, RATE, n_pairs or self.n_pairs, with_force=True)
        return indicator

    @property
    def unused(self) -> WindowedIndicator[Any]:
        """One that is only asked for what never changes."""
        return _unused(self.name)

    @property
    def every(self) -> int:
        return int(self.settings.get("every", 1))

    @property
    def hop(self) -> int:
        """Samples for which a value may be an old one."""
        return self.unused.hop + getattr(self.unused, "latency", 0)

    @property
    def fills_early(self) -> bool:
        """Whether values may come before the window is full."""
        return getattr(self.unused, "fills_early", False)

    @property
    def settling(self) -> int:
        """Samples in which the window's length is found again after a burst."""
        return N_WINDOW // 2 if self.fills_early else 0

    @property
    def outputs(self):
        """Name, unit and column of every output."""
        return [(o.name, o.unit, j) for j, o in enumerate(self.unused.outputs)]

    def column(self, name):
        """Return the column of an output."""
        return [o.name for o in self.unused.outputs].index(name)

    def run(self, x_c, x_m, **changes):
        """Return the rows of a new indicator over whole signals, (n_rows, n_pairs, n_outputs)."""
        indicator = self.make(**changes)
        return rows_of(indicator, x_c, x_m)

    def run_once(self, signals, n):
        """Return the rows over `signals(n, n_pairs)`, which many examples of a test are compared with; read-only."""
        return _rows_once(self.name, signals, n)


@cache
def _unused(name: str) -> WindowedIndicator[Any]:
    return BY_NAME[name].make()


@cache
def _rows_once(name, signals, n):
    entry = BY_NAME[name]
    rows = entry.run(*signals(n, entry.n_pairs))
    rows.setflags(write=False)
    return rows


def rows_of(indicator, x_c, x_m, **keywords):
    """Update with (n, n_pairs) signals and return (n_rows, n_pairs, n_outputs)."""
    x_c, x_m = (np.asarray(x).reshape(len(x), indicator.n_pairs) for x in (x_c, x_m))
    # an elastic specimen, where a force is needed
    force = (STIFFNESS * x_m.astype(np.float64),) if indicator.needs_force else ()
    rows = indicator.update_block(x_c, x_m, *force, **keywords)
    return rows.reshape(len(rows), indicator.n_pairs, len(indicator.outputs))


def _entries():
    default = IndicatorSettings().measures
    kinds = {}
    for measure in (each for each, entry in CATALOGUE.items() if entry.indicator and each in default):
        kinds[type(Entry(measure, "", {}).make()).__name__] = measure
    # nothing of the catalogue is left out
    assert list(kinds) == [
        type(each).__name__ for each in create_indicators(IndicatorSettings(), RATE, 1, with_force=True)
    ]
    for name, measure in kinds.items():
        yield Entry(measure, name, {})
    frequency_domain = kinds["FrequencyDomainIndicator"]
    yield Entry(frequency_domain, "own peaks", {"peak": "own"})
    yield Entry(frequency_domain, "uncorrected", {"image_correction": False})
    for taper in ("hamming", "blackman", "rectangular"):
        yield Entry(frequency_domain, taper, {"taper": taper})
    yield Entry(kinds["PhaseAmplitudeIndices"], "equation 1", {"noise_correction": False})
    yield Entry(kinds["AdaptivePhaseAmplitudeIndices"], "adaptive equation 1", {"noise_correction": False})
    yield Entry(kinds["SpecimenIndicator"], "yielding", {"yield_displacement": 0.5})
    for name, measure in kinds.items():
        yield Entry(measure, f"{name} every 3", {"every": 3})
        yield Entry(measure, f"{name} 3 pairs", {}, n_pairs=3)


ENTRIES = list(_entries())
BY_NAME = {entry.name: entry for entry in ENTRIES}


def tones(n, n_pairs=1, **changes):
    """Return clean command and measured, (n, n_pairs) each, with another gain and phase for every pair."""
    pairs = [
        Tones(
            FREQUENCY,
            **{"gain": 0.9 + 0.15 * p, "phase": 0.2 - 0.3 * p, "offset_c": 0.3, "offset_m": -0.1, **changes},
        ).signals(n, RATE)
        for p in range(n_pairs)
    ]
    return tuple(np.stack(x, axis=1) for x in zip(*pairs, strict=True))


def noisy(n, n_pairs=1, seed=0, noise=0.02):
    """Return `tones` in noise."""
    rng = np.random.default_rng(seed)
    return tuple(x + noise * rng.normal(size=x.shape) for x in tones(n, n_pairs))
