"""Print and draw the shock response spectrum of an acceleration record, in octaves up to 30 kHz; needs matplotlib.

python shock_spectrum.py PICTURE.png [RECORD [CHANNEL]]

Without a record one is generated. It is not a measurement, but decaying sines from 1 to 30 kHz behind a steep front,
as after an explosion. RECORD is any file that Synchroscope reads, and CHANNEL the name of one of its channels.
"""

import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np

from replay.formats import Selection, open_recording
from sim.updating.shock_spectrum import octave_frequencies, shock_spectrum

mpl.use("agg")
from matplotlib import pyplot as plt

HIGHEST, DAMPING, RATE = 30e3, 0.05, 1e6  # Hz, ratio, Hz of the generated record
UNIT = "g"


def generated() -> np.ndarray:
    """Return 5 ms of synthetic acceleration in g, the first 0.2 ms at rest."""
    generator, time = np.random.default_rng(1), np.arange(5000) / RATE - 0.2e-3
    frequency = generator.uniform(1e3, 30e3, 60)[:, None]
    size = generator.normal(0.0, 400.0, 60)[:, None] * np.exp(-(((frequency - 15e3) / 9e3) ** 2))
    modes = size * np.sin(2 * np.pi * frequency * time) * np.exp(-0.03 * 2 * np.pi * frequency * time)
    front = np.minimum(time / 10e-6, 1.0)  # 10 us
    return np.where(time > 0.0, front * modes.sum(axis=0), 0.0)


def read(path: str, channel: str) -> tuple[np.ndarray, float, str]:
    """Return a channel's samples, its rate and its unit."""
    recording = open_recording(path, Selection(auxiliary=True))
    channels = recording.stream.channels
    names = [each.name for each in channels]
    if channel not in names and (channel or len(names) > 1):
        sys.exit(f"{path}: give one of its channels: {', '.join(names)}")
    column = names.index(channel) if channel else 0
    for note in recording.notes:
        print(f"note: {note}", file=sys.stderr)
    stretches: list[list[np.ndarray]] = []
    expected = -1
    for block in recording.blocks(4096):
        if block.index != expected:
            stretches.append([])
        stretches[-1].append(block.samples[:, column])
        expected = block.index + len(block.samples)
    whole = [np.concatenate(each) for each in stretches]
    samples = max(whole, key=len)
    if len(whole) > 1:
        # a gap that is bridged would be a shock of its own
        used = f"the longest of {len(whole)} stretches is used, {len(samples)} samples"
        print(f"note: samples are missing: {used}", file=sys.stderr)
    return samples, recording.stream.sample_rate, channels[column].unit


def main(picture: str, path: str = "", channel: str = "") -> None:
    record, rate, unit = read(path, channel) if path else (generated(), RATE, UNIT)
    title = f"{Path(path).name} {channel}".strip() if path else "synthetic record, not a measurement"
    highest = min(HIGHEST, rate / 10)  # ten samples in a cycle
    lowest = max(rate / len(record), highest / 1024)  # a cycle in the record, ten octaves at the most
    octaves = highest / 2.0 ** np.arange(int(np.log2(highest / lowest)), -1, -1)
    print(f"{title}: {len(record)} samples at {rate:g} Hz, peak {np.abs(record).max():.4g} {unit}")
    print(f"natural frequency [Hz]   maximax [{unit}], {100 * DAMPING:g} % damping")
    for frequency, value in zip(octaves, shock_spectrum(record, rate, octaves, DAMPING).maximax(), strict=True):
        print(f"{frequency:22.5g}   {value:.4g}")

    spectrum = shock_spectrum(record, rate, octave_frequencies(lowest, highest, 12), DAMPING)
    figure, (above, below) = plt.subplots(2, figsize=(8, 7), layout="constrained")
    above.plot(1e3 * np.arange(len(record)) / rate, record, linewidth=0.7)
    above.set(title=title, xlabel="time [ms]", ylabel=f"acceleration [{unit}]")
    for label, values in (
        ("maximax", spectrum.maximax()),
        ("positive", spectrum.positive()),
        ("negative", spectrum.negative()),
        ("residual", spectrum.maximax("residual")),
    ):
        below.loglog(spectrum.frequencies, values, label=label, linewidth=1.8 if label == "maximax" else 0.8)
    below.set(xlabel="natural frequency [Hz]", ylabel=f"acceleration [{unit}]")
    below.legend(title=f"{100 * DAMPING:g} % damping")
    for axis in (above, below):
        axis.grid(visible=True, which="both", alpha=0.3)
    figure.savefig(picture, dpi=130)


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 4:
        sys.exit("usage: shock_spectrum.py PICTURE.png [RECORD [CHANNEL]]")
    try:
        main(*sys.argv[1:])
    except (OSError, ValueError) as problem:
        sys.exit(str(problem))
