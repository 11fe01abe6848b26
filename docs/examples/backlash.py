"""Play in a joint looks like a delay, and is none: it grows as the motion becomes smaller."""

# %% [markdown]
# Five tests of one joint with a play of 0.4 mm, moved by sines of 1.5 Hz that differ in size alone. The laboratory's
# part and the indicator both take the five at once, as the columns of one array.

# %%
import numpy as np
from matplotlib.figure import Figure

from monitor import FrequencyDomainIndicator
from sim.laboratory.transfer import Backlash

rate, frequency, gap = 1000.0, 1.5, 0.4  # Hz, Hz, mm
amplitude = np.array([0.3, 0.5, 1.0, 3.0, 10.0])  # mm
time = np.arange(0.0, 6.0, 1.0 / rate)
command = amplitude * np.sin(2 * np.pi * frequency * time)[:, None]
joint = Backlash(gap).begin(1.0 / rate, amplitude.shape, np.random.default_rng(1))
measured = np.array([joint.step(row, np.zeros(row.shape)) for row in command])

indicator = FrequencyDomainIndicator(rate, window=4.0, n_pairs=amplitude.size)
indicator.update_block(command, measured)
delay, ratio = np.array(indicator.value.delay), np.array(indicator.value.ratio)

# %% [markdown]
# The fundamental of the joint's motion is known in closed form: the describing function of play. A delay would be the
# same at every amplitude; a compensator that leads by what was found at one of them is wrong at the next.

# %%
sizes = np.geomspace(0.25, 12.0, 200)
part = 0.5 * gap / sizes
real = 0.5 + (np.arcsin(1 - 2 * part) + 2 * (1 - 2 * part) * np.sqrt(part * (1 - part))) / np.pi
fundamental = real - 4j / np.pi * part * (1 - part)
known_delay = -np.angle(fundamental) / (2 * np.pi * frequency)  # s
for size, late, small in zip(amplitude, delay, ratio, strict=True):
    expected = np.interp(size, sizes, known_delay)
    print(f"{size:4.1f} mm: {1e3 * late:.2f} ms, expected {1e3 * expected:.2f} ms; command over measured {small:.3f}")

# %%
figure = Figure(figsize=(8.0, 3.4), layout="constrained")
left, right = figure.subplots(1, 2)
last = slice(-round(rate / frequency) - 1, None)  # one cycle
for test in (0, 2, 4):
    size = amplitude[test]
    left.plot(command[last, test] / size, measured[last, test] / size, label=f"{size:g} mm")
left.set(xlabel="command / amplitude", ylabel="measured / amplitude")
left.legend(title="amplitude", fontsize="small")
right.semilogx(sizes, 1e3 * known_delay, color="0.7", linewidth=3, label="describing function")
right.semilogx(amplitude, 1e3 * delay, "o", label="FDB")
right.set_xticks(amplitude, [f"{size:g}" for size in amplitude])
right.minorticks_off()
right.set(xlabel="amplitude [mm]", ylabel="apparent delay [ms]")
right.legend()
figure.savefig("backlash.png", dpi=90)
