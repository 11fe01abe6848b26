"""The lead of a compensator, sample by sample: taps of past commands, blending, and holding what is not finite."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monitor.indicators.parts.memory import IntMatrix, IntVector, Matrix, Vector, first_array, open_state
from monitor.kernel import borrowed, kernel, part
from monitor.messages.blocks import Samples

LEAD, FIT = range(2)
"""Parts of the memory of a compensator."""
AT, ON, BLOCK, GAP = range(4)
"""Places in `Lead.sizes`."""
SHARE, _STEP = range(2)
"""Places in `Lead.blend`."""
_CHANGES, _RUN, _LEFT, HELD, _N_COUNTS = range(5)


class Lead(NamedTuple):
    """What a lead remembers, of n actuators.

    Attributes
    ----------
    ring : (n, length) newest commands, NaN where one was not finite.
    coefficients : (n, order + 1) a0, a1, ... that are sent, once the weights have changed.
    derivatives : (order + 1, order + 1) weights of the taps, a derivative a column.
    weights, change : (n, order + 1) of the taps, and what is added to them at each sample while they change.
    command, sent : (n,) newest finite command, and what was sent.
    missing : (n,) of what is sent after it was held, made up for linearly.
    counts : (n, 4) samples in which the weights still change; held in a row; left to make up for; `HELD` in all.
    sizes : position of the newest command in the ring, -1 before the first; 1 while switched on; samples in which the
        weights change; samples between taps.
    blend : share of the compensation, and its change within a sample while it is blended in or out.
    """

    ring: Matrix
    coefficients: Matrix
    derivatives: Matrix
    weights: Matrix
    change: Matrix
    command: Vector
    sent: Vector
    missing: Vector
    counts: IntMatrix
    sizes: IntVector
    blend: Vector


def new_lead(coefficients: Samples, derivatives: Samples, block: int, gap: int, step: float) -> Lead:
    """Return a lead at rest, see `Lead`; `step` is the change of the share within a sample."""
    n, n_taps = coefficients.shape
    return Lead(
        ring=np.zeros((n, (n_taps - 1) * gap + 1)),
        coefficients=coefficients,
        derivatives=derivatives,
        weights=coefficients @ derivatives.T,
        change=np.zeros((n, n_taps)),
        command=np.zeros(n),
        sent=np.zeros(n),
        missing=np.zeros(n),
        counts=np.zeros((n, _N_COUNTS), np.int64),
        sizes=np.array([-1, 1, block, gap]),
        blend=np.array([1.0, step]),
    )


open_lead = open_state(Lead)


@part
def is_absent(lead: Lead, k: int) -> bool:
    """Return whether the newest command of an actuator was not finite."""
    return bool(np.isnan(lead.ring[k, lead.sizes[AT]]))


@part
def advance_lead(lead: Lead, command: Samples) -> bool:
    """Find what to send for a command, (n,), into ``lead.sent``; False where the first one is not finite."""
    sizes, blend, length = lead.sizes, lead.blend, lead.ring.shape[1]
    first = sizes[AT] < 0
    if first:
        for k in range(len(command)):
            if not np.isfinite(command[k]):
                return False
        for k in range(len(command)):
            # from rest at the first command
            lead.ring[k] = command[k]
    at = (sizes[AT] + 1) % length
    sizes[AT] = at
    blended = blend[SHARE] != 1.0 or sizes[ON] == 0
    if blended:
        step = blend[_STEP] if sizes[ON] else -blend[_STEP]
        blend[SHARE] = min(1.0, max(0.0, blend[SHARE] + step))
    for k in range(len(command)):
        ring, weights, counts, x = lead.ring[k], lead.weights[k], lead.counts[k], command[k]
        if np.isfinite(x):
            lead.command[k] = x
        else:
            x = np.nan
        ring[at] = x
        if counts[_CHANGES]:
            weights += lead.change[k]
            counts[_CHANGES] -= 1
        lead_sum, tap = 0.0, at
        for j in range(len(weights)):
            # a tap that has no part in it may be NaN
            if weights[j] != 0.0:
                lead_sum += weights[j] * ring[tap]
            tap -= sizes[GAP]
            if tap < 0:
                tap += length
        if blended:
            lead_sum = x + blend[SHARE] * (lead_sum - x) if blend[SHARE] else x
        lead.sent[k] = _held(lead, k, lead_sum)
    return True


@part
def _held(lead: Lead, k: int, wanted: float) -> float:
    """Return the last value for one that is NaN, and make up for what was missed after a row of them."""
    counts = lead.counts[k]
    if not np.isfinite(wanted):
        counts[HELD] += 1
        counts[_RUN] += 1
        return float(lead.sent[k])
    if counts[_RUN]:
        lead.missing[k] = lead.sent[k] - wanted
        counts[_LEFT] += counts[_RUN]
        counts[_RUN] = 0
    if counts[_LEFT] == 0:
        return wanted
    lead.missing[k] *= (counts[_LEFT] - 1) / counts[_LEFT]
    counts[_LEFT] -= 1
    return wanted + float(lead.missing[k])


@part
def follow_coefficients(lead: Lead, k: int) -> None:
    """Change the weights of an actuator linearly, within a block from now, to those of its coefficients."""
    n_taps, block = lead.weights.shape[1], lead.sizes[BLOCK]
    for tap in range(n_taps):
        wanted = 0.0
        for j in range(n_taps):
            wanted += lead.derivatives[tap, j] * lead.coefficients[k, j]
        lead.change[k, tap] = (wanted - lead.weights[k, tap]) / block
    lead.counts[k, _CHANGES] = block


@kernel
def send(memory: Samples, command: Samples) -> bool:
    """Advance a lead by a command, (n,); False, and nothing is changed, if the first is not finite."""
    memory = borrowed(memory)
    return bool(advance_lead(open_lead(memory, first_array(memory.view(np.int64), LEAD)), command))


@kernel
def set_coefficients(memory: Samples, coefficients: Samples) -> None:
    """Set the coefficients of all actuators, (order + 1, n)."""
    memory = borrowed(memory)
    lead = open_lead(memory, first_array(memory.view(np.int64), LEAD))
    for k in range(lead.coefficients.shape[0]):
        for j in range(len(coefficients)):
            lead.coefficients[k, j] = coefficients[j, k]
        follow_coefficients(lead, k)
