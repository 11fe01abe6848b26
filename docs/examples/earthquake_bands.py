"""An earthquake, and how far each delay can be trusted: the band of two standard deviations, over the whole test."""

# %% [markdown]
# The actuator is 18 ms late and 5 % too small throughout. The sensor's noise is coloured, as real noise is: a band
# that counted on white noise would be too narrow.

# %%
import numpy as np
from matplotlib.figure import Figure

from monitor import BroadbandDelayIndicator, PhaseAmplitudeIndices
from sim.excitation import Earthquake

rate, true_delay = 512.0, 0.018  # Hz, s
time = np.arange(0.0, 40.0, 1.0 / rate)
motion = Earthquake(rms=6.0, seed=5, ground_frequency=1.5)  # mm
white = np.random.default_rng(2).normal(0.0, 0.02, time.size)
noise = np.convolve(white, 0.9 ** np.arange(60), "same")  # mm, of 10 Hz and less
command, measured = motion.sample(time), 0.95 * motion.sample(time - true_delay) + noise

# %% [markdown]
# In the strong phase the delay is known to a tenth of a millisecond. As the motion dies away into the noise the band
# opens, and where nothing can be said there is no value.

# %%
bands = {}
for name, kind in {"broadband": BroadbandDelayIndicator, "paei": PhaseAmplitudeIndices}.items():
    indicator = kind(rate, window=2.0)
    rows = indicator.update_block(command, measured)
    names = [output.name for output in indicator.outputs]
    bands[name] = delay, sd = rows[:, names.index(f"{name}_delay")], rows[:, names.index(f"{name}_delay_sd")]
    known = np.isfinite(delay)
    within = np.abs(delay - true_delay)[known] <= 2 * sd[known]
    share = f"right within its band at {within.mean():.0%} of them"
    print(f"{name}: a value at {known.mean():.0%} of the instants, {share}")

# %%
figure = Figure(figsize=(8.0, 4.6), layout="constrained")
above, *below = figure.subplots(3, 1, sharex=True)
above.plot(time, command, linewidth=0.7, color="0.4")
above.set_ylabel("command [mm]")
for axis, (name, (delay, sd)) in zip(below, bands.items(), strict=True):
    axis.axhline(1e3 * true_delay, color="black", linewidth=3, alpha=0.3)
    axis.plot(time, 1e3 * delay, linewidth=1.0, color="tab:blue")
    axis.fill_between(time, 1e3 * (delay - 2 * sd), 1e3 * (delay + 2 * sd), color="tab:blue", alpha=0.25, linewidth=0)
    axis.set(ylabel=f"{name}\ndelay [ms]", ylim=(10.0, 26.0))
below[-1].set_xlabel("time [s]")
figure.savefig("earthquake_bands.png", dpi=90)
