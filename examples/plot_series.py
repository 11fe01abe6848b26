"""Draw the delay and the ratio that `synchroscope assess RECORD --series SERIES.csv` wrote; needs matplotlib.

python plot_series.py SERIES.csv PICTURE.png [ACTUATOR]

The name of an actuator is needed where the record has several.
"""

import csv
import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("agg")
from matplotlib import pyplot as plt


def main(series: str, picture: str, actuator: str = "") -> None:
    with Path(series).open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file)
        names = [heading.partition(" [")[0] for heading in next(rows)]
        table = np.array([[float(cell or "nan") for cell in row] for row in rows])  # an empty cell is not valid
    prefix = f"{actuator}_" if actuator else ""

    def column(name: str) -> np.ndarray:
        return table[:, names.index(name if name == "t" else prefix + name)]

    figure, axes = plt.subplots(2, sharex=True, layout="constrained")
    for axis, name, factor, label in zip(axes, ("delay", "ratio"), (1e3, 1.0), ("delay [ms]", "ratio"), strict=True):
        value, sd = factor * column(f"broadband_{name}"), factor * column(f"broadband_{name}_sd")
        axis.fill_between(column("t"), value - 2 * sd, value + 2 * sd, alpha=0.3)
        axis.plot(column("t"), value)
        axis.set_ylabel(label)
        axis.grid(visible=True)
    axes[1].set_xlabel("time from the start of the record [s]")
    figure.savefig(picture, dpi=150)


if __name__ == "__main__":
    if not 3 <= len(sys.argv) <= 4:
        sys.exit("usage: plot_series.py SERIES.csv PICTURE.png [ACTUATOR]")
    main(*sys.argv[1:])
