"""Measured responses out of run files: what was judged live can be judged again."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from monitor.messages.blocks import Channel, SignalBlock
from monitor.system.files import check_regular
from replay.formats.base import RecordingError, Selection
from replay.formats.run_file import FORMAT
from replay.validation.records import RESPONSE, MeasuredRecord

_BLOCK = 1 << 16
_HEAD = 64


def is_run(path: Path) -> bool:
    """Whether a file is a run that the monitor recorded, by its first bytes; False if it cannot be read."""
    try:
        check_regular(path)
        with path.open("rb") as file:
            return FORMAT.accepts(path, file.read(_HEAD), Selection())
    except OSError:
        return False


def read_run(path: Path, response: str | None = None) -> MeasuredRecord:
    """Return one channel of a run.

    Its times count from the rig's sample 0, as they do for a model that is judged live. Lost samples are not there.

    Parameters
    ----------
    path : of the run file.
    response : the channel; by default the one called so, or the only one.

    Raises
    ------
    RecordingError : the file cannot be read, the channel is not there, or the rig was restarted in the run.
    """
    recording = FORMAT.open(path, Selection())
    channels = recording.stream.channels
    position = _position(path, channels, response)
    blocks = [block for block in recording.blocks(_BLOCK) if len(block)]
    epochs = {block.stream.epoch for block in blocks}
    if len(epochs) > 1:
        raise RecordingError(
            f"{path}: the rig was restarted in it, it holds {len(epochs)} tests: record each by itself"
        )
    if not blocks:
        raise RecordingError(f"{path}: holds no samples")
    time = np.concatenate([_times(block) for block in blocks])
    values = np.concatenate([block.samples[:, position] for block in blocks])
    return MeasuredRecord(str(path), time, values, channels[position].unit, recording.notes)


def _times(block: SignalBlock) -> np.ndarray:
    return (block.index + np.arange(len(block))) / block.stream.sample_rate


def _position(path: Path, channels: tuple[Channel, ...], response: str | None) -> int:
    names = [channel.name for channel in channels]
    wanted = response or (RESPONSE if RESPONSE in names else names[0] if len(names) == 1 else None)
    if wanted in names:
        return names.index(wanted)
    asked = f"no channel {response!r}" if response else "which channel is the response: name it with --response NAME"
    raise RecordingError(f"{path}: {asked}; there are {', '.join(names)}")
