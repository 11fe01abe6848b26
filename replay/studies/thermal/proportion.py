"""How far the share of some realizations may be from the probability behind it."""

from __future__ import annotations

from math import sqrt

# of each outcome: so many are added
_ADDED = 2.0


def standard_error(share: float, number: int) -> float:
    """Return the standard error of a share of so many realizations, by Agresti and Coull (1998).

    Two of each outcome are added, so that it is not zero where none or all have what is counted: of 20 000 with none
    it is 7e-5. Where many have it, it is that of the binomial distribution.
    """
    total = number + 2.0 * _ADDED
    chance = (share * number + _ADDED) / total
    return sqrt(chance * (1.0 - chance) / total)
