"""A hybrid test in OpenSeesPy that is monitored: python opensees_loop.py [SECONDS] [SIGNALS] [RESULTS].

OpenSees integrates a frame of two storeys; the column of the first one is the specimen, moved by a virtual actuator
that lags by 9 ms. In every step the loop sends command, measured position and force, and reads the newest indicators.
With a service (`synchroscope monitor`, started within a second) it runs in real time, and stops where the actuator
is more than 25 ms late. Without one it runs as fast as it can.
"""

import sys
from collections import deque
from time import perf_counter, sleep

import numpy as np
import openseespy.opensees as ops

from monitor import Rig, connect

RATE, DELAY, LIMIT = 1024, 9, 0.025  # Hz; samples; s
MASSES, STOREYS, SPECIMEN = (2000.0, 1500.0), (8e5, 6e5), 3e5  # kg; N/m, without the specimen; N/m
CHANNELS = ("column.command [m]", "column.measured [m]", "column.force [N]", "roof [m]")


def build() -> None:
    """Set up the frame: a node a storey, node 0 being the ground, and central differences."""
    ops.wipe()
    ops.model("basic", "-ndm", 1, "-ndf", 1)
    ops.node(0, 0.0)
    ops.fix(0, 1)
    for floor, (mass, stiffness) in enumerate(zip(MASSES, STOREYS, strict=True), 1):
        ops.node(floor, 0.0)
        ops.mass(floor, mass)
        ops.uniaxialMaterial("Elastic", floor, stiffness)
        ops.element("zeroLength", floor, floor - 1, floor, "-mat", floor, "-dir", 1)
    # the specimen lags, which feeds energy in: without this damping the loop would be unstable
    ops.rayleigh(4.0, 0.0, 0.0, 0.0)
    ops.timeSeries("Constant", 1)
    ops.constraints("Plain")
    ops.numberer("Plain")
    ops.system("FullGeneral")
    ops.algorithm("Linear")
    ops.integrator("CentralDifference")
    ops.analysis("Transient")


def step(ground: float, force: float) -> None:
    """Advance by a step under an acceleration of the ground, m/s^2, and the force of the specimen, N."""
    ops.remove("loadPattern", 1)
    ops.pattern("Plain", 1, 1)
    for floor, mass in enumerate(MASSES, 1):
        ops.load(floor, -mass * ground - (force if floor == 1 else 0.0))
    ops.analyze(1, 1.0 / RATE)


def main(seconds: float = 8.0, signals: str = "tcp://127.0.0.1:5555", results: str = "tcp://127.0.0.1:5556") -> None:
    """Run the test."""
    steps = round(seconds * RATE)
    noise = np.random.default_rng(1).normal(size=steps)
    ground = 40.0 * np.convolve(noise, np.full(100, 0.01), "same") * np.hanning(steps)
    actuator = deque([0.0] * DELAY, maxlen=DELAY)
    spent = np.zeros(2)
    build()
    with connect(results) as connection, Rig(signals, channels=CHANNELS, sample_rate=RATE, name="opensees") as rig:
        watched = rig.wait_for_subscriber(1.0)
        start = perf_counter()
        for number in range(steps):
            command, measured = ops.nodeDisp(1, 1), actuator[0]
            actuator.append(command)
            force = SPECIMEN * measured
            step(ground[number], force)
            computed = perf_counter()
            rig.send([command, measured, force, ops.nodeDisp(2, 1)])
            sent = perf_counter()
            row = connection.newest()
            spent += sent - computed, perf_counter() - sent
            delay = np.nan if row is None else row["column"]["broadband_delay"]
            if delay > LIMIT:
                raise SystemExit(f"stopped at {number / RATE:.3f} s: the actuator is {1e3 * delay:.1f} ms late")
            if watched:
                sleep(max(0.0, start + (number + 1) / RATE - perf_counter()))
    send, newest = 1e6 * spent / steps
    print(f"{steps} steps: {send:.0f} us a step to send, {newest:.0f} us to read the newest indicators")
    print(f"the monitor reads {1e3 * delay:.2f} ms" if np.isfinite(delay) else "no monitor was connected")


if __name__ == "__main__":
    main(*(float(word) if number == 0 else word for number, word in enumerate(sys.argv[1:4])))
