"""A hybrid test whose actuator is late: what that does to the structure, and what a compensator makes of it."""

# %% [markdown]
# One storey; a quarter of its stiffness is the specimen in the rig. Its own damping is 4.7 %, and an actuator that is
# 24 ms late takes four fifths of that away: the test shows a structure that there is not.

# %%
from dataclasses import replace

import numpy as np
from matplotlib.figure import Figure

from monitor import FixedInverse, RecursiveInverse
from sim.excitation import Earthquake
from sim.laboratory.elements import LinearSpring
from sim.laboratory.loop import HybridLoop
from sim.laboratory.stability import critical_delay
from sim.laboratory.structure import Structure
from sim.laboratory.transfer import Delay, TransferChain

structure = Structure(mass=1000.0, damping=1200.0, stiffness=1.2e5)  # kg, N s/m, N/m
spring, ground = LinearSpring(4e4), Earthquake(rms=0.5, seed=4)  # N/m, m/s^2
perfect = HybridLoop(structure=structure, specimen=spring, excitation=ground, dt=1 / 1024, duration=20.0)
late = replace(perfect, transfer=TransferChain((Delay(0.024),)))
print(f"unstable from {1e3 * critical_delay(structure, 4e4, [1.0]):.1f} ms on")

# %% [markdown]
# The compensators believe that the actuator is 15 ms late. `FixedInverse` goes on believing it; `RecursiveInverse`
# begins there, and corrects what it sends by what comes back.

# %%
nominal = FixedInverse.of_delay(0.015, order=3)
loops = {
    "not compensated": late,
    "fixed inverse of 15 ms": replace(late, compensator=nominal),
    "recursive inverse": replace(late, compensator=RecursiveInverse(nominal)),
}
true = perfect.run().displacement[:, 0]
moved = {name: loop.run().displacement[:, 0] for name, loop in loops.items()}  # m
errors = {name: np.std(each - true) / np.std(true) for name, each in moved.items()}

# %%
figure = Figure(figsize=(8.0, 4.6), layout="constrained")
time = np.arange(true.size) / 1024
for axis, (name, each) in zip(figure.subplots(3, 1, sharex=True, sharey=True), moved.items(), strict=True):
    axis.plot(time, 1e3 * true, color="black", linewidth=2.5, alpha=0.3)
    axis.plot(time, 1e3 * each, linewidth=1.0)
    axis.set_title(
        f"{name}: {errors[name]:.1%} off the structure with a perfect actuator", loc="left", fontsize="medium"
    )
    axis.set_ylabel("storey [mm]")
figure.supxlabel("time [s]", fontsize="medium")
figure.savefig("compensation.png", dpi=90)
