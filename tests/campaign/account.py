"""What was kept of the samples of numbered rigs, row by row: sent = kept + announced + unannounced."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from monitor.messages.blocks import Event, EventKind
from monitor.recording import RunFileError, RunReader, layout
from monitor.recording.recovery import recover
from tests.campaign.numbered_rig import values

_BACKLOG = "stopped while behind: about so many"
_PIECE = 1 << 16


@dataclass
class Kept:
    """What is in the run files of one recording.

    Parameters
    ----------
    numbers : by epoch, the numbers of the samples, in order, each once.
    rows : by epoch, how many rows there are, also of the same number.
    wrong : rows whose values are not those of their number.
    backwards : how often numbers go back within a file.
    outcomes : of each file, as it was found.
    events : of all files.
    unreadable : files that could not be read, each with why.
    """

    numbers: dict[int, NDArray[np.int64]] = field(default_factory=dict)
    rows: dict[int, int] = field(default_factory=dict)
    wrong: int = 0
    backwards: int = 0
    outcomes: list[str] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)

    @property
    def samples(self) -> int:
        """How many different samples there are."""
        return sum(map(len, self.numbers.values()))

    def gaps(self) -> int:
        """Return how many samples the events say are missing from the stream."""
        return sum(event.count for event in self.events if event.kind is EventKind.GAP)

    def backlog(self) -> int:
        """Return how many of them the service had when it was stopped."""
        return sum(event.count for event in self.events if event.detail.startswith(_BACKLOG))

    def notes(self) -> list[str]:
        """Return the notes, in order."""
        return [event.detail for event in self.events if event.kind is EventKind.NOTE]


def kept_in(*folders: Path) -> Kept:
    """Read all run files in these folders; one that was not closed is recovered first, beside it."""
    found = Kept()
    numbers: defaultdict[int, list[NDArray[np.int64]]] = defaultdict(list)
    paths = [path for folder in folders for path in sorted(folder.glob("*.h5")) if ".recovered" not in path.name]
    for path in paths:
        try:
            for epoch, index in _rows_of(path, found):
                numbers[epoch].append(index)
        except RunFileError as problem:
            found.unreadable.append(str(problem))
    found.rows = {epoch: sum(map(len, parts)) for epoch, parts in numbers.items()}
    found.numbers = {epoch: np.unique(np.concatenate(parts)) for epoch, parts in numbers.items()}
    return found


def _rows_of(path: Path, found: Kept) -> Iterable[tuple[int, NDArray[np.int64]]]:
    with RunReader(path) as run:
        outcome = run.outcome
    found.outcomes.append(outcome)
    if outcome == layout.OPEN:
        path = recover(path, path.with_name(f"{path.stem}.recovered-{os.getpid()}.h5")).path
    before: dict[int, int] = {}
    with RunReader(path) as run:
        found.events += run.events()
        for block in run.signal_blocks(_PIECE):
            epoch, index = block.stream.epoch, block.index + np.arange(len(block))
            same = block.samples.view(np.int64) == values(epoch, index).view(np.int64)
            found.wrong += int(np.count_nonzero(~same.all(axis=1)))
            found.backwards += block.index <= before.get(epoch, -1)
            before[epoch] = block.index + len(block) - 1
            yield epoch, index


@dataclass(frozen=True)
class Account:
    """Samples of one stream, sent from `first` on, `sent` of them.

    Parameters
    ----------
    kept : of these, in the files.
    missing : of these, not.
    announced, unannounced : of the missing.
    """

    kept: int
    missing: int
    announced: int
    unannounced: int


def balance(kept: Kept, sent: Iterable[tuple[int, int, int]], said: int) -> Account:
    """Compare what was sent, as (epoch, first number, count), with what was kept and what is `said` to be missing."""
    there = total = 0
    for epoch, first, count in sent:
        numbers = kept.numbers.get(epoch, np.empty(0, np.int64))
        there += int(np.count_nonzero((numbers >= first) & (numbers < first + count)))
        total += count
    missing = total - there
    announced = min(missing, said)
    return Account(there, missing, announced, missing - announced)


_LAST_WORDS = re.compile(r"(\d+) samples received, (\d+) lost, (\d+) duplicate, (\d+) late, (\d+) messages rejected")
_UNRECORDED = re.compile(r"(\d+) samples were not recorded")


@dataclass(frozen=True)
class LastWords:
    """The counts that a service prints when it ends."""

    received: int
    lost: int
    doubled: int
    late: int
    refused: int
    unrecorded: int

    @classmethod
    def of(cls, text: str) -> LastWords | None:
        """Find them in what it printed; None where it did not say them."""
        counts, unrecorded = _LAST_WORDS.search(text), _UNRECORDED.search(text)
        if counts is None:
            return None
        return cls(*map(int, counts.groups()), int(unrecorded[1]) if unrecorded else 0)

    def missing(self, backlog: int) -> int:
        """Return how many samples it says are missing from its files; of its backlog it says so twice."""
        return self.lost + self.unrecorded - min(backlog, self.lost, self.unrecorded)
