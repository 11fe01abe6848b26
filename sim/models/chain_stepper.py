"""The motion of a chain by Runge and Kutta's method, a stretch of its load at a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sim.arrays import Samples
from sim.models.chain import Chain, ChainMotion, TooStiffError
from sim.models.chain_kernel import MOST_STEPS, TOO_MANY_STEPS, advance_chain


class ChainStepper:
    """A chain that moves on from where it is; however the load is divided, the motion is the same to the last bit.

    Parameters
    ----------
    chain : its leading axes broadcast to those of the initial motion.
    dt : s between samples of the load.
    initial : (..., 2, n), displacement and velocity.
    substeps : fixed number of steps in a sample interval; 0 halves them as the tolerance asks for.
    tolerance : of the local error of a step, relative to the largest motion so far.

    Raises
    ------
    ValueError : a parameter is complex.
    """

    def __init__(self, chain: Chain, dt: float, initial: Samples, substeps: int, tolerance: float) -> None:
        values = chain.masses, chain.springs, chain.dampers, chain.cubic, chain.friction, initial
        if any(map(np.iscomplexobj, values)):
            raise _complex_numbers()
        self._sets, self._n = initial.shape[:-2], chain.dofs
        m = int(np.prod(self._sets, dtype=np.int64))

        def rows(value: ArrayLike) -> Samples:
            each = np.asarray(value, dtype=np.float64)
            # copies: a read-only array would have the kernel compiled again
            return np.array(np.broadcast_to(each, (*self._sets, each.shape[-1])).reshape(m, -1), order="C")

        self._pair, law = np.array([-1, -1]), np.zeros(3)
        contact = chain.contact
        if contact is not None and not chain.smooth:
            self._pair = np.array([contact.first, -1 if contact.second is None else contact.second])
            law = np.stack(np.broadcast_arrays(contact.gap, contact.stiffness, contact.damping), axis=-1)
        masses, springs, dampers = rows(chain.masses), rows(chain.springs), rows(chain.dampers)
        self._parameters = masses, springs, dampers, rows(chain.cubic), rows(chain.friction), rows(law)
        self._grounded, self._dt = bool(chain.grounded), float(dt)
        self._substeps, self._tolerance = int(substeps), float(tolerance)
        self._state = np.array(initial, dtype=np.float64, order="C").reshape(m, 2, self._n)
        self._memory = np.zeros((m, 4))
        self._samples = 0

    def advance(self, force: Samples) -> ChainMotion:
        """Return the motion at the samples of a load, (..., n_times, n) N, of which the first is where the chain is.

        The next load begins with the last sample of this one.

        Raises
        ------
        ValueError : the load is complex.
        TooStiffError : the chain is too stiff for its samples.
        """
        if np.iscomplexobj(force):
            raise _complex_numbers()
        n, n_times, m = self._n, force.shape[-2], len(self._state)
        shared = int(np.prod(force.shape[:-2], dtype=np.int64)) == 1
        full = force if shared else np.broadcast_to(force, (*self._sets, n_times, n))
        motion, ended = np.empty((3, m, n_times, n)), np.empty((m, 2), dtype=np.int64)
        advance_chain(
            self._parameters,
            self._pair,
            self._grounded,
            np.array(full, dtype=np.float64, order="C").reshape(-1, n_times, n),
            self._dt,
            self._state,
            self._substeps,
            self._tolerance,
            self._memory,
            motion,
            ended,
        )
        stiff = np.flatnonzero(ended[:, 0] == TOO_MANY_STEPS)
        if stiff.size:
            raise TooStiffError(
                f"chain: more than {MOST_STEPS} steps or events after "
                f"{self._dt * (self._samples + ended[stiff[0], 1]):.6g} s, within one sample "
                "interval: give a smaller dt, or softer springs and contact"
            )
        self._state = np.ascontiguousarray(np.moveaxis(motion[:2, :, -1], 0, 1))
        self._samples += n_times - 1
        return ChainMotion(*(each.reshape(*self._sets, n_times, n) for each in motion))


def _complex_numbers() -> ValueError:
    return ValueError("chain response of complex numbers: only a linear chain has it, without fixed substeps")
