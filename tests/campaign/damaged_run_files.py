"""Thousands of damaged run files through every reader: what was tried, refused, told, and what not.

python -m tests.campaign.damaged_run_files [--files N] [--seed N] [--readers NAME ...]
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cached_property
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
from tests.campaign.isolated import counted, print_counts
from tests.campaign.run_file_mutations import damage_structure, damaged_bytes, write_run


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
            {"samples": _bits(samples, *numbers), "results": _bits(values, epoch, index, seconds), "events": events},
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


@dataclass(frozen=True)
class DamagedRunFiles:
    """A run file damaged in many ways, half by bytes and half by structure; each meets one reader in turn."""

    folder: Path
    seed: int
    readers: Sequence[str]

    @cached_property
    def _source(self) -> Path:
        return write_run(self.folder / "whole.h5")

    @cached_property
    def _truth(self) -> Rows:
        return Rows.of(self._source)

    def name(self, number: int) -> str:
        """Return the reader, and whether bytes or the structure are damaged."""
        return f"{self.readers[number // 2 % len(self.readers)]} ({'bytes' if number % 2 else 'structure'})"

    def attempt(self, number: int) -> Iterator[str]:
        """Damage the file and let a reader loose on it."""
        chance, name = random.Random(f"{self.seed} {number}"), self.name(number).partition(" ")[0]
        path = self._source.with_name("damaged.h5")
        if number % 2:
            path.write_bytes(damaged_bytes(self._source.read_bytes(), chance))
        else:
            path.write_bytes(self._source.read_bytes())
            damage_structure(path, chance)
        reader: Callable[[Path], Iterator[str] | None] = getattr(self, name)
        yield f"{name}: tried"
        try:
            yield from reader(path) or ()
            yield f"{name}: kept"
        except (RunFileError, RecordingError) as problem:
            yield f"{name}: refused in one line"
            if not str(problem).isprintable():
                yield f"FAULT {name}: a line that is not printable"
        (self.folder / "recovered.h5").unlink(missing_ok=True)
        for left in self.folder.glob(".*.part"):
            yield f"FAULT {name}: a .part file left behind"
            left.unlink()

    def recover(self, path: Path) -> Iterator[str]:
        """Recover a file, and read what came of it."""
        done = recover(path, self.folder / "recovered.h5")
        told = done.warnings or done.trimmed
        yield from self._compare("recover", Rows.of(done.path), bool(told))

    def read(self, path: Path) -> Iterator[str]:
        """Read all of a file, with its checks."""
        yield from self._compare("read", Rows.of(path))

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

    def runs(self, path: Path) -> None:
        """List the folder, in which another run is whole."""
        for words in (("--json", "--rebuild"), ()):
            with redirect_stdout(StringIO()) as said:
                assert main(["runs", str(path.parent), *words]) == 0
            assert "whole.h5" in said.getvalue() and "\x1b" not in said.getvalue()

    def report(self, path: Path) -> None:
        """Write the page; its kernels must be compiled."""
        page = path.with_suffix(".html")
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()) as told:
            code = main(["report", str(path), "-o", str(page), "--overwrite"])
        if code:
            raise RecordingError(told.getvalue().removesuffix("\n"))
        assert all(char in "\n\t" or char.isprintable() for char in page.read_text())

    def _compare(self, name: str, rows: Rows, told: bool = False) -> Iterator[str]:
        if rows.told or any(rows.doubtful.values()):
            yield f"{name}: doubtful, and told"
        for part in () if told else rows.untold(self._truth):
            yield f"FAULT {name}: wrong or lost and not told ({part})"


READERS = ("recover", "read", "replay", "describe", "runs")
ALL = (*READERS, "assess", "report")


def campaign(
    folder: Path, files: int, seed: int, readers: Sequence[str] = READERS
) -> tuple[Counter[str], Counter[str]]:
    """Damage a run file in `files` ways; return how the readers ended, and their faults."""
    return counted(DamagedRunFiles(folder, seed, readers), files)


def run() -> int:
    """Run the campaign and print its table; return 1 if anything stands where zero belongs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--readers", nargs="+", choices=ALL, default=ALL)
    arguments = parser.parse_args()
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        tally, faults = campaign(Path(folder), arguments.files, arguments.seed, arguments.readers)
    print_counts(tally, faults)
    print(f"in {time.perf_counter() - began:.0f} s")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(run())
