"""The tolerance as a user writes it: ``8%``, a number, or a file of tolerances over time."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from monitor.ensembles.plan_files import read_tolerance_table
from monitor.messages.blocks import Samples
from monitor.reliability.tolerance import RELATIVE, Tolerance, ToleranceError, TolerancePolicy, parse_tolerance

_SMALL = 0.05  # of its peak: below it a literal tolerance means little

OF_WHAT = {
    TolerancePolicy.LITERAL: "of the measurement",
    TolerancePolicy.FLOORED: "of the measurement or of its rms, whichever is larger",
    TolerancePolicy.PEAK: "of the measurement's peak",
}
"""What a share is of, in words."""


@dataclass(frozen=True, slots=True)
class ToleranceChoice:
    """What was written, not yet applied to a record.

    Parameters
    ----------
    policy : see `TolerancePolicy`.
    value : a share, or in the response's unit.
    path : the file of a varying tolerance, with the columns time and tolerance.
    """

    policy: TolerancePolicy
    value: float = float("nan")
    path: Path | None = None

    def __str__(self) -> str:
        if self.policy is TolerancePolicy.VARYING:
            return f"as in {self.path}"
        return f"{100.0 * self.value:g} % {OF_WHAT[self.policy]}" if self.policy in RELATIVE else f"{self.value:g}"

    def applied(self, instants: Samples, measured: Samples) -> Tolerance:
        """Return the tolerance at a model's instants (n_times,), s, for measurements (n_times, n_replicates).

        Raises
        ------
        ToleranceError : a share is of nothing, or the file of tolerances cannot be used.
        """
        if self.policy is not TolerancePolicy.VARYING:
            return Tolerance.from_records(self.policy, self.value, measured)
        assert self.path is not None
        return Tolerance(TolerancePolicy.VARYING, profile=read_tolerance_table(self.path, instants))

    def warning(self, measured: Samples) -> str:
        """Return what the user should know of it for these measurements; empty if nothing."""
        if self.policy is not TolerancePolicy.LITERAL:
            return ""
        size = np.abs(measured[np.isfinite(measured)])
        # a record that is zero throughout is no more than a share of its peak everywhere
        small = int((size <= _SMALL * size.max(initial=0.0)).sum())
        if not small:
            return ""
        return (
            f"a literal tolerance is next to nothing where the measurement is: {small} of {len(size)} samples are "
            "within 5 % of the peak from zero; --policy floored or peak gives them more"
        )


def read_tolerance(text: str, policy: str | None = None) -> ToleranceChoice:
    """Read ``8%``, ``0.08``, or the name of a file.

    Parameters
    ----------
    text, policy : see `parse_tolerance`; or, without a policy, a file of tolerances over time.

    Raises
    ------
    ToleranceError : it is neither, not positive, or does not go with the policy.
    """
    if Path(text).is_file():
        if policy is not None:
            raise ToleranceError(f"tolerance {text}: a file of tolerances goes without a policy, not with {policy}")
        return ToleranceChoice(TolerancePolicy.VARYING, path=Path(text))
    chosen, value = parse_tolerance(text, policy)
    return ToleranceChoice(chosen, value)
