"""The run file: what was measured and computed, as it happens (docs/run-file.md is its contract)."""

from monitor.recording.layout import RunFileError
from monitor.recording.reader import RunReader
from monitor.recording.recorder_process import RecorderProcess
from monitor.recording.writer import RunWriter

__all__ = ["Recorder", "RecorderProcess", "RunFileError", "RunReader", "RunWriter"]

Recorder = RunWriter | RecorderProcess
