"""A hybrid test of one degree of freedom whose actuator lags by 15 ms, without and with adaptive compensation.

The structure is half numerical, half specimen. The compensator sends the command with a lead, which it finds from the
delay that the broadband indicator reads between the command and the measured signal.

python compensate_delay.py
"""

from math import pi

import numpy as np

from monitor import FixedInverse, IndicatorDriven

RATE, DURATION, LAG = 1024, 40, 0.015  # Hz, s, s
MASS, OMEGA, DAMPING, SHARE = 1.0, 2 * pi * 1.5, 0.10, 0.5  # the specimen has this share of the stiffness


def simulate(compensate: bool) -> tuple[float, float]:
    """Return the delay that is compensated at the end, s, and the rms error of the position over the last 20 s."""
    rng = np.random.default_rng(1)
    ground = 50 * np.convolve(rng.normal(size=RATE * DURATION), np.full(60, 1 / 60), "same")
    noise = rng.normal(scale=1e-4, size=ground.size)
    dt, lag, stiffness = 1 / RATE, round(LAG * RATE), MASS * OMEGA**2
    command, sent, position = np.zeros((3, ground.size))
    x = v = 0.0
    nominal = FixedInverse(spacing=0.005)  # sends the command as it is; derivatives of a lead are over 5 ms
    settings = IndicatorDriven("broadband", nominal, window=2.0) if compensate else nominal
    compensator = settings.begin(dt)
    for i in range(ground.size):
        command[i] = x
        sent[i] = compensator.compensate([x])[0]
        position[i] = sent[i - lag] if i >= lag else 0.0
        compensator.observe([x], [position[i] + noise[i]])
        force = (1 - SHARE) * stiffness * x + SHARE * stiffness * position[i]
        a = -ground[i] - 2 * DAMPING * OMEGA * v - force / MASS
        v += a * dt
        x += v * dt
    error = (command - position)[-20 * RATE :]
    delay, *_ = compensator.values[0]
    return delay, float(np.sqrt(np.mean(error**2)))


if __name__ == "__main__":
    for compensate in (False, True):
        delay, error = simulate(compensate)
        print(f"{1e3 * delay:5.1f} ms compensated: rms error of the position {error:.5f}")
