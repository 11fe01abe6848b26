"""Damping that the error of a specimen's actuator adds to the structure.

A specimen of stiffness k = share K that is moved by m instead of c pushes back with k m. Where m/c is ``in_phase +
i quadrature`` at the loop's frequency, the loop M s^2 + C s + K (1 - share) + k m/c = 0 has the damping ratio of C
plus ``share quadrature / (2 (1 - share + share in_phase))`` (docs/indicators.md).
"""

from __future__ import annotations

import math

from monitor.kernel import part


def loop_damping(in_phase: float, quadrature: float, share: float) -> float:
    """Return the added damping ratio, negative for a lag.

    Parameters
    ----------
    in_phase, quadrature : measured over command: cos(phase) / ratio and sin(phase) / ratio.
    share : the specimen's share of the structure's stiffness; 0: unknown, and the result is per unit of share, to
        first order. Where stiffness and error together are below zero the result is NaN.
    """
    if share == 0.0:
        return 0.5 * quadrature
    stiffness = 1.0 - share + share * in_phase
    return 0.5 * share * quadrature / stiffness if stiffness > 0.0 else math.nan


add_damping = part(loop_damping)
"""`loop_damping` within a kernel."""
