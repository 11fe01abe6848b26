"""Damaged text tables, settings, ensembles and tolerances through their readers, in this process.

python -m tests.campaign.damaged_tables [--files N] [--seed N]
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np

from monitor.config import SettingsError, load_settings
from monitor.ensembles.plan_files import read_tolerance_table
from monitor.ensembles.reader import read_ensemble
from monitor.reliability.ensemble import EnsembleError
from monitor.reliability.tolerance import ToleranceError
from replay.formats import RecordingError
from replay.playback.description import open_described
from replay.validation.records import read_record
from tests.campaign.run_file_mutations import damaged_bytes

_SLOW = 5.0  # s of processor time for a file of some kB
_CELLS = (
    *(
        "",
        "nan",
        "inf",
        "-inf",
        "1e308",
        "-1e308",
        "1e-308",
        "5e-324",
        "9" * 400,
        "0x10",
        "1_0",
        "1,5",
        "--",
        "\x00",
        "\x1b[2J",
    ),
    *(
        '"',
        '""',
        "'",
        "=1",
        "é",
        "\ud83d".encode("utf-8", "surrogatepass").decode("latin-1"),
        ";",
        "\t",
        "#",
        "%",
        "[",
        "]]",
        "{" * 500,
    ),
)
_SETTINGS = """[indicators]
window = 1.0
band = [0.1, 10.0]
[record]
path = "runs/"
[[alarms.limit]]
value = "fdb_delay"
trip = 0.05
"""
REFUSALS = (RecordingError, SettingsError, EnsembleError, ToleranceError)


def sources(folder: Path) -> dict[str, bytes]:
    """Return whole files by their names."""
    times = np.arange(60) / 10.0
    rows = "\n".join(f"{t:.1f},{np.sin(t):.6f},{np.sin(t - 0.1):.6f}" for t in times)
    response = np.random.default_rng(1).normal(size=(20, 30))
    np.savez(folder / "e.npz", time=times[:20], response=response)
    np.savez_compressed(folder / "packed.npz", time=times[:20], response=response)
    with h5py.File(folder / "e.h5", "w") as file:
        file["time"], file["response"] = times[:20], response
    return {
        "table.csv": f"time [s],command [mm],measured [mm]\n{rows}\n".encode(),
        "bare.txt": rows.replace(",", " ").encode(),
        "comma.csv": f"time;command;measured\n{rows.replace(',', ';').replace('.', ',')}\n".encode(),
        "lab.toml": _SETTINGS.encode(),
        "tolerance.csv": f"time,tolerance\n{chr(10).join(f'{t},0.1' for t in times)}\n".encode(),
        **{name: (folder / name).read_bytes() for name in ("e.npz", "packed.npz", "e.h5")},
    }


def read(path: Path) -> None:
    """Read a file by all that its name calls for."""
    instants = np.arange(10) / 10.0
    readers: dict[str, tuple[Callable[[Path], object], ...]] = {
        ".toml": (lambda each: load_settings(each, {}),),
        ".npz": (read_ensemble,),
        ".h5": (read_ensemble,),
        ".csv": (lambda each: open_described(each, n_columns=20)[0], read_record),
        ".txt": (lambda each: open_described(each, n_columns=20)[0], read_record),
    }
    refused: list[Exception] = []
    wanted = readers[path.suffix]
    if path.name == "tolerance.csv":
        wanted = (lambda each: read_tolerance_table(each, instants),)
    for reader in wanted:
        try:
            reader(path)
        except REFUSALS as problem:
            refused.append(problem)
    if len(refused) == len(wanted):
        raise refused[0]


def damaged(whole: bytes, name: str, chance: random.Random) -> bytes:
    """Return a file damaged byte by byte, or a text with a cell that nobody expects."""
    if name.endswith((".npz", ".h5")) or chance.random() < 0.4:
        return damaged_bytes(whole, chance)
    lines = whole.decode().splitlines()
    for _ in range(chance.choice((1, 1, 3, 20))):
        row = chance.randrange(len(lines))
        cells = lines[row].split(",") or [""]
        cells[chance.randrange(len(cells))] = chance.choice(_CELLS)
        match chance.randrange(6):
            case 0:
                cells *= chance.choice((0, 2, 300))
            case 1:
                lines.insert(row, lines[chance.randrange(len(lines))])
        lines[row] = ",".join(cells)
    return "\n".join(lines).encode("utf-8", "replace")


def campaign(folder: Path, files: int, seed: int) -> tuple[Counter[str], Counter[str]]:
    """Damage the sources in `files` ways; return how the readers ended, and their faults."""
    chance = random.Random(seed)
    whole = sources(folder)
    tally: Counter[str] = Counter()
    faults: Counter[str] = Counter()
    for number in range(files):
        name = list(whole)[number % len(whole)]
        path = folder / name
        path.write_bytes(damaged(whole[name], name, chance))
        began = time.process_time()
        tally[f"{name}: tried"] += 1
        try:
            read(path)
            tally[f"{name}: read"] += 1
        except REFUSALS as problem:
            tally[f"{name}: refused in one line"] += 1
            # what is printed goes through `printable`; lines must not become several
            if "\n" in str(problem):
                faults[f"{name}: several lines: {str(problem)[:200]!r}"] += 1
        except Exception as problem:  # noqa: BLE001 whatever comes is what is counted
            at = traceback.extract_tb(problem.__traceback__)[-1]
            faults[f"{name}: {type(problem).__name__} at {Path(at.filename).name}:{at.lineno}: {problem}"[:200]] += 1
        if time.process_time() - began > _SLOW:
            faults[f"{name}: longer than {_SLOW:g} s"] += 1
    return tally, faults


def run() -> int:
    """Run the campaign and print its table; return 1 if anything stands where zero belongs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    # what is only warned of here is a line on somebody's screen
    warnings.simplefilter("error")
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        tally, faults = campaign(Path(folder), arguments.files, arguments.seed)
    for name, count in [*sorted(tally.items()), *sorted(faults.items())]:
        print(f"{count:8d}  {name}")
    print(f"{sum(faults.values()):8d}  faults, in {time.perf_counter() - began:.0f} s")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(run())
