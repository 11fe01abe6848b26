"""Terms of force laws: products of powers of stretch and rate and of their signs, mass, and Bouc and Wen's."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sim.arrays import Flags, Integers, Samples
from sim.kernels import inlined, kernel, part

# of the rms rate: within it the sign of the recovered rate is a tanh; in the motion of a model it jumps
SIGN_WIDTH = 0.01
_FACTOR = re.compile(r"(?:\|([xv])\||([xv]))(?:\^(\d))?")
_HYSTERETIC = re.compile(r"Bouc-Wen(?: ([1-9]\d?))?")
_WRONG = "law term {!r}: give constant, powers of x and v, such as x^3, |x|x, v|v|, sign v, x^2 v, a, or Bouc-Wen 2"


@dataclass(frozen=True, slots=True)
class Term:
    """|x|^p sign(x)^i |v|^q sign(v)^j, where x [m] is the stretch at a force and v [m/s] its rate.

    Or h [m] of Bouc and Wen's spring, h' = v (1 - |h / y|^n) where v h > 0, else v: as stiff as its coefficient until
    it yields. Its y [m] is the coefficient of a term that follows it and is no force. Or the acceleration, a [m/s^2].

    Parameters
    ----------
    name : as in `term`.
    x_power, v_power : p and q, zero or more.
    x_odd, v_odd : i and j: whether the sign of x or v has a part.
    exponent : n of h, 1 or more; -1: y; -2: a; 0: none of these.
    """

    name: str
    x_power: int = 0
    x_odd: bool = False
    v_power: int = 0
    v_odd: bool = False
    exponent: int = 0

    @property
    def unit(self) -> str:
        """Of its coefficient."""
        if self.exponent:
            return {-1: "m", -2: "kg"}.get(self.exponent, "N/m")
        powers = [
            f"{name}^{power}" if power > 1 else name
            for name, power in (("m", self.x_power), ("(m/s)", self.v_power))
            if power
        ]
        return "N/" + " ".join(powers) if powers else "N"

    def of(self, x: Samples, v: Samples, width: float) -> Samples:
        """Return the term where the sign of v is tanh(v / width)."""
        result = np.abs(x) ** self.x_power * np.abs(v) ** self.v_power
        if self.x_odd:
            result = result * np.sign(x)
        if self.v_odd:
            # a power makes it smooth already
            result = result * (np.sign(v) if self.v_power else np.tanh(v / width))
        return np.asarray(result)


def term(name: str) -> Term:
    """Return the term of a name: constant, x, x^3, |x|x, v, v|v|, sign v, x^2 v and products of these; a; Bouc-Wen 2.

    Raises
    ------
    ValueError : it is no such term.
    """
    if name in ("constant", "a"):
        return Term(name, exponent=-2 * (name == "a"))
    if hysteretic := _HYSTERETIC.fullmatch(name):
        return Term(name, exponent=int(hysteretic[1] or 2))
    rest = name.replace("sign v", "s").replace("sign x", "t").replace(" ", "").replace("*", "")
    powers, odd = {"x": 0, "v": 0}, {"x": False, "v": False}
    while rest:
        if rest[0] in "st":
            odd["v" if rest[0] == "s" else "x"] ^= True
            rest = rest[1:]
            continue
        found = _FACTOR.match(rest)
        if not found:
            raise ValueError(_WRONG.format(name))
        power, of = int(found[3] or 1), found[1] or found[2]
        powers[of] += power
        odd[of] ^= found[1] is None and power % 2 == 1
        rest = rest[found.end() :]
    if not any(powers.values()) and not any(odd.values()):
        raise ValueError(_WRONG.format(name))
    return Term(name, powers["x"], odd["x"], powers["v"], odd["v"])


# candidates: masses and springs that are wrong, springs that harden or differ by side, dampers, friction, a preload
DICTIONARY = tuple(
    term(name) for name in ("constant", "x", "|x|x", "x^2", "x^3", "x^5", "v", "v|v|", "v^3", "sign v", "x^2 v", "a")
)


# of elements that yield: softly, as most do, sharply
HYSTERETIC = tuple(term(f"Bouc-Wen {exponent}") for exponent in (1, 2, 8))


def terms(names: Sequence[str | Term]) -> tuple[Term, ...]:
    """Return terms of names, or themselves; after one with memory that of its yield displacement.

    Raises
    ------
    ValueError : a name is no term, one is given twice, or there are two with memory.
    """
    found: list[Term] = []
    for each in names:
        one = each if isinstance(each, Term) else term(each)
        if one.exponent != -1:
            found.append(one)
        if one.exponent > 0:
            found.append(Term(f"{one.name} yield", exponent=-1))
    if len({(each.x_power, each.x_odd, each.v_power, each.v_odd, min(each.exponent, 1)) for each in found}) < len(
        found
    ):
        raise ValueError(f"law terms {', '.join(each.name for each in found)}: give each once, and one Bouc-Wen")
    return tuple(found)


def has_memory(law: Sequence[Term]) -> bool:
    """Return whether a law has a term of Bouc and Wen."""
    return any(each.exponent > 0 for each in law)


class Model(NamedTuple):
    """A structure of n degrees of freedom with laws of k terms for f forces, and the coefficients of these.

    Parameters
    ----------
    system : (2 n, 2 n).
    unknown : (n, f), accelerations by forces, minus included.
    places : (n, f).
    shape, at : (k, 5), powers and signs of each term, and the exponent of Bouc and Wen, of which the next row is the
        yield displacement (-1), else 0, or -2 of an acceleration; (k,), the force it belongs to.
    memory : (k,), where its hysteretic displacement is in the state, d = 2 n and one for each.
    rubs, drags : (f,), whether a force has a term of sign v, and of the acceleration.
    coefficients : (k,).
    mode : (f,), sign of the rate at each force; 0: it is held.
    """

    system: Samples
    unknown: Samples
    places: Samples
    shape: Integers
    at: Integers
    memory: Integers
    rubs: Flags
    drags: Flags
    coefficients: Samples
    mode: Integers


class State(NamedTuple):
    """A state, (d,), its derivatives, (d, p), the rates of both, and the forces, (f,) and (f, p)."""

    z: Samples
    by: Samples
    dz: Samples
    dby: Samples
    force: Samples
    force_by: Samples


@part
def rate_at(model: Model, e: int, z: Samples) -> float:
    """Return the rate at a force."""
    rate, n = 0.0, len(model.places)
    for a in range(n):
        rate += model.places[a, e] * z[n + a]
    return rate


@kernel
def law_rates(model: Model, load: Samples, z: Samples, by: Samples, out: State, work: Samples) -> None:
    """Fill `out` with the rates of a state and of its derivatives, and with the forces.

    Parameters
    ----------
    load : (n + f,), and the acceleration of the ground along each force.
    work : (6 + 2 f + p, k or f at least). Row 0 is filled with what friction can be, row 1 with what holds a force.
    """
    system, unknown, places, shape, at, _, rubs, drags, coefficients, mode = model
    _, _, dz, dby, force, force_by = out
    p = by.shape[1]
    (n, f), k = places.shape, len(shape)
    stretch, rate = work[2], work[3]
    for e in range(f):
        force[e], work[0, e], work[1, e], work[4, e] = 0.0, 0.0, 0.0, 0.0
        stretch[e], rate[e] = 0.0, 0.0
        for a in range(n):
            stretch[e] += places[a, e] * z[a]
            rate[e] += places[a, e] * z[n + a]
        for c in range(p):
            force_by[e, c] = 0.0
    for j in range(k):
        e = at[j]
        x, v = stretch[e], rate[e]
        power, odd, v_power, v_odd, exponent = shape[j]
        if exponent != 0:
            if exponent > 0:
                _hysteretic_rates(model, j, v, z, by, out)
            elif exponent == -2:
                work[4, e] += coefficients[j]
                force[e] += coefficients[j] * load[n + e]
                force_by[e, j] += load[n + e] if p else 0.0
            continue
        left = power_of(abs(x), power) * (np.sign(x) if odd else 1.0)
        left_slope = power * power_of(abs(x), power - 1) * (1.0 if odd else np.sign(x)) if power else 0.0
        right, right_slope = 1.0, 0.0
        if v_power:
            right = power_of(abs(v), v_power) * (np.sign(v) if v_odd else 1.0)
            right_slope = v_power * power_of(abs(v), v_power - 1) * (1.0 if v_odd else np.sign(v))
        elif v_odd:
            work[0, e] += coefficients[j] * left
            right = float(mode[e])
        value, by_x, by_v = left * right, coefficients[j] * left_slope * right, coefficients[j] * left * right_slope
        force[e] += coefficients[j] * value
        for c in range(p):
            slope = value if c == j else 0.0
            for a in range(n):
                slope += places[a, e] * (by_x * by[a, c] + by_v * by[n + a, c])
            force_by[e, c] += slope
    for a in range(n):
        dz[a] = z[n + a]
        total = load[a]
        for b in range(2 * n):
            total += system[n + a, b] * z[b]
        for e in range(f):
            total += unknown[a, e] * force[e]
        dz[n + a] = total
        for c in range(p):
            dby[a, c] = by[n + a, c]
            total = 0.0
            for b in range(2 * n):
                total += system[n + a, b] * by[b, c]
            for e in range(f):
                total += unknown[a, e] * force_by[e, c]
            dby[n + a, c] = total
    at_once = False
    for e in range(f):
        at_once = at_once or drags[e] or (rubs[e] and mode[e] == 0)
    if at_once:
        _add_reactions(model, out, work)


@kernel
def _hysteretic_rates(model: Model, j: int, v: float, z: Samples, by: Samples, out: State) -> None:
    """Add Bouc and Wen's force, k h, and fill the rate of h: h' = v (1 - |h / y|^n) where it grows, else v."""
    (n, _), e, s, exponent = model.places.shape, model.at[j], model.memory[j], model.shape[j, 4]
    h, limit, stiffness = z[s], model.coefficients[j + 1], model.coefficients[j]
    yielded = power_of(abs(h / limit), exponent) if v * h > 0.0 else 0.0
    out.force[e] += stiffness * h
    out.dz[s] = v * (1.0 - yielded)
    for c in range(by.shape[1]):
        rate_by = 0.0
        for a in range(n):
            rate_by += model.places[a, e] * by[n + a, c]
        out.dby[s, c] = rate_by * (1.0 - yielded)
        if yielded > 0.0:
            relative = by[s, c] / h - (1.0 / limit if c == j + 1 else 0.0)
            out.dby[s, c] -= v * exponent * yielded * relative
        out.force_by[e, c] += stiffness * by[s, c] + (h if c == j else 0.0)


@kernel
def hysteretic_displacement(stretch: Samples, limit: float, exponent: int, out: Samples) -> None:
    """Fill the h of Bouc and Wen, (N,), m, of a given stretch, (N,), from zero on, by pieces of a small share."""
    h = 0.0
    for i in range(len(stretch)):
        whole = stretch[i] - stretch[max(i - 1, 0)]
        # what lies farther back than this has no influence
        whole = min(max(whole, -40.0 * limit), 40.0 * limit)
        pieces = 1 + int(abs(whole) * 4 * exponent / limit)
        for _ in range(pieces):
            yielded = power_of(abs(h / limit), exponent) if whole * h > 0.0 else 0.0
            h = min(max(h + whole / pieces * (1.0 - yielded), -limit), limit)
        out[i] = h


@kernel
def _add_reactions(model: Model, out: State, work: Samples) -> None:
    """Add forces that depend on the accelerations: friction that holds a rate at zero, and a mass's."""
    _, unknown, places, shape, at, _, rubs, drags, _, mode = model
    _, _, dz, dby, force, force_by = out
    n, f = places.shape
    p = force_by.shape[1]
    right, inverse = 5 + f, 6 + f + p
    # equations of all forces, in columns; what is added to one of neither kind is zero
    for e in range(f):
        stuck = rubs[e] and mode[e] == 0
        whole = -1.0 if stuck else work[4, e]
        for other in range(f):
            work[5 + other, e] = 1.0 if e == other and not stuck else 0.0
            work[inverse + other, e] = 1.0 if e == other else 0.0
        for c in range(1 + p):
            work[right + c, e] = 0.0
        for a in range(n):
            for other in range(f):
                work[5 + other, e] -= whole * places[a, e] * unknown[a, other]
            work[right, e] += whole * places[a, e] * dz[n + a]
            for c in range(p):
                work[right + 1 + c, e] += whole * places[a, e] * dby[n + a, c]
    for e in range(f):
        pivot = work[5 + e, e]
        if pivot == 0.0:
            continue
        for other in range(f):
            if other != e:
                factor = work[5 + e, other] / pivot
                for c in range(2 * f + 1 + p):
                    work[5 + c, other] -= factor * work[5 + c, e]
    for e in range(f):
        pivot, stuck = work[5 + e, e], rubs[e] and mode[e] == 0
        if not (stuck or drags[e]) or pivot == 0.0:
            continue
        added = work[right, e] / pivot
        if stuck:
            work[1, e] = added
        force[e] += added
        for a in range(n):
            dz[n + a] += unknown[a, e] * added
        for c in range(p):
            _add_reaction_by(model, e, c, work[right + 1 + c, e] / pivot, out)
    for j in range(len(shape) if p else 0):
        # a mass's own coefficient
        e = at[j]
        if shape[j, 4] == -2 and not (rubs[e] and mode[e] == 0):
            acceleration = rate_at(model, e, dz)
            for other in range(f):
                if work[5 + other, other] != 0.0:
                    share = work[inverse + e, other] / work[5 + other, other]
                    _add_reaction_by(model, other, j, share * acceleration, out)


@part
def _add_reaction_by(model: Model, e: int, c: int, added: float, out: State) -> None:
    n = len(model.places)
    out.force_by[e, c] += added
    for a in range(n):
        out.dby[n + a, c] += model.unknown[a, e] * added


@inlined
def power_of(value: float, power: int) -> float:
    """Return a power of an integer, zero or more."""
    whole = 1.0
    for _ in range(power):
        whole *= value
    return whole
