"""Attempts in processes with limits of memory and time: a crash in one is seen, counted, and ends no other."""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Protocol

MEMORY = 100_000_000
"""Bytes that a file may take: what SYNCHROSCOPE_MEMORY says in these processes."""
_LARGEST_SPACE = 8 << 30  # bytes of addresses, most of which libraries only reserve
_GROWTH = 3 * MEMORY // 2  # of the memory in use, by one file
_SLOW, _LONGEST = 5.0, 60  # s of the processor, s


class Attempts(Protocol):
    """Many attempts, each with a number that says all that chance decides."""

    def name(self, number: int) -> str:
        """Return what is tried."""
        ...

    def attempt(self, number: int) -> Iterator[str]:
        """Try it, and yield how it ended; a line that begins with ``FAULT`` is one. Whatever is raised is another."""
        ...


def counted(attempts: Attempts, files: int) -> tuple[Counter[str], Counter[str]]:
    """Make all attempts, and return how they ended, and their faults."""
    tally: Counter[str] = Counter()
    faults: Counter[str] = Counter()
    context = multiprocessing.get_context("spawn")
    done = 0
    while done < files:
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=_attempt, args=(attempts, done, files, sender))
        process.start()
        sender.close()
        for lines in _received(receiver):
            for line in lines:
                (faults if line.startswith("FAULT") else tally)[line] += 1
            done += 1
        process.join()
        receiver.close()
        if done < files:
            # the one that it died of is not tried again
            ended = -(process.exitcode or 0)
            how = f"longer than {_LONGEST} s" if ended == signal.SIGALRM else f"ended by signal {ended}"
            faults[f"FAULT {attempts.name(done)}: {how} (number {done})"] += 1
            done += 1
    return tally, faults


def print_counts(tally: Counter[str], faults: Counter[str]) -> None:
    """Print how attempts ended, and their faults."""
    for name, count in [*sorted(tally.items()), *sorted(faults.items())]:
        print(f"{count:8d}  {name}")
    print(f"{sum(faults.values()):8d}  faults")


def _received(receiver: Connection) -> Iterator[list[str]]:
    while True:
        try:
            yield receiver.recv()
        except EOFError:
            return


def _attempt(attempts: Attempts, first: int, end: int, sender: Connection) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (_LARGEST_SPACE, _LARGEST_SPACE))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    os.environ["SYNCHROSCOPE_MEMORY"] = str(MEMORY)
    # what is only warned of here is a line on somebody's screen
    warnings.simplefilter("error")
    for number in range(first, end):
        signal.alarm(_LONGEST)
        sender.send(list(_lines(attempts, number)))
    signal.alarm(0)


def _lines(attempts: Attempts, number: int) -> Iterator[str]:
    name = attempts.name(number)
    before = resource.getrusage(resource.RUSAGE_SELF)
    try:
        yield from attempts.attempt(number)
    except Exception as problem:  # noqa: BLE001  whatever comes is what is counted
        at = traceback.extract_tb(problem.__traceback__)[-1]
        where = f"{type(problem).__name__} at {Path(at.filename).name}:{at.lineno}: {str(problem)[:100]}"
        yield f"FAULT {name}: {where} (number {number})"
    after = resource.getrusage(resource.RUSAGE_SELF)
    if after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime > _SLOW:
        yield f"FAULT {name}: longer than {_SLOW:g} s (number {number})"
    if 1024 * (after.ru_maxrss - before.ru_maxrss) > _GROWTH:
        yield f"FAULT {name}: {(after.ru_maxrss - before.ru_maxrss) >> 10} MB of memory (number {number})"
