"""What of a run file is not as it was written, for those who read it: in rows and in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import h5py

from monitor.recording import layout, parts
from monitor.recording.numbering import Numbering, counted_on, fits
from monitor.recording.verification import Checks, Span, Verdict

_WORDS = {
    layout.SETTINGS: "the settings",
    layout.CHANNELS: "the table of channels",
    layout.COLUMNS: "the table of result columns",
}
_MOST_SPANS = 10


@dataclass(frozen=True, slots=True, eq=False)
class Doubts:
    """What is doubtful in a run file.

    Parameters
    ----------
    lines : what is not about rows, a line each.
    signals, results, events : the same of rows.
    growing : the file is being written, or its writer was killed: the last rows may have no checksum yet.
    numbers : first row and numbering of samples whose own numbers cannot be.
    """

    lines: tuple[str, ...]
    signals: Verdict
    results: Verdict
    events: Verdict
    numbers: tuple[tuple[int, Numbering], ...]
    growing: bool

    def in_words(self, seconds: Callable[[int], float] | None = None) -> list[str]:
        """Return all that is doubtful, a line each; of very many spans the first ones.

        `seconds` gives the instant of a sample's row after the start, for who looks at a curve.
        """
        return [
            *self.lines,
            *self._lines(self.signals, "samples", seconds),
            *self._lines(self.results, "result rows"),
            *self._lines(self.events, "events"),
        ]

    def _lines(self, verdict: Verdict, what: str, seconds: Callable[[int], float] | None = None) -> list[str]:
        unchecked = tuple(span for span in verdict.unchecked if not (self.growing and span[1] == verdict.rows))
        lines = [f"{verdict.missing} more {what} were recorded, and are lost"] if verdict.missing else []
        for spans, how in (
            (verdict.doubtful, "doubtful: they are not as recorded, their checksum differs"),
            (unchecked, "without a checksum"),
        ):
            for start, stop in spans[:_MOST_SPANS]:
                at = f" ({seconds(start):.6g} s to {seconds(stop - 1):.6g} s)" if seconds is not None else ""
                lines.append(f"{what} {start} to {stop - 1} of {verdict.rows}{at} are {how}")
            left = spans[_MOST_SPANS:]
            if left:
                lines.append(
                    f"{sum(stop - start for start, stop in left)} more {what} in {len(left)} spans are {how}"
                )
        return lines


def find_doubts(
    file: h5py.File, checks: Checks, n_samples: int, n_results: int, n_events: int, rate: float, growing: bool
) -> Doubts:
    """Read the whole of a run file and compare it with its checksums; raises what h5py raises on damage."""
    lines = [f"{_WORDS[name]} in the file do not fit their checksum" for name in checks.small(file)]
    if checks.damaged:
        lines.append(f"{checks.damaged} checksums in the file are damaged themselves")
    signals = parts.series(file, layout.SIGNALS)
    verdict = checks.verify(layout.SIGNALS, signals, n_samples)
    values = parts.series(file, layout.RESULTS) if n_results else ()
    results = checks.verify(layout.RESULTS, values, n_results)
    happened = [parts.dataset(file, layout.EVENTS)] if n_events else ()
    events = checks.verify(layout.EVENTS, happened, n_events)
    numbers = _numbers(signals, verdict.doubtful, n_samples, rate)
    return Doubts(tuple(lines), verdict, results, events, numbers, growing and not checks.damaged)


def _numbers(
    signals: Sequence[h5py.Dataset], doubtful: Sequence[Span], n_samples: int, rate: float
) -> tuple[tuple[int, Numbering], ...]:
    _, time, epoch, index = signals
    found = []
    for start, stop in doubtful:
        low, high = max(0, start - 1), min(n_samples, stop + 1)
        rows = Numbering(time[low:high], epoch[low:high], index[low:high])
        if not fits(rows, rate):
            before, after = rows.part(0, start - low), rows.part(stop - low, high - low)
            found.append((start, counted_on(before, after, stop - start, rate)))
    return tuple(found)
