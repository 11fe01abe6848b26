"""Makes the pictures of the README from the real thing: ``python -m docs.pictures``."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from rich.console import Console

from gui.link import ResultLink
from gui.terminal.dashboard import Dashboard
from monitor.commands.child import Child
from monitor.commands.demo import stage
from monitor.config import IndicatorSettings
from monitor.reliability.decision import Limits
from replay.assessment import assess
from replay.ensembles import simulate_ensemble
from replay.simulations import simulation
from replay.studies import reliability, reliability_pictures
from replay.studies.tracking import PARTS, run_study
from replay.studies.tracking_pictures import draw
from replay.validation.picture import draw as draw_validation
from replay.validation.records import MeasuredRecord
from replay.validation.site import Site
from replay.validation.tolerance_choice import read_tolerance
from replay.validation.validation import validate
from sim.models.beam import StochasticBeam

IMAGES = Path(__file__).parent / "images"
DURATION = 45.0
SHOWN = 0.97  # of the test, when the picture is taken
RATE = 1024.0


def dashboard(path: Path) -> None:
    """Run the demonstration and write what its dashboard shows shortly before the end."""
    console = Console(record=True, width=104, file=open(os.devnull, "w"), force_terminal=True)  # noqa: SIM115, PTH123
    with console.file, stage(DURATION, Path("runs/demo.h5"), console) as (watched, finished):
        while not finished() and (watched.health is None or watched.health.counts.received < SHOWN * DURATION * RATE):
            watched.take(0.1)
        console.print(watched.screen)
    path.write_text(console.export_svg(title="synchroscope demo"), encoding="utf-8")


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
        study = reliability.run_study(name)
        reliability_pictures.draw(study, folder)
        if name == "beam":
            instants = study.ensemble.time
            records = [MeasuredRecord(f"r{j}", instants, column, "m") for j, column in enumerate(study.bad.T, 1)]
            limits = {"accumulated": Limits(0.7, 0.85)}
            site = Site(study.ensemble, tuple(records))
            draw_validation(validate([site], read_tolerance("16%"), limits=limits), folder / "validate.png")


def rejection(path: Path) -> None:
    """Let a service judge the bad beam live, and write what `synchroscope watch` shows shortly before the end."""
    ensemble, signals, results = "beam.h5", "tcp://127.0.0.1:5655", "tcp://127.0.0.1:5656"
    simulate_ensemble(StochasticBeam(), 100_000, 1, Path(ensemble))
    judged = ["--ensemble", ensemble, "--response", "deflection", "--tolerance", "16%"]
    judged += ["--limit", "accumulated=0.7:0.85", "--limit", "first_passage=0.05:0.3"]
    serve = ["monitor", "--connect", signals, "--publish", results, "--record", "runs/beam.h5", "--once", *judged]
    console = Console(record=True, width=104, height=14, file=open(os.devnull, "w"), force_terminal=True)  # noqa: SIM115, PTH123
    with console.file, Child("service", *serve) as service:
        while not any("listening" in line for line in service.news()):
            time.sleep(0.1)
        with Child("publisher", "replay", "beam-bad", "--bind", signals) as publisher:
            link = ResultLink.connect(results)
            watched = Dashboard(link, console)
            while watched.health is None or watched.health.counts.received < 0.8 * 251:
                watched.take(0.1)
            console.print(watched.screen)
            link.close()
            while not publisher.ended:
                time.sleep(0.1)
        while not service.ended:
            time.sleep(0.1)
    path.write_text(console.export_svg(title="synchroscope watch"), encoding="utf-8")


def main() -> None:
    """Make all pictures."""
    images = IMAGES.resolve()
    (images / "tracking").mkdir(exist_ok=True, parents=True)
    draw(run_study(PARTS), images / "tracking")
    reliabilities(images / "reliability")
    with tempfile.TemporaryDirectory() as folder:
        # the path of the recording is in the picture
        os.chdir(folder)
        Path("runs").mkdir()
        dashboard(images / "dashboard.svg")
        rejection(images / "reliability" / "watch.svg")
        os.chdir(images)
    indicators(images / "indicators.png")


if __name__ == "__main__":
    main()
