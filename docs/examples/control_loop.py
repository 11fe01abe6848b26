"""A control loop that sends its actuator what it needs, and knows at every step how late it still is.

Put your integrator in the place of the sines, and your rig in that of the virtual actuator.
"""

# %%
from collections import deque

import numpy as np

import monitor


class Controller:
    """Compensator and indicator of one actuator; both steps allocate nothing.

    Parameters
    ----------
    rate : Hz.
    known_delay : s, of the actuator, as far as it is known beforehand.
    """

    def __init__(self, rate: float, known_delay: float) -> None:
        nominal = monitor.FixedInverse.of_delay(known_delay, order=3)
        self.compensator = monitor.EmbeddedCompensator(monitor.RecursiveInverse(nominal), rate)
        self.tracking = monitor.EmbeddedTracking(monitor.IndicatorSettings(measures=("paei",), window=1.0), rate)
        self.lead, self.row = self.compensator.new_row(), self.tracking.new_row()
        self.command, self.measured, self.sent, self.no_force = np.empty(1), np.empty(1), np.empty(1), np.empty(0)

    def step(self, number: int, command: float, measured: float) -> float:
        """Return what to send for a command, after what was measured at the same instant."""
        self.command[0], self.measured[0] = command, measured
        signals = self.command, self.measured
        monitor.step_tracking(self.tracking.state, *signals, self.no_force, number, self.row)
        monitor.step_compensator(self.compensator.state, *signals, self.sent, self.lead)
        return float(self.sent[0])


# %%
def run(rate: float, late: int) -> tuple[float, float]:
    """Return the delay that is left, and the lead that was found, both in s, of an actuator so many samples late."""
    controller, actuator = Controller(rate, known_delay=0.008), deque([0.0] * late)
    for number in range(round(10 * rate)):
        command = 0.01 * np.sin(6 * np.pi * number / rate) + 0.004 * np.sin(2.2 * np.pi * number / rate)  # m
        actuator.append(controller.step(number, command, actuator.popleft()))
    left = controller.row[controller.tracking.index("paei_delay")]
    return float(left), float(controller.lead[controller.compensator.columns.index("compensated_delay")])


if __name__ == "__main__":
    left, lead = run(1024.0, late=12)
    print(f"sent {1e3 * lead:.2f} ms ahead, and still {1e3 * left:.3f} ms late")
