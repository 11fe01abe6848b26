"""An actuator becomes later in mid-test: 12 ms at first, 25 ms from 20 s on."""

# %% [markdown]
# The motion is a seeded earthquake; the measured signal is the same motion, later, 3 % too small, and with the
# noise of a sensor. Of a measured record you would have command and measured signal alone.

# %%
import numpy as np
from matplotlib.figure import Figure

from monitor import BroadbandDelayIndicator, FrequencyDomainIndicator, PhaseAmplitudeIndices
from sim.excitation import Earthquake

rate, window, step = 512.0, 2.0, 20.0  # Hz, s, s
time = np.arange(0.0, 40.0, 1.0 / rate)
true_delay = np.where(time < step, 0.012, 0.025)  # s
motion = Earthquake(rms=6.0, seed=3, ground_frequency=1.5, strong=30.0)  # mm
command = motion.sample(time)
measured = 0.97 * motion.sample(time - true_delay) + np.random.default_rng(1).normal(0.0, 0.03, time.size)

# %% [markdown]
# Every indicator looks back over its window, here 2 s: in the grey stretch it holds samples from before and after the
# step, and no single delay is right. A shorter window makes it shorter, and the values noisier.

# %%
kinds = {
    "broadband": BroadbandDelayIndicator,
    "fdb": FrequencyDomainIndicator,
    "paei": PhaseAmplitudeIndices,
}
delays = {}  # of each its delay and the standard deviation of that, s
for name, kind in kinds.items():
    indicator = kind(rate, window)
    rows = indicator.update_block(command, measured)
    names = [output.name for output in indicator.outputs]
    delays[name] = rows[:, names.index(f"{name}_delay")], rows[:, names.index(f"{name}_delay_sd")]

# %%
figure = Figure(figsize=(8.0, 3.4), layout="constrained")
axis = figure.subplots()
axis.axvspan(step, step + window, color="0.9")
axis.plot(time, 1e3 * true_delay, color="black", linewidth=3, alpha=0.3, label="true")
for name, (delay, sd) in delays.items():
    (line,) = axis.plot(time, 1e3 * delay, linewidth=1.0, label=name)
    axis.fill_between(time, 1e3 * (delay - 2 * sd), 1e3 * (delay + 2 * sd), color=line.get_color(), alpha=0.25)
axis.set(xlabel="time [s]", ylabel="delay [ms]", xlim=(14.0, 28.0), ylim=(8.0, 30.0))
axis.legend(loc="upper left", ncols=4)
figure.savefig("delay_step.png", dpi=90)
