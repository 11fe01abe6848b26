"""Pictures of the dashboard in a terminal, while a real service works."""

from __future__ import annotations

import os
import time
from pathlib import Path

from rich.console import Console

from gui.commands.demo import stage
from gui.model.receiver import ServiceSubscription
from gui.terminal.dashboard import Dashboard, Screen
from monitor.commands.process import ChildCommand
from replay.simulations.models import simulate_ensemble
from sim.models.beam import StochasticBeam

DURATION = 45.0
SHOWN = 0.97  # of the test, when the picture is taken
RATE = 1024.0


def dashboard(path: Path) -> None:
    """Run the demonstration and write what its dashboard shows shortly before the end."""
    console = Console(record=True, width=104, file=open(os.devnull, "w"), force_terminal=True)  # noqa: SIM115, PTH123
    with console.file, stage(DURATION, Path("runs/demo.h5"), console) as (watched, finished):
        while not finished() and (watched.health is None or watched.health.counts.received < SHOWN * DURATION * RATE):
            watched.update(0.1)
        console.print(Screen(watched.history))
    path.write_text(console.export_svg(title="synchroscope demo"), encoding="utf-8")


def rejection(path: Path) -> None:
    """Let a service judge the bad beam live, and write what `synchroscope watch` shows shortly before the end."""
    ensemble, signals, results = "beam.h5", "tcp://127.0.0.1:5655", "tcp://127.0.0.1:5656"
    simulate_ensemble(StochasticBeam(), 100_000, 1, Path(ensemble))
    judged = ["--ensemble", ensemble, "--response", "deflection", "--tolerance", "16%"]
    judged += ["--limit", "accumulated=0.7:0.85", "--limit", "first_passage=0.05:0.3"]
    serve = ["monitor", "--connect", signals, "--publish", results, "--record", "runs/beam.h5", "--once", *judged]
    console = Console(record=True, width=104, height=14, file=open(os.devnull, "w"), force_terminal=True)  # noqa: SIM115, PTH123
    with console.file, ChildCommand("service", *serve) as service:
        while not any("listening" in line for line in service.new_lines()):
            time.sleep(0.1)
        with ChildCommand("publisher", "replay", "beam-bad", "--bind", signals) as publisher:
            link = ServiceSubscription.connect(results)
            watched = Dashboard(link, console)
            while watched.health is None or watched.health.counts.received < 0.8 * 251:
                watched.update(0.1)
            console.print(Screen(watched.history))
            link.close()
            while not publisher.ended:
                time.sleep(0.1)
        while not service.ended:
            time.sleep(0.1)
    path.write_text(console.export_svg(title="synchroscope watch"), encoding="utf-8")
