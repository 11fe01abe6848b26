"""Records of structures that a model misses a force of, whose truth is known: simulated in steps of 50 µs."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numba import njit

from monitor.messages.blocks import Channel, Role, Samples, Stream
from replay.formats import ArrayRecording
from replay.identification.force_model import ForceModel

RATE, DURATION = 50.0, 12.0
# s, a step of the simulation, and m/s: within this rate friction is a slope
_STEP, _SMOOTH = 5e-5, 2e-4
# rms, N, and Hz of the sines that drive the last mass
_LOAD, _LOWEST, _HIGHEST, _SINES = 10.0, 0.2, 3.0, 30


@dataclass(frozen=True)
class Case:
    """One kind of record: a chain of masses of which the first mode has 1 Hz and 2 % damping.

    Parameters
    ----------
    kind : what is missing at the first mass: `cubic`, `friction`, `plastic`, `hysteretic` or `nothing`.
    law : the law that is right, as in its terms; "" for none.
    coefficients : of the law, as far as the simulation has them.
    masses : of the chain, 1 kg each.
    sensors : (dof, quantity).
    noise : of each sensor, over its rms.
    kept : share of the samples that are kept, at random.
    factors : of the model's mass, damping and stiffness at the first mass, over the true ones.
    rate : of the record, Hz.
    """

    kind: str
    law: str
    coefficients: tuple[float, ...] = ()
    masses: int = 1
    sensors: tuple[tuple[int, str], ...] = ((1, "displacement"), (1, "acceleration"))
    noise: float = 0.05
    kept: float = 1.0
    factors: tuple[float, float, float] = (1.0, 1.0, 1.0)
    rate: float = RATE


_ACCELERATION = ((1, "acceleration"),)
_FAR = ((3, "displacement"),)
_HYSTERETIC = "Bouc-Wen 2, Bouc-Wen 2 yield"
CASES = {
    "a cubic spring": Case("cubic", "x^3", (20.0,)),
    "friction": Case("friction", "sign v", (4.0,)),
    "an elastoplastic element": Case("plastic", "Bouc-Wen 8, Bouc-Wen 8 yield", (25.0, 0.25)),
    "a Bouc-Wen element": Case("hysteretic", _HYSTERETIC, (25.0, 0.25)),
    "friction, accelerations only": Case("friction", "sign v", (4.0,), sensors=_ACCELERATION),
    "Bouc-Wen, one displacement far away": Case("hysteretic", _HYSTERETIC, (100.0, 0.15), 3, _FAR),
    "Bouc-Wen, 30 % noise": Case("hysteretic", _HYSTERETIC, (25.0, 0.25), noise=0.3),
    "nothing": Case("nothing", ""),
    "a cubic spring, mass 10 % too large": Case("cubic", "a, x^3", (-0.1, 20.0), factors=(1.1, 1.0, 1.0)),
    "stiffness 10 % too large": Case("nothing", "x", (-0.1 * (2.0 * np.pi) ** 2,), factors=(1.0, 1.0, 1.1)),
    "damping 50 % too large": Case("nothing", "v", (-0.02 * 2.0 * np.pi,), factors=(1.0, 1.5, 1.0)),
    "Bouc-Wen, a quarter of 2401 instants": Case("hysteretic", _HYSTERETIC, (25.0, 0.25), kept=0.25, rate=200.0),
}


@dataclass(frozen=True, eq=False)
class KnownForce:
    """A record, its model, and the force that this model is missing, (N,) N."""

    recording: ArrayRecording
    model: ForceModel
    force: Samples = field(repr=False)


def known_force(case: Case, seed: int) -> KnownForce:
    """Return the record of one seed."""
    rng, n = np.random.default_rng(seed), case.masses
    time = np.arange(round(DURATION * case.rate) + 1) / case.rate
    rate, phase = 2.0 * np.pi * rng.uniform(_LOWEST, _HIGHEST, _SINES), rng.uniform(0.0, 2.0 * np.pi, _SINES)
    load = _LOAD * np.sqrt(2.0 / _SINES) * np.cos(np.outer(time, rate) + phase).sum(axis=1)
    shape = 2.0 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
    shape[-1, -1] = 1.0
    first = (2.0 * np.pi) ** 2
    stiffness = first / float(np.linalg.eigvalsh(shape)[0]) * shape
    damping = 0.04 / np.sqrt(first) * stiffness
    kind = ("nothing", "cubic", "friction", "plastic", "hysteretic").index(case.kind)
    of_law = case.coefficients[-2:] if kind > 2 else (*case.coefficients[-1:], 0.0) if kind else (0.0, 0.0)
    x, v, a, force = (np.empty((len(time), n)) for _ in range(4))
    _simulate(kind, np.array(of_law), damping, stiffness, load, 1.0 / case.rate, x, v, a, force[:, 0])
    motion = {"displacement": x, "velocity": v, "acceleration": a}
    true = np.column_stack([motion[quantity][:, dof - 1] for dof, quantity in case.sensors])
    observed = true + case.noise * np.sqrt(np.mean(true**2, axis=0)) * rng.standard_normal(true.shape)
    observed[rng.uniform(size=len(time)) > case.kept] = np.nan
    missing, model = force[:, 0].copy(), [np.eye(n), damping.copy(), stiffness.copy()]
    for matrix, factor, along in zip(model, case.factors, (a, v, x), strict=True):
        missing += (1.0 - factor) * matrix[0, 0] * along[:, 0]
        matrix[0, 0] *= factor
    names = [f"sensor {i}" for i in range(true.shape[1])]
    units = {"displacement": "m", "velocity": "m/s", "acceleration": "m/s2"}
    channels = [
        Channel(name, Role.AUXILIARY, units[quantity])
        for name, (_, quantity) in zip(names, case.sensors, strict=True)
    ]
    stream = Stream("known", 0, case.rate, (*channels, Channel("load", Role.AUXILIARY, "N")))
    document = {
        **dict(zip(("mass", "damping", "stiffness"), (each.tolist() for each in model), strict=True)),
        "sensor": [
            {"channel": name, "dof": dof, "quantity": quantity}
            for name, (dof, quantity) in zip(names, case.sensors, strict=True)
        ],
        "load": [{"channel": "load", "dof": n}],
        "missing": [{"dof": 1}],
    }
    recording = ArrayRecording(stream, np.column_stack([observed, load]))
    return KnownForce(recording, ForceModel.model_validate(document), missing)


@njit(cache=True)
def _simulate(kind, of_law, damping, stiffness, load, dt, x, v, a, force) -> None:  # type: ignore[no-untyped-def]
    """Fill displacements, velocities and accelerations, (N, n), and the force at the first mass, (N,)."""
    (count, n), pieces = x.shape, round(dt / _STEP)
    y, rates, moved, step = np.zeros(2 * n + 1), np.empty((4, 2 * n + 1)), np.empty(2 * n + 1), dt / pieces
    for i in range(count):
        x[i], v[i] = y[:n], y[n : 2 * n]
        force[i] = _rates(kind, of_law, damping, stiffness, load[i], y, rates[0])
        a[i] = rates[0, n : 2 * n]
        if i + 1 == count:
            break
        for s in range(pieces):
            for stage in range(4):
                share = (0.0, 0.5, 0.5, 1.0)[stage]
                moved[:] = y + share * step * rates[max(stage - 1, 0)]
                pull = load[i] + (load[i + 1] - load[i]) * (s + share) / pieces
                _rates(kind, of_law, damping, stiffness, pull, moved, rates[stage])
            y += step / 6.0 * (rates[0] + 2.0 * rates[1] + 2.0 * rates[2] + rates[3])
            if kind == 3:
                y[2 * n] = min(max(y[2 * n], -of_law[1]), of_law[1])


@njit(cache=True)
def _rates(kind, of_law, damping, stiffness, load, y, rates):  # type: ignore[no-untyped-def]
    n = len(damping)
    x, v, h = y[0], y[n], y[2 * n]
    force, yields = 0.0, 0.0
    if kind == 1:
        force = of_law[0] * x**3
    elif kind == 2:
        force = of_law[0] * np.tanh(v / _SMOOTH)
    elif kind > 2:
        force = of_law[0] * h
        if v * h > 0.0:
            yields = (h / of_law[1]) ** 2 if kind == 4 else 1.0 * (abs(h) >= of_law[1])
    rates[2 * n] = v * (1.0 - yields)
    for j in range(n):
        rates[j] = y[n + j]
        pull = load if j == n - 1 else 0.0
        for k in range(n):
            pull -= damping[j, k] * y[n + k] + stiffness[j, k] * y[k]
        rates[n + j] = pull - (force if j == 0 else 0.0)
    return force
