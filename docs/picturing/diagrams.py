"""Pictures of what the indicators and the reliabilities make of signals whose truth is known."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from monitor.config import IndicatorSettings
from monitor.reliability.decision import DecisionLimits
from replay.assessment import assess
from replay.commands.validate_report import validation_drawing
from replay.papers.reliability.blocks import study_blocks
from replay.papers.reliability.study import run_study
from replay.pictures import DPI, save_figures
from replay.simulations import simulation
from replay.validation.records import MeasuredRecord, read_tolerance
from replay.validation.validation import Site, validate


def indicators(path: Path) -> None:
    """Draw what was injected into the simulated test, and what the indicators made of it."""
    recording = simulation("hybrid", duration=60.0)
    found = assess(recording, IndicatorSettings(window=2.0))
    truth = {channel.name: column for column, channel in enumerate(recording.stream.channels)}
    samples = np.concatenate([block.samples for block in recording.blocks(4096)])
    seconds = found.series.time - found.series.time[0]
    width = len(found.series.columns) // len(found.pairs)
    names = [column.name for column in found.series.columns[:width]]
    figure, axes = plt.subplots(2, len(found.pairs), figsize=(10.0, 4.6), sharex=True, layout="constrained")
    for i, assessed in enumerate(found.pairs):
        actuator = assessed.pair.actuator
        rows = (("delay", 1e3, "delay [ms]"), ("ratio", 1.0, "command / measured [-]"))
        for axis, (quantity, factor, label) in zip(axes[:, i], rows, strict=True):
            injected = factor * samples[:, truth[f"{actuator}.true_{quantity}"]]
            axis.plot(seconds, injected, color="0.75", linewidth=5, label="injected")
            for kind, style in (("fdb", "-"), ("paei", "--")):
                column = i * width + names.index(f"{kind}_{quantity}")
                axis.plot(seconds, factor * found.series.values[:, column], style, linewidth=1.3, label=kind.upper())
            axis.set_ylabel(label if i == 0 else "")
            axis.grid(alpha=0.3)
        axes[1, i].set_ylim(0.85, 1.2)
        axes[0, i].set_title(actuator)
        axes[1, i].set_xlabel("time [s]")
    axes[0, 0].legend(loc="lower left", fontsize="small")
    figure.savefig(path, dpi=110)


def reliabilities(folder: Path) -> None:
    """Draw the examples of reliability, and a validation of the bad beam."""
    folder.mkdir(exist_ok=True)
    for name in ("beam", "sandia"):
        study = run_study(name)
        save_figures(study_blocks(study), folder)
        if name == "beam":
            instants = study.ensemble.time
            records = [MeasuredRecord(f"r{j}", instants, column, "m") for j, column in enumerate(study.bad.T, 1)]
            limits = {"accumulated": DecisionLimits(0.7, 0.85)}
            site = Site(study.ensemble, tuple(records))
            found = validate([site], read_tolerance("16%"), limits=limits)
            validation_drawing(found).savefig(folder / "validate.png", dpi=DPI)
