"""A stream of a recording with its run file: what is pending for it, and which results belong to it."""

from __future__ import annotations

from dataclasses import dataclass, field

from monitor.messages.blocks import ResultBlock, ResultStream, SignalBlock, Stream
from monitor.recording.queues import Item, memory_size
from monitor.recording.rows import SampleTimes
from monitor.recording.swmr_file import SwmrFile


@dataclass(slots=True, eq=False)
class StreamFile:
    """A stream, its results, what is not written yet, and the run file that has or will have them.

    Parameters
    ----------
    stream : of the samples; None before the first.
    results : columns of the results; None as long as they are not known.
    file : None until it is created, and after an error.
    starts : epoch -> index of its first sample in this file; results before it belong to another.
    end, results_end : epoch of the last sample, and of the last row of results, and the index after it.
    in_file : samples that are written.
    rows : samples that came.
    since : when the first block came, s, monotonic.
    lossy : something is missing in the file.
    """

    stream: Stream | None = None
    results: ResultStream | None = None
    file: SwmrFile | None = None
    starts: dict[int, int] = field(default_factory=dict)
    end: tuple[int, int] = (-1, 0)
    results_end: tuple[int, int] = (-1, 0)
    in_file: int = 0
    rows: int = 0
    since: float = 0.0
    lossy: bool = False
    times: SampleTimes = field(default_factory=SampleTimes)
    pending: list[Item] = field(default_factory=list)
    n_bytes: int = 0
    events: int = 0

    @property
    def has_samples(self) -> bool:
        """Whether samples are pending."""
        return any(isinstance(item, SignalBlock) for item in self.pending)

    def count(self, block: SignalBlock) -> None:
        """Note where the samples of `block` are."""
        epoch, end = block.stream.epoch, block.index + len(block)
        self.starts[epoch] = min(block.index, self.starts.get(epoch, block.index))
        self.end = (epoch, end)
        self.rows += len(block)

    def has_samples_of(self, results: ResultStream, index: int | None = None) -> bool:
        """Whether the file has the sample `index`, or any of its epoch, that results are of."""
        if self.stream is None or (self.stream.rig, self.stream.sample_rate) != (results.rig, results.sample_rate):
            return False
        start = self.starts.get(results.epoch)
        return start is not None and (index is None or index >= start)

    def has_columns_of(self, results: ResultStream) -> bool:
        """Whether the results have the columns of the file."""
        own = self.results
        return own is not None and (own.every, own.columns) == (results.every, results.columns)

    @property
    def complete(self) -> bool:
        """Whether no more results are to come."""
        return self.results is None or (self.results_end[0] == self.end[0] and self.results_end[1] >= self.end[1])

    def add(self, item: Item) -> None:
        """Append to what is pending."""
        self.pending.append(item)
        self.n_bytes += memory_size(item)
        if isinstance(item, ResultBlock):
            self.results_end = item.stream.epoch, item.index + len(item) * item.stream.every

    def restart(self) -> None:
        """Go on without the file: the first samples of the next one are those that are pending."""
        self.file, self.times, self.in_file = None, SampleTimes(), 0
        self.starts.clear()
        for item in self.pending:
            if isinstance(item, SignalBlock):
                self.starts.setdefault(item.stream.epoch, item.index)
