"""HDF5 run file: writing, reading, verification and recovery (format: docs/run-file.md)."""

from monitor.recording.layout import RunFileError
from monitor.recording.reader import RunReader
from monitor.recording.recorder_process import RecorderProcess
from monitor.recording.writer import RunWriter

__all__ = ["Recorder", "RecorderProcess", "RunFileError", "RunReader", "RunWriter"]

Recorder = RunWriter | RecorderProcess
