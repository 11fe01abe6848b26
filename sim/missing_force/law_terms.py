"""Terms of force laws: products of powers of stretch and rate, with or without their signs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sim.arrays import Samples

# of the rms rate: within it the sign of the recovered rate is a tanh; in the motion of a model it jumps
SIGN_WIDTH = 0.01
_FACTOR = re.compile(r"(?:\|([xv])\||([xv]))(?:\^(\d))?")
_WRONG = "law term {!r}: give constant, or powers of x and v, such as x^3, |x|x, v|v|, sign v, x^2 v"


@dataclass(frozen=True, slots=True)
class Term:
    """|x|^p sign(x)^i |v|^q sign(v)^j, where x [m] is the stretch at a force and v [m/s] its rate.

    Parameters
    ----------
    name : as in `term`.
    x_power, v_power : p and q, zero or more.
    x_odd, v_odd : i and j: whether the sign of x or v has a part.
    """

    name: str
    x_power: int = 0
    x_odd: bool = False
    v_power: int = 0
    v_odd: bool = False

    @property
    def unit(self) -> str:
        """Of its coefficient."""
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

    def slopes(self, x: Samples, v: Samples, width: float) -> tuple[Samples, Samples]:
        """Return derivatives by x and v."""
        by_x = np.zeros(np.broadcast(x, v).shape)
        by_v = by_x.copy()
        if self.x_power:
            by_x = Term("", self.x_power - 1, not self.x_odd, self.v_power, self.v_odd).of(x, v, width) * self.x_power
        if self.v_power:
            by_v = Term("", self.x_power, self.x_odd, self.v_power - 1, not self.v_odd).of(x, v, width) * self.v_power
        elif self.v_odd:
            by_v = Term("", self.x_power, self.x_odd).of(x, v, width) * (1.0 - np.tanh(v / width) ** 2) / width
        return by_x, by_v


def term(name: str) -> Term:
    """Return the term of a name: constant, x, x^3, |x|x, v, v|v|, sign v, x^2 v and products of these.

    Raises
    ------
    ValueError : it is no such term.
    """
    if name == "constant":
        return Term(name)
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


# candidates: springs that are wrong, harden or differ by side, dampers, friction, a preload
DICTIONARY = tuple(
    term(name) for name in ("constant", "x", "|x|x", "x^2", "x^3", "x^5", "v", "v|v|", "v^3", "sign v", "x^2 v")
)


def terms(names: Sequence[str | Term]) -> tuple[Term, ...]:
    """Return terms of names, or themselves."""
    found = tuple(each if isinstance(each, Term) else term(each) for each in names)
    if len({(each.x_power, each.x_odd, each.v_power, each.v_odd) for each in found}) < len(found):
        raise ValueError(f"law terms {', '.join(each.name for each in found)}: give each once")
    return found
