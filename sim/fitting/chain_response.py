"""The motion of a chain at sensors as a regression: any of its springs, dampers, friction or gap may be free."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sim.arrays import Samples
from sim.fitting.regression import Derivatives, Differentiated
from sim.laboratory.structure import sensor_indices
from sim.models.chain import Chain, ChainMotion, TooStiffError, chain_response

_ELEMENTS = {"m": "masses", "k": "springs", "c": "dampers", "alpha": "cubic", "friction": "friction"}
_OF_CONTACT = {"gap": "gap", "contact_stiffness": "stiffness", "contact_damping": "damping"}
_ANY_SIGN = ("alpha", "gap")
# of a parameter: steps of differences, of a motion that is integrated with this tolerance
_STEP, _TOLERANCE = 1e-5, 1e-9
# kg: less is no mass
_LEAST_MASS = 1e-9
# numbers of a motion that are in memory at a time
_AT_A_TIME = 8_000_000


@dataclass(frozen=True, eq=False)
class ChainResponse:
    """Time histories of a chain at some of its masses, all sensors of an instant beside each other.

    Sensitivities are exact, by a complex step, where the chain is linear; else differences, see `Derivatives`.

    Parameters
    ----------
    chain : what is not free is this chain's.
    load : (n_times, n) N at the samples, linear between them.
    dt : s between samples.
    free : m1.., k1.., c1.., alpha1.., friction1.. for one mass, spring, damper, cubic spring or friction, numbers
        from 1; without a number the same value for all; gap, contact_stiffness, contact_damping. k1 is the first of
        the chain's springs: to the ground where it is grounded, else between masses 1 and 2.
    sensors : numbers of masses, from 1.
    quantity : acceleration, velocity or displacement.
    lower, upper : (p,), or a number; by default what is no nonsense: masses positive, all but cubic springs and gap
        not negative.
    displacement0, velocity0 : (n,) m and m/s of all masses at first.
    tolerance : of the integration, see `chain_response`.

    Raises
    ------
    ValueError : there is no such parameter, sensor or quantity, or sizes do not fit.
    """

    chain: Chain
    load: ArrayLike
    dt: float
    free: Sequence[str]
    sensors: Sequence[int]
    quantity: str = "acceleration"
    # as arrays, once made
    lower: Any = None
    upper: Any = None
    displacement0: ArrayLike = 0.0
    velocity0: ArrayLike = 0.0
    tolerance: float = _TOLERANCE
    _regression: Differentiated = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.chain.sets:
            raise ValueError(f"chain response of a chain with leading axes {self.chain.sets}: give one chain")
        load = np.asarray(self.load, dtype=np.float64)
        if load.ndim != 2 or load.shape[1] != self.chain.dofs:
            raise ValueError(f"chain response load of shape {load.shape}: must be (n_times, {self.chain.dofs})")
        object.__setattr__(self, "load", load)
        if self.quantity not in ChainMotion._fields:
            raise ValueError(
                f"chain response quantity {self.quantity!r}: choose among {', '.join(ChainMotion._fields)}"
            )
        sensors = tuple((sensor_indices(self.sensors, self.chain.dofs, "masses") + 1).tolist())
        object.__setattr__(self, "sensors", sensors)
        free = (self.free,) if isinstance(self.free, str) else tuple(self.free)
        object.__setattr__(self, "free", free)
        taken = [place for name in free for place in self._places(name)]
        if len(set(taken)) < len(taken):
            raise ValueError(f"chain response free {', '.join(free)}: an element is in it twice")
        lower = np.array([_least(name) for name in free]) if self.lower is None else self.lower
        rough = any(name.startswith("friction") or name in _OF_CONTACT for name in free) or not self.chain.smooth
        how = Derivatives.PIECEWISE if rough else Derivatives.CENTRAL
        if self._is_linear:
            how = Derivatives.COMPLEX_STEP
        # bounds, and how to differentiate, are those of any function
        regression = Differentiated(
            self._response,
            free,
            lower,
            self.upper,
            how,
            step=None if self._is_linear else _STEP * self._scale(),
            vectorized=True,
        )
        object.__setattr__(self, "_regression", regression)
        object.__setattr__(self, "lower", regression.lower)
        object.__setattr__(self, "upper", regression.upper)

    @property
    def names(self) -> tuple[str, ...]:
        """Of what is free."""
        return tuple(self.free)

    @property
    def nominal(self) -> Samples:
        """(p,): values of the chain's own; of several at once their mean."""
        values = []
        for name in self.free:
            owner, element, index = self._place(name)
            value = np.atleast_1d(np.asarray(getattr(owner, element), dtype=np.float64))
            values.append(float(value.mean() if index is None else value[index]))
        return np.array(values)

    def at(self, parameters: Samples) -> Chain:
        """Return the chain of (p,), or the chains of (..., p), parameters."""
        parameters = np.asarray(parameters)
        values: dict[str, Any] = {}
        contact: dict[str, Any] = {}
        for name, value in zip(self.free, np.moveaxis(parameters, -1, 0), strict=True):
            _, element, index = self._place(name)
            if name in _OF_CONTACT:
                contact[element] = value
                continue
            if element not in values:
                own = np.asarray(getattr(self.chain, element))
                values[element] = np.array(np.broadcast_to(own, (*parameters.shape[:-1], own.shape[-1])), value.dtype)
            values[element][..., slice(None) if index is None else index] = (
                value[..., None] if index is None else value
            )
        if contact and self.chain.contact is not None:
            values["contact"] = replace(self.chain.contact, **contact)
        return replace(self.chain, **values)

    def evaluate(self, parameters: Samples) -> tuple[Samples, Samples]:
        """Return the histories, (m, n_times * sensors), and their derivatives; NaN of a motion that diverges."""
        return self._regression.evaluate(parameters)

    def histories(self, parameters: Samples) -> Samples:
        """Return the histories of (p,) parameters, (n_times, sensors), or of (m, p), (m, n_times, sensors)."""
        parameters = np.asarray(parameters, dtype=np.float64)
        found: Samples = self._response(np.atleast_2d(parameters))
        return found.reshape(*parameters.shape[:-1], len(np.asarray(self.load)), len(self.sensors))

    def _response(self, parameters: Any) -> Any:
        load = np.asarray(self.load)
        columns = [sensor - 1 for sensor in self.sensors]
        some = max(_AT_A_TIME // load.size, 1)
        found = [
            getattr(motion, self.quantity)[..., columns].reshape(-1, len(load) * len(columns))
            for first in range(0, len(parameters), some)
            for motion in self._motions(parameters[first : first + some])
        ]
        return np.concatenate(found)

    def _motions(self, parameters: Any) -> Iterator[ChainMotion]:
        try:
            yield self._motion(parameters)
        except TooStiffError:
            # a search rejects the step
            for each in parameters:
                try:
                    yield self._motion(each[None])
                except TooStiffError:
                    missing = np.full((1, *np.shape(self.load)), np.nan)
                    yield ChainMotion(missing, missing, missing)

    def _motion(self, parameters: Any) -> ChainMotion:
        start = self.displacement0, self.velocity0
        return chain_response(self.at(parameters), self.load, self.dt, *start, tolerance=self.tolerance)

    @property
    def _is_linear(self) -> bool:
        return self.chain.linear and all(_parted(name)[0] in ("m", "k", "c") for name in self.free)

    def _scale(self) -> Samples:
        """Return (p,): the size of each parameter, of one that is zero a size that would matter."""
        own = np.abs(self.nominal)
        if own.all():
            return own
        masses, springs = (float(np.mean(np.asarray(each))) for each in (self.chain.masses, self.chain.springs))
        linear = replace(self.chain, cubic=0.0, friction=0.0, contact=None)
        motion = chain_response(linear, self.load, self.dt, self.displacement0, self.velocity0)
        stretch = float(np.max(np.abs(motion.displacement @ linear.incidence().T))) or 1.0
        dashpot = 0.02 * (springs * masses) ** 0.5
        typical = {
            "m": masses,
            "k": springs,
            "c": dashpot,
            "alpha": springs / stretch**2,
            "friction": 0.01 * float(np.max(np.abs(self.load))),
            "gap": stretch,
            "contact_stiffness": springs,
            "contact_damping": dashpot,
        }
        sizes = np.array([typical[name.rstrip("0123456789")] or 1.0 for name in self.free])
        return np.where(own > 0.0, own, sizes)

    def _place(self, name: str) -> tuple[Any, str, int | None]:
        """Return what has the parameter, its field, and its index there; None for all."""
        if name in _OF_CONTACT:
            if self.chain.contact is None:
                raise ValueError(f"chain response free {name}: the chain has no contact")
            return self.chain.contact, _OF_CONTACT[name], None
        letter, number = _parted(name)
        element = _ELEMENTS[letter]
        size = np.shape(getattr(self.chain, element))[-1]
        if number is not None and not 1 <= number <= size:
            raise ValueError(f"chain response free {name}: the numbers of {element} are 1 to {size}")
        return self.chain, element, None if number is None else number - 1

    def _places(self, name: str) -> list[tuple[str, int]]:
        _, element, index = self._place(name)
        if name in _OF_CONTACT:
            return [(name, 0)]
        size = np.shape(getattr(self.chain, element))[-1]
        return [(element, i) for i in (range(size) if index is None else (index,))]


def _parted(name: str) -> tuple[str, int | None]:
    found = re.fullmatch(r"(m|k|c|alpha|friction)(\d+)?", name)
    if not found:
        raise ValueError(
            f"chain response free {name!r}: choose among m, k, c, alpha and friction, with or without a number, "
            f"{', '.join(_OF_CONTACT)}"
        )
    return found[1], int(found[2]) if found[2] else None


def _least(name: str) -> float:
    letter = name.rstrip("0123456789")
    return -np.inf if letter in _ANY_SIGN else _LEAST_MASS if letter == "m" else 0.0
