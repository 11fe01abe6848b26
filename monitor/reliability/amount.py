"""A tolerance as it is written: a share such as ``8%``, or a number."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from monitor.messages.blocks import same_unit
from monitor.reliability.tolerance import RELATIVE, Policy, ToleranceError


def read_amount(text: str | float, policy: str | None = None) -> tuple[Policy, float]:
    """Return what a tolerance is made of, and how much of it.

    Parameters
    ----------
    text : a share with a percent sign, or a number in the response's unit.
    policy : by default literal for a share and absolute for a number; a number with a relative policy is a share.

    Raises
    ------
    ToleranceError : it is no number, not positive, or does not go with the policy.
    """
    words = str(text).strip()
    share = words.endswith("%")
    try:
        value = float(words.removesuffix("%")) / (100.0 if share else 1.0)
    except ValueError:
        raise ToleranceError(f"tolerance {words!r}: give a share such as 8%, or a number") from None
    if value <= 0.0:
        raise ToleranceError(f"tolerance {words}: no difference is smaller than that: give more than 0")
    if not value < float("inf"):
        raise ToleranceError(f"tolerance {words}: give a finite number")
    if share and policy == Policy.ABSOLUTE:
        raise ToleranceError(f"tolerance {words}: an absolute tolerance is a number in the response's unit")
    if not share and policy is not None and Policy(policy) in RELATIVE and value > 1.0:
        raise ToleranceError(
            f"tolerance {words}: a share of {100.0 * value:g} %? write {words}% or {100.0 * value:g}%"
        )
    if policy is not None:
        return Policy(policy), value
    return (Policy.LITERAL if share else Policy.ABSOLUTE), value


def check_units(policy: Policy, units: Sequence[str]) -> None:
    """Raise `ToleranceError` where one number, or one file of them, would have to serve sites of several units."""
    if policy in RELATIVE:
        return
    for one, other in combinations(units, 2):
        if not same_unit(one, other):
            raise ToleranceError(
                f"the sites are in {one} and {other}, and no number serves both: give a share such as 8%, "
                "or judge them one by one"
            )
