"""A structure with a specimen whose actuator is late and of the wrong size: its free motion, exactly."""

from __future__ import annotations

import cmath
import math

import numpy as np


def pole(frequency, share, gain, delay, damping_ratio=0.0):
    """Return the root of s^2 + 2 z w s + w^2 (1 - share) + w^2 share gain exp(-s delay) near that of the structure.

    By continuation in the share, so that no other root of the delay is found, and secant steps.
    """
    omega = 2.0 * math.pi * frequency

    def characteristic(s, part):
        damper = 2.0 * damping_ratio * omega * s
        return s * s + damper + omega**2 * (1.0 - part + part * gain * cmath.exp(-s * delay))

    root = omega * complex(-damping_ratio, math.sqrt(1.0 - damping_ratio**2))
    for part in np.linspace(0.0, share, 41)[1:]:
        before, root = root, root * (1.0 + 1e-4)
        for _ in range(50):
            f, g = characteristic(before, part), characteristic(root, part)
            if f == g or abs(root - before) < 1e-14 * omega:
                break
            before, root = root, root - g * (root - before) / (g - f)
    assert abs(characteristic(root, share)) < 1e-9 * omega**2
    return root


def damping_of(root):
    """Return the damping ratio of a root."""
    return -root.real / abs(root)


def free_motion(root, gain, delay, time):
    """Return command and measured, (n,) each, of the free motion of a root; the command is about one at time zero."""
    motion = lambda t: (np.exp(root * t + 0.4j)).real  # noqa: E731
    return motion(time), gain * motion(time - delay)
