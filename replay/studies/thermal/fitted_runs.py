"""The specimen that each measured run shows: its properties by least squares, with and without a slope in k."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from monitor.messages.blocks import Samples
from replay.ensembles.simulated import Progress, silent
from replay.studies.thermal.validation import JUDGED
from sim.identification.fit import fit
from sim.identification.slab_response import SlabResponse
from sim.models.thermal_population import Conductivity, characterize
from sim.models.thermal_slab import SlabTest
from sim.models.thermal_tables import LEVELS, configurations, material, validation_runs


@dataclass(frozen=True, slots=True)
class FittedRun:
    """The specimen that a record fits best.

    The standard errors take what is left for independent errors. The records have no noise: what is left is what the
    model misses, and hangs together, so that they are only of the right size.

    Parameters
    ----------
    conductivity, conductivity_standard_error : W/(m K), at 0 degC.
    slope : W/(m K^2), which was given.
    heat_capacity, heat_capacity_standard_error : J/(m^3 K).
    rms : degC, what is left of the record after time zero.
    converged : whether the search came to an end.
    """

    conductivity: float
    conductivity_standard_error: float
    slope: float
    heat_capacity: float
    heat_capacity_standard_error: float
    rms: float
    converged: bool


RunFits = Mapping[Conductivity, Mapping[str, tuple[FittedRun, ...]]]


def fit_run(test: SlabTest, time: Samples, temperature: Samples, start: Samples, slope: float) -> FittedRun:
    """Find the specimen of a record of its front.

    Parameters
    ----------
    test : what was done to it.
    time, temperature : (n_times,), s and degC; the first instant, time zero, tells nothing and is left out.
    start : (2,), conductivity at 0 degC and heat capacity to begin with.
    slope : of the conductivity, W/(m K^2); 0: constant properties.

    Raises
    ------
    ValueError : see `fit` and `conduction_temperature`.
    """
    found = fit(SlabResponse(test, time[1:], slope), temperature[1:], start)
    (k, capacity), (of_k, of_capacity) = found.parameters.tolist(), found.standard_errors.tolist()
    rms = float(np.sqrt(np.mean(found.residuals**2)))
    return FittedRun(k, of_k, slope, capacity, of_capacity, rms, found.converged)


def fit_all_runs(progress: Progress = silent) -> dict[Conductivity, dict[str, tuple[FittedRun, ...]]]:
    """Fit each of the sixteen runs by a specimen of its own; the slope of k is none, or that of High."""
    known = characterize(material(LEVELS[-1]))
    runs, tests = validation_runs(), configurations()
    total = len(JUDGED) * sum(each.temperature.shape[1] for each in runs.values())
    found: dict[Conductivity, dict[str, tuple[FittedRun, ...]]] = {}
    done = 0
    for which in JUDGED:
        line = known.constant if which is Conductivity.CONSTANT else known.line
        start = np.array([line.at(0.0), known.capacity.at(0.0)])
        found[which] = {}
        for name, each in runs.items():
            fitted = []
            for temperature in each.temperature.T:
                fitted.append(fit_run(tests[name], each.time, temperature, start, line.slope))
                done += 1
                progress("runs fitted", done, total)
            found[which][name] = tuple(fitted)
    return found
