"""Thousands of damaged run files through every reader, in this process: what was tried, refused, told, and what not.

python -m tests.campaign.damaged_run_files [--files N] [--seed N] [--readers NAME ...]
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
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path

import numpy as np

from monitor.__main__ import main
from monitor.messages.blocks import Event
from monitor.recording import RunFileError, RunReader
from monitor.recording.recovery import recover
from monitor.recording.verification import Span
from replay.formats import RecordingError, open_recording
from replay.playback.description import open_described
from tests.campaign.run_file_mutations import damage_structure, damaged_bytes, write_run

_SLOW = 5.0  # s of processor time for a file of a megabyte


@dataclass(frozen=True, eq=False)
class Rows:
    """All rows of a run file, and which of them it calls doubtful itself."""

    parts: dict[str, np.ndarray]
    doubtful: dict[str, tuple[Span, ...]]
    told: str

    @classmethod
    def of(cls, path: Path) -> Rows:
        """Read a run file as a whole."""
        with RunReader(path) as reader:
            doubts = reader.check()
            blocks = list(reader.signal_blocks(1 << 12))
            width = len(reader.stream.channels)
            samples = np.concatenate([np.empty((0, width)), *(block.samples for block in blocks)])
            rows = [rows for _, rows in reader.numbering()]
            numbers = [np.concatenate([getattr(r, n) for r in rows]) for n in ("time", "epoch", "index") if rows]
            epoch, index, seconds, values = reader.results()
            events = np.array([_line(event) for event in reader.events()])
            lost = sum(verdict.missing for verdict in (doubts.signals, doubts.results, doubts.events))
            told = "; ".join(doubts.lines) + (f"{lost} rows are lost" if lost else "")
        return cls(
            {
                "samples": _bits(samples, *numbers),
                "results": _bits(values, epoch, index, seconds),
                "events": events,
            },
            {
                "samples": (*doubts.signals.doubtful, *doubts.signals.unchecked),
                "results": (*doubts.results.doubtful, *doubts.results.unchecked),
                "events": (*doubts.events.doubtful, *doubts.events.unchecked),
            },
            told,
        )

    def untold(self, truth: Rows) -> list[str]:
        """Name the parts in which something is wrong or missing of which the file says nothing."""
        found = []
        for name, rows in self.parts.items():
            sure = np.ones(len(rows), bool)
            for start, stop in self.doubtful[name]:
                sure[start:stop] = False
            whole = truth.parts[name]
            n = min(len(rows), len(whole))
            if name == "events" and len(rows) < len(whole) and self.doubtful[name]:
                # events without a kind are left out, and those behind them move up
                doubtful = np.concatenate([np.arange(*span) for span in self.doubtful[name]])
                same = set(np.delete(whole, doubtful)) <= set(rows)
            else:
                same = rows.shape[1:] == whole.shape[1:] and bool(np.all(rows[:n][sure[:n]] == whole[:n][sure[:n]]))
            if not (same or self.told) or (len(rows) != len(whole) and not self.told and not self.doubtful[name]):
                found.append(name)
        return found


def _bits(values: np.ndarray, *columns: np.ndarray) -> np.ndarray:
    """Return the rows as bit patterns, which can be compared where they are no numbers."""
    return (
        np.column_stack([a.view(np.int64) for a in (values, *columns)]) if len(values) else np.empty((0, 0), np.int64)
    )


def _line(event: Event) -> str:
    return f"{event.kind} {event.time} {event.index} {event.count} {event.detail}"


@dataclass
class Campaign:
    """Readers, the truth, and what has been found."""

    folder: Path
    truth: Rows
    tally: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)

    def recover(self, path: Path) -> None:
        """Recover a file, and read what came of it."""
        done = recover(path, self.folder / "recovered.h5")
        told = done.warnings or done.trimmed
        self._compare("recover", Rows.of(done.path), bool(told))

    def read(self, path: Path) -> None:
        """Read all of a file, with its checks."""
        self._compare("read", Rows.of(path))

    def replay(self, path: Path) -> None:
        """Read it as a recording that is played or assessed, and see what is said of it."""
        recording = open_recording(path)
        assert all(note.isprintable() for note in recording.notes)
        assert 0.0 <= recording.duration < float("inf")
        for block in recording.blocks(64, 0.3):
            assert block.samples.shape == (len(block), len(recording.stream.channels))
            assert block.index >= 0 and block.stream.epoch >= 0

    def describe(self, path: Path) -> None:
        """Describe it as for the window."""
        open_described(path, n_columns=50)[0]

    def assess(self, path: Path) -> None:
        """Let the command assess it; its kernels must be compiled, which takes minutes in a new folder."""
        with redirect_stdout(StringIO()) as said, redirect_stderr(StringIO()) as told:
            code = main(["assess", str(path), "--json"])
        if code:
            raise RecordingError(told.getvalue().removesuffix("\n"))
        assert "\x1b" not in said.getvalue()

    def _compare(self, name: str, rows: Rows, told: bool = False) -> None:
        self.tally[f"{name}: doubtful, and told"] += bool(rows.told or any(rows.doubtful.values()))
        for part in rows.untold(self.truth):
            if not told:
                self.faults[f"{name}: wrong or lost and not told ({part})"] += 1

    def attempt(self, path: Path, name: str, what: str) -> None:
        """Let a reader loose on a damaged file, and count how it ended."""
        reader: Callable[[Path], None] = getattr(self, name)
        began = time.process_time()
        self.tally[f"{name}: tried"] += 1
        try:
            reader(path)
            self.tally[f"{name}: kept"] += 1
        except (RunFileError, RecordingError) as problem:
            self.tally[f"{name}: refused in one line"] += 1
            if not str(problem).isprintable():
                self.faults[f"{name}: a line that is not printable"] += 1
        except Exception as problem:  # noqa: BLE001 whatever comes is what is counted
            at = traceback.extract_tb(problem.__traceback__)[-1]
            self.faults[f"{name}: {type(problem).__name__} at {Path(at.filename).name}:{at.lineno} ({what})"] += 1
        if time.process_time() - began > _SLOW:
            self.faults[f"{name}: longer than {_SLOW:g} s ({what})"] += 1
        (self.folder / "recovered.h5").unlink(missing_ok=True)
        for left in self.folder.glob(".*.part"):
            self.faults[f"{name}: a .part file left behind"] += 1
            left.unlink()


READERS = ("recover", "read", "replay", "describe")
ALL = (*READERS, "assess")


def campaign(folder: Path, files: int, seed: int, readers: Sequence[str] = READERS) -> Campaign:
    """Damage a run file in `files` ways, half by bytes and half by structure; each meets one reader in turn."""
    chance = random.Random(seed)
    source = write_run(folder / "whole.h5")
    whole = source.read_bytes()
    found = Campaign(folder, Rows.of(source))
    path = folder / "damaged.h5"
    for number in range(files):
        if number % 2:
            path.write_bytes(damaged_bytes(whole, chance))
            what = "bytes"
        else:
            path.write_bytes(whole)
            what = damage_structure(path, chance)
        found.attempt(path, readers[number // 2 % len(readers)], what)
    return found


def run() -> int:
    """Run the campaign and print its table; return 1 if anything stands where zero belongs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--readers", nargs="+", choices=ALL, default=ALL)
    arguments = parser.parse_args()
    # what is only warned of here is a line on somebody's screen
    warnings.simplefilter("error")
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        found = campaign(Path(folder), arguments.files, arguments.seed, arguments.readers)
    for name, count in [*sorted(found.tally.items()), *sorted(found.faults.items())]:
        print(f"{count:8d}  {name}")
    print(f"{sum(found.faults.values()):8d}  faults, in {time.perf_counter() - began:.0f} s")
    return 1 if found.faults else 0


if __name__ == "__main__":
    sys.exit(run())
