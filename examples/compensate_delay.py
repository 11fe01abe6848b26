"""A hybrid test of one degree of freedom whose actuator lags by 15 ms; the indicator's delay compensates the lag.

The structure is half numerical, half specimen. The command is the displacement that is predicted for the instant at
which the actuator will reach it: x + v d + a d^2 / 2, with d the measured delay.

python compensate_delay.py
"""

from math import pi

import numpy as np

from monitor import BroadbandDelayIndicator

RATE, DURATION, LAG = 1024, 40, 0.015  # Hz, s, s
MASS, OMEGA, DAMPING, SHARE = 1.0, 2 * pi * 1.5, 0.10, 0.5  # the specimen has this share of the stiffness
MAX_DELAY, TIME_CONSTANT = 0.05, 0.5  # s: what a wrong value can do is limited, and changes are gradual


def simulate(compensate: bool) -> tuple[float, float]:
    """Return the delay that compensates at the end, s, and the rms error of the position over the last 20 s."""
    rng = np.random.default_rng(1)
    ground = 50 * np.convolve(rng.normal(size=RATE * DURATION), np.full(60, 1 / 60), "same")
    noise = rng.normal(scale=1e-4, size=ground.size)
    dt, lag, stiffness = 1 / RATE, round(LAG * RATE), MASS * OMEGA**2
    command, target, position = np.zeros((3, ground.size))
    x = v = a = ahead = 0.0
    indicator = BroadbandDelayIndicator(sample_rate=RATE, window=2.0)
    for i in range(ground.size):
        target[i], command[i] = x, x + v * ahead + 0.5 * a * ahead**2
        position[i] = command[i - lag] if i >= lag else 0.0
        # the command as sent and what the actuator made of it: the whole delay, whatever is compensated already
        value = indicator.update(command[i], position[i] + noise[i])
        if compensate and indicator.valid:  # not before one window; invalid: the last delay is used on
            ahead += dt / TIME_CONSTANT * (min(max(value.delay, 0.0), MAX_DELAY) - ahead)
        force = (1 - SHARE) * stiffness * x + SHARE * stiffness * position[i]
        a = -ground[i] - 2 * DAMPING * OMEGA * v - force / MASS
        v += a * dt
        x += v * dt
    error = (target - position)[-20 * RATE :]
    return ahead, float(np.sqrt(np.mean(error**2)))


if __name__ == "__main__":
    for compensate in (False, True):
        ahead, error = simulate(compensate)
        print(f"{1e3 * ahead:5.1f} ms compensated: rms error of the position {error:.5f}")
