"""Damaged recordings of every format, settings, ensembles and tolerances through their readers, and bombs.

python -m tests.campaign.damaged_files [--files N] [--seed N]
"""

from __future__ import annotations

import argparse
import io
import random
import struct
import sys
import tempfile
import time
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import h5py
import numpy as np

from monitor.config import SettingsError, load_settings
from monitor.ensembles.files import read_ensemble
from monitor.ensembles.plan_files import read_tolerance_table
from monitor.reliability.ensemble import EnsembleError
from monitor.reliability.tolerance import ToleranceError
from replay.formats import RecordingError, Selection, open_recording
from replay.formats.ground_motion import read_ground_motion
from replay.playback.description import open_described
from replay.validation.records import read_record
from tests.campaign.bombs import BOMBS, written_bomb
from tests.campaign.isolated import MEMORY, counted, print_counts
from tests.campaign.run_file_mutations import damaged_bytes
from tests.replay.written_formats import NAMES, TIMES, WRITERS, run_samples, written

_BOMB_EVERY = 100  # files
_MANY = 100  # cells
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
    *("1e400", "1e-320", "9" * 5000, "\xa0", "1\xa02", "&x;", "<a>" * 500, "</Data>", "<Data>", "<!", "null", "true"),
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


def _more_texts() -> dict[str, bytes]:
    """Return the run as text of OpenSees and PEER."""
    rows = np.column_stack((TIMES, run_samples()))[:300]
    lines = "".join(f"{' '.join(f'{value:.6g}' for value in row)}\n" for row in rows)
    responses = "".join(f"<ResponseType>{name}</ResponseType>" for name in NAMES)
    outputs = (
        f"<TimeOutput><ResponseType>time</ResponseType></TimeOutput><NodeOutput nodeTag='2'>{responses}</NodeOutput>"
    )
    motion = "".join(f"{'  '.join(f'{value:13.6E}' for value in five)}\n" for five in rows[:, 1].reshape(-1, 5))
    xml = f"<?xml version='1.0'?>\n<OpenSees>\n{outputs}\n<Data>\n{lines}</Data>\n</OpenSees>\n"
    return {
        "opensees.xml": xml.encode(),
        "motion.at2": f"PEER\nEVENT\nACCELERATION IN UNITS OF G\nNPTS= 300, DT= .001 SEC\n{motion}".encode(),
    }


def sources(folder: Path) -> dict[str, bytes]:
    """Return whole files by their names."""
    times = np.arange(60) / 10.0
    rows = "\n".join(f"{t:.1f},{np.sin(t):.6f},{np.sin(t - 0.1):.6f}" for t in times)
    response = np.random.default_rng(1).normal(size=(20, 30))
    np.savez(folder / "e.npz", time=times[:20], response=response)
    np.savez_compressed(folder / "packed.npz", time=times[:20], response=response)
    with h5py.File(folder / "e.h5", "w") as file:
        file["time"], file["response"] = times[:20], response
    for name in WRITERS:
        own = written(folder, name)
        own.replace(folder / f"{name}{own.suffix}")
    names = {f"{name}{suffix}" for name, (suffix, _) in WRITERS.items()}
    return {
        **{name: (folder / name).read_bytes() for name in sorted(names)},
        **_more_texts(),
        "table.csv": f"time [s],command [mm],measured [mm]\n{rows}\n".encode(),
        "bare.txt": rows.replace(",", " ").encode(),
        "comma.csv": f"time;command;measured\n{rows.replace(',', ';').replace('.', ',')}\n".encode(),
        "lab.toml": _SETTINGS.encode(),
        "tolerance.csv": f"time,tolerance\n{chr(10).join(f'{t},0.1' for t in times)}\n".encode(),
        **{name: (folder / name).read_bytes() for name in ("e.npz", "packed.npz", "e.h5")},
    }


def read(path: Path) -> None:
    """Read a file by all that its name calls for, a recording with all of its columns."""
    wanted: tuple[Callable[[Path], object], ...]
    if path.name == "tolerance.csv":
        wanted = (lambda each: read_tolerance_table(each, np.arange(10) / 10.0),)
    elif path.name in ("e.npz", "packed.npz", "e.h5"):
        wanted = (read_ensemble,)
    elif path.suffix == ".toml":
        wanted = (lambda each: load_settings(each, {}),)
    elif path.suffix == ".at2":
        wanted = (read_ground_motion,)
    else:
        wanted = (lambda each: open_described(each, n_columns=20)[0], _read_samples, read_record)
    refused: list[Exception] = []
    for reader in wanted:
        try:
            reader(path)
        except REFUSALS as problem:
            refused.append(problem)
    if len(refused) == len(wanted):
        raise refused[0]


def _read_samples(path: Path) -> None:
    try:
        recording = open_recording(path)
    except RecordingError:
        recording = open_recording(path, Selection(auxiliary=True))
    assert all(note.isprintable() for note in recording.notes)
    for block in recording.blocks(333):
        assert block.samples.shape == (len(block), len(recording.stream.channels))


def damaged(whole: bytes, name: str, chance: random.Random) -> bytes:
    """Return a file damaged byte by byte, also within what is compressed, or a text with an unexpected cell."""
    if name.startswith("mat-5-packed") and chance.random() < 0.7:
        return _repacked_mat(whole, chance)
    if name.endswith(".npz") and chance.random() < 0.5:
        return _repacked_zip(whole, chance)
    is_text = name.endswith((".csv", ".txt", ".toml", ".json", ".jsonl", ".xml", ".at2"))
    if not is_text or chance.random() < 0.4:
        return damaged_bytes(whole, chance)
    lines = whole.decode().splitlines()
    for _ in range(chance.choice((1, 1, 3, 20))):
        row = chance.randrange(len(lines))
        cells = lines[row].split(",") or [""]
        cells[chance.randrange(len(cells))] = chance.choice(_CELLS)
        match chance.randrange(6):
            case 0:
                cells *= chance.choice((0, 2, 300)) if len(cells) < _MANY else 1
            case 1:
                lines.insert(row, lines[chance.randrange(len(lines))])
        lines[row] = ",".join(cells)
    return "\n".join(lines).encode("utf-8", "replace")


def _repacked_mat(whole: bytes, chance: random.Random) -> bytes:
    """Damage the content of the compressed elements of a MAT file."""
    found, at = whole[:128], 128
    while at < len(whole):
        kind, count = struct.unpack_from("<II", whole, at)
        packed = zlib.compress(damaged_bytes(zlib.decompress(whole[at + 8 : at + 8 + count]), chance))
        found += struct.pack("<II", kind, len(packed)) + packed
        at += 8 + count
    return found


def _repacked_zip(whole: bytes, chance: random.Random) -> bytes:
    """Damage a member of a zip file, with the right checksum."""
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(whole)) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new:
        unlucky = chance.choice(old.namelist())
        for name in old.namelist():
            content = old.read(name)
            new.writestr(name, damaged_bytes(content, chance) if name == unlucky else content)
    return target.getvalue()


@dataclass(frozen=True)
class DamagedFiles:
    """The sources, damaged; every hundredth file is a bomb."""

    folder: Path
    seed: int

    @cached_property
    def _whole(self) -> dict[str, bytes]:
        return sources(self.folder)

    def name(self, number: int) -> str:
        """Return the name of the source or bomb."""
        turn, left = divmod(number, _BOMB_EVERY)
        if left == _BOMB_EVERY - 1:
            return list(BOMBS)[(self.seed + turn) % len(BOMBS)]
        return list(self._whole)[number % len(self._whole)]

    def attempt(self, number: int) -> Iterator[str]:
        """Damage and read a file."""
        chance, name = random.Random(f"{self.seed} {number}"), self.name(number)
        if name in BOMBS:
            path, reader = self.folder / "bombs" / f"{name}{BOMBS[name][0]}", _read_samples
        else:
            path, reader = self.folder / name, read
            path.write_bytes(damaged(self._whole[name], name, chance))
        yield f"{name}: tried"
        try:
            reader(path)
            yield f"{name}: read"
            if name in BOMBS:
                yield f"FAULT {name}: a bomb is read"
        except REFUSALS as problem:
            yield f"{name}: refused in one line"
            # what is printed goes through `printable`; lines must not become several
            if "\n" in str(problem):
                yield f"FAULT {name}: several lines: {str(problem)[:200]!r}"


def campaign(folder: Path, files: int, seed: int) -> tuple[Counter[str], Counter[str]]:
    """Damage the sources in `files` ways; return how the readers ended, and their faults."""
    attempts, bombs = DamagedFiles(folder, seed), folder / "bombs"
    bombs.mkdir()
    for name in {attempts.name(number) for number in range(_BOMB_EVERY - 1, files, _BOMB_EVERY)}:
        written_bomb(bombs, name, 3 * MEMORY)
    return counted(attempts, files)


def run() -> int:
    """Run the campaign and print its table; return 1 if anything stands where zero belongs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        tally, faults = campaign(Path(folder), arguments.files, arguments.seed)
    print_counts(tally, faults)
    print(f"in {time.perf_counter() - began:.0f} s")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(run())
