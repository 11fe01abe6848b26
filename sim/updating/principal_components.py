"""Principal component decomposition: singular values and vectors of a record, compared with those of a response."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment

from sim.arrays import Integers, Samples
from sim.updating.metric import sensor_record, sensor_response, thin_svd

# of the largest singular value: below, a triple is rounding
_RANK = 1e-12
# of the larger of two singular values of a record: closer ones are in a group
_SEPARATION = 0.02
# of a sum of squares of singular values: two closer ones of a response are the same, their rotation is left out
_EQUAL = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Triples:
    """Singular triples, or their errors.

    Parameters
    ----------
    sensors : (k, s), left vectors Phi_j, the shapes.
    values : (k,), sigma_j.
    instants : (k, n), right vectors Psi_j, the time histories of the shapes.
    """

    sensors: Samples
    values: Samples
    instants: Samples


@dataclass(frozen=True, eq=False)
class PrincipalComponents:
    """Singular triples of U = [u(t1) ... u(tn)], rows sensors (Hemez and Doebling, eq. 11 to 14, reconstructed).

    J = sum over the triples of the record of |Phi_t - Phi|^2 + ((sigma_t - sigma) / sigma_t)^2 + |Psi_t - Psi|^2; the
    vectors have unit length, so their errors are normalised. A triple of the response belongs to that of the record
    with which its |Phi_t' Phi| is largest, all together (an assignment), so that two of them may change their order
    on the way; both its vectors get the sign of Phi_t' Phi.

    Where two singular values of the record are nearly equal, a small error turns their vectors within their plane:
    each alone means nothing. Such triples are a group, and are compared as a space: with the group's part
    U_g = sum sigma_i Phi_i Psi_i' of the response, Phi_t is compared with its projection on the Phi_i, sigma_t with
    |U_g' Phi_t|, and Psi_t with sum Psi_i Phi_i' Phi_t. These do not change as the vectors turn, and with one triple
    they are the errors above to first order.

    A motion common to all sensors and the noise have triples of their own: choose the number accordingly.

    Parameters
    ----------
    record : (n, s), instants by sensors: U'.
    count : number of triples; None: as many as `energy` requires.
    energy : share of the sum of squares that the triples contain at least.
    weights : of the errors of Phi, sigma and Psi.

    Raises
    ------
    ValueError : there are fewer triples than wanted, the record is zero, or a number is out of range.
    """

    record: ArrayLike
    count: int | None = None
    energy: float = 0.999
    weights: tuple[float, float, float] = (1.0, 1.0, 1.0)
    shape: tuple[int, int] = field(init=False)
    observed: Samples = field(init=False)
    triples: Triples = field(init=False)
    groups: tuple[tuple[int, ...], ...] = field(init=False)
    _weights: Samples = field(init=False)

    def __post_init__(self) -> None:
        samples = sensor_record(self.record, "principal components: record")
        if not 0.0 < self.energy <= 1.0:
            raise ValueError(f"principal components: energy {self.energy} must be in (0, 1]")
        weights = np.asarray(self.weights, dtype=np.float64)
        if weights.shape != (3,) or not np.all(np.isfinite(weights) & (weights >= 0.0)) or not weights.any():
            raise ValueError(f"principal components weights {self.weights}: give three, none negative, not all zero")
        instants, values, sensors = thin_svd(samples)
        k = self._number(values)
        values = values[:k]
        triples = Triples(sensors[:k], values, instants[:, :k].T)
        apart = (values[:-1] - values[1:]) >= _SEPARATION * values[:-1]
        groups = np.split(np.arange(k), np.flatnonzero(apart) + 1)
        for name, value in (
            ("shape", samples.shape),
            ("triples", triples),
            ("groups", tuple(tuple(group.tolist()) for group in groups)),
            ("_weights", weights),
        ):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "observed", self._joined(Triples(triples.sensors, np.ones(k), triples.instants)))

    def features(self, response: Samples, sensitivities: Samples) -> tuple[Samples, Samples]:
        """Return (m, k) features and (m, k, p) of their derivatives: all Phi, then sigma / sigma_t, then all Psi.

        Derivatives are exact. With X = Phi' dU Psi, d sigma_j = X_jj, and the component of d Phi_j along Phi_i is
        (sigma_j X_ij + sigma_i X_ji) / (sigma_j^2 - sigma_i^2), of d Psi_j along Psi_i the same with sigma_i and
        sigma_j of the numerator exchanged; beyond the spaces of all vectors they are (I - Phi Phi') dU Psi_j
        / sigma_j and (I - Psi Psi') dU' Phi_j / sigma_j. A response that is not finite, or that lacks one of the
        triples, has NaN.
        """
        samples, p = sensor_response(response, self.shape, "principal components"), sensitivities.shape[-1]
        found = np.full((len(samples), self.observed.size), np.nan)
        derivatives = np.full((*found.shape, p), np.nan)
        for m in np.flatnonzero(np.isfinite(samples).all(axis=(1, 2))).tolist():
            with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
                values, slopes = self._compared(samples[m], sensitivities[m])
            found[m], derivatives[m] = self._joined(values), self._joined(slopes)
        return found, derivatives

    def _number(self, values: Samples) -> int:
        if values[0] == 0.0:
            raise ValueError("principal components: the record is zero everywhere: its sensors see nothing")
        rank = int(np.sum(values > _RANK * values[0]))
        if self.count is None:
            shares = np.cumsum(values**2) / np.sum(values**2)
            return min(1 + int(np.sum(shares < self.energy * (1.0 - 1e-12))), rank)
        if not 1 <= self.count <= rank or int(self.count) != self.count:
            raise ValueError(
                f"principal components count {self.count}: the record has {rank} singular triples, give 1 to {rank}"
            )
        return int(self.count)

    def _joined(self, triples: Triples) -> Samples:
        """Return weighted features, (f,), of triples, or their derivatives, (f, p)."""
        return np.concatenate(
            [
                np.reshape(weight * part, (math.prod(part.shape[:rank]), *part.shape[rank:]))
                for weight, part, rank in zip(
                    self._weights, (triples.sensors, triples.values, triples.instants), (2, 1, 2), strict=True
                )
            ]
        )

    def _compared(self, response: Samples, sensitivities: Samples) -> tuple[Triples, Triples]:
        """Return what is compared with the triples of the record, values relative to theirs, and its derivatives."""
        found, wanted = _Decomposition.of(response, sensitivities, self.triples.sensors), self.triples
        each = [
            found.single(group[0], wanted.sensors[group[0]])
            if len(group) == 1
            else found.space(group, wanted.sensors[j])
            for group in self.groups
            for j in group
        ]
        joined = [
            Triples(*(np.array(part) for part in zip(*parts, strict=True))) for parts in zip(*each, strict=True)
        ]
        values, slopes = joined
        return (
            Triples(values.sensors, values.values / wanted.values, values.instants),
            Triples(slopes.sensors, slopes.values / wanted.values[:, None], slopes.instants),
        )


_Compared = tuple[tuple[Samples, Samples, Samples], tuple[Samples, Samples, Samples]]


@dataclass(frozen=True, slots=True, eq=False)
class _Decomposition:
    """Singular triples of a response, q of them, and the derivatives of the k that belong to those of a record.

    Parameters
    ----------
    sensors, values, instants : (q, s), (q,), (q, n).
    chosen : (k,), indices of the k.
    inner : (q, q, p), Phi_i' dU Psi_j.
    turned, delayed : (q, k, p), components of d Phi_j and d Psi_j along all Phi_i and Psi_i.
    outside, outside_delayed : (k, s, p) and (k, n, p), what is beyond their spaces.
    """

    sensors: Samples
    values: Samples
    instants: Samples
    chosen: Integers
    inner: Samples
    turned: Samples
    delayed: Samples
    outside: Samples
    outside_delayed: Samples

    @classmethod
    def of(cls, response: Samples, sensitivities: Samples, wanted: Samples) -> _Decomposition:
        """Decompose a response, (n, s), for the left vectors of a record, (k, s)."""
        instants, values, sensors = thin_svd(response)
        instants = instants.T
        _, chosen = linear_sum_assignment(-np.abs(wanted @ sensors.T))
        own = np.where(values[chosen] > _RANK * values[0], values[chosen], np.nan)
        along, across = np.tensordot(instants, sensitivities, 1), np.einsum("nsp,is->inp", sensitivities, sensors)
        inner = np.einsum("is,jsp->ijp", sensors, along)
        column, row = inner[:, chosen], inner[chosen].transpose(1, 0, 2)
        square = own**2 - values[:, None] ** 2
        apart = np.abs(square) > _EQUAL * values[0] ** 2
        inverse = np.divide(1.0, square, out=np.zeros_like(square), where=apart)[..., None]
        mine, theirs = own[:, None], values[:, None, None]
        return cls(
            sensors,
            np.where(np.isin(np.arange(len(values)), chosen) & ~(values > _RANK * values[0]), np.nan, values),
            instants,
            chosen,
            inner,
            (mine * column + theirs * row) * inverse,
            (theirs * column + mine * row) * inverse,
            (along[chosen] - np.einsum("is,ijp->jsp", sensors, column)) / mine[..., None],
            (across[chosen] - np.einsum("in,ijp->jnp", instants, row)) / mine[..., None],
        )

    def single(self, j: int, wanted: Samples) -> _Compared:
        """Return Phi, sigma and Psi of triple j with the sign of wanted' Phi, and their derivatives."""
        i = self.chosen[j]
        sign = 1.0 if wanted @ self.sensors[i] >= 0.0 else -1.0
        turned = np.tensordot(self.sensors, self.turned[:, j], (0, 0)) + self.outside[j]
        delayed = np.tensordot(self.instants, self.delayed[:, j], (0, 0)) + self.outside_delayed[j]
        return (
            (sign * self.sensors[i], self.values[i], sign * self.instants[i]),
            (sign * turned, self.inner[i, i], sign * delayed),
        )

    def space(self, group: tuple[int, ...], wanted: Samples) -> _Compared:
        """Return the projection, the size and the time history of a vector of the record in the space of a group."""
        members, places = self.chosen[list(group)], list(group)
        left, size, right = self.sensors[members], self.values[members], self.instants[members]
        # rotations within the space are left out here, and below what remains of them
        turned, delayed = self.turned[:, places].copy(), self.delayed[:, places].copy()
        turned[members], delayed[members] = 0.0, 0.0
        d_left = np.einsum("is,ijp->jsp", self.sensors, turned) + self.outside[places]
        d_right = np.einsum("in,ijp->jnp", self.instants, delayed) + self.outside_delayed[places]
        inner = self.inner[np.ix_(members, members)]
        share = left @ wanted
        d_share = np.einsum("jsp,s->jp", d_left, wanted)
        length = np.sqrt(np.sum((size * share) ** 2))
        stretched = np.einsum("k,kip,i,i->p", share, inner, size, share)
        skew = (inner.transpose(1, 0, 2) - inner) / (size[:, None] + size)[..., None]
        return (
            (share @ left, length, share @ right),
            (
                np.einsum("jsp,j->sp", d_left, share) + np.einsum("js,jp->sp", left, d_share),
                (stretched + np.einsum("j,j,jp->p", size**2, share, d_share)) / length,
                np.einsum("jnp,j->np", d_right, share)
                + np.einsum("jn,jp->np", right, d_share)
                + np.einsum("kn,kip,i->np", right, skew, share),
            ),
        )
