"""The model of the slab against its experiments: four configurations, and one more at three depths."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from monitor.messages.blocks import Samples
from monitor.reliability.curves import Reliability
from monitor.reliability.ensemble import Ensemble, sort_ensemble
from monitor.reliability.several_sites import JointReliability, product
from monitor.reliability.site import SiteReliability
from monitor.reliability.tolerance import Policy, of_records
from replay.studies.thermal.many_specimens import temperatures
from sim.models.thermal_population import Conductivity, Specimens
from sim.models.thermal_tables import (
    ACCREDITATION,
    DEPTHS,
    MeasuredRuns,
    accreditation_runs,
    configurations,
    validation_runs,
)

# the model of the challenge, and what it leaves out
JUDGED = (Conductivity.CONSTANT, Conductivity.TEMPERATURE_DEPENDENT)
TOLERANCES = (0.05, 0.1, 0.15)
PRODUCT, JOINT = "product", "joint"


@dataclass(frozen=True, slots=True, eq=False)
class Judgement:
    """How probable it is that the model describes the experiments, at one tolerance.

    Parameters
    ----------
    tolerance : share of the measured temperature in degC.
    sites : by configuration or by depth.
    product, joint : at all sites, as if they knew nothing of each other, and of specimens that are the same at all.
    """

    tolerance: float
    sites: Mapping[str, Reliability]
    product: Reliability
    joint: Reliability

    @property
    def all(self) -> dict[str, Reliability]:
        """The sites, and both ways of taking them together."""
        return {**self.sites, PRODUCT: self.product, JOINT: self.joint}


@dataclass(frozen=True, slots=True, eq=False)
class Sites:
    """Records, and what the model says of the same specimens at each of them.

    Parameters
    ----------
    ensembles : by configuration or by depth, without time zero, where every specimen has the same temperature.
    runs : the same, with time zero.
    """

    ensembles: Mapping[str, Ensemble]
    runs: Mapping[str, MeasuredRuns]

    def judge(self, tolerance: float) -> Judgement:
        """Return the reliabilities with a share of the measured temperature in degC as tolerance."""
        measured = {name: np.ascontiguousarray(runs.temperature[1:]) for name, runs in self.runs.items()}
        eps = {name: of_records(Policy.LITERAL, tolerance, each) for name, each in measured.items()}
        instants = np.arange(len(next(iter(measured.values()))))
        sites = {
            name: SiteReliability(ensemble, eps[name], measured[name].shape[1]).update(instants, measured[name])
            for name, ensemble in self.ensembles.items()
        }
        reliabilities = {name: found.reliability for name, found in sites.items()}
        numbers = [each.shape[1] for each in measured.values()]
        joint = JointReliability(list(self.ensembles.values()), list(eps.values()), numbers)
        together = joint.update(instants, list(measured.values()))
        return Judgement(tolerance, reliabilities, product(list(reliabilities.values())), together)

    def share_cooler(self) -> dict[str, Samples]:
        """Return what share of the specimens is cooler than each experiment at its last instant, (n_experiments,)."""
        return {
            name: np.mean(ensemble.response[-1][:, None] < self.runs[name].temperature[-1], axis=0)
            for name, ensemble in self.ensembles.items()
        }


def validation_sites(level: str, specimens: Specimens) -> Sites:
    """Return the four configurations of Table 5 with the experiments that a level has."""
    runs, tests = validation_runs(level), configurations()
    ensembles = {}
    for name, each in runs.items():
        found = temperatures(tests[name], each.time[1:], specimens)
        ensembles[name] = _ensemble(each.time[1:], found[:, 0], f"configuration {name}")
    return Sites(ensembles, runs)


def accreditation_sites(level: str, specimens: Specimens) -> Sites:
    """Return the three depths of Table 8 with the experiments that a level has."""
    runs, test = accreditation_runs(level), configurations()[ACCREDITATION]
    time = runs["front"].time[1:]
    found = temperatures(test, time, specimens, tuple(DEPTHS.values()))
    ensembles = {name: _ensemble(time, found[:, column], name) for column, name in enumerate(DEPTHS)}
    return Sites(ensembles, runs)


def _ensemble(time: Samples, temperature: Samples, name: str) -> Ensemble:
    return sort_ensemble(time, np.ascontiguousarray(temperature), "degC", name)
