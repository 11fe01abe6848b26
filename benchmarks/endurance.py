"""A day in a minute or two: whether the window's memory and its pace stay what they were after an hour."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

# first, as it says on which screen Qt draws
from benchmarks import window_stage as stage  # isort: skip

import numpy as np
from PySide6.QtWidgets import QApplication

from benchmarks.figures import MS, Figure
from benchmarks.throughput import make_samples, make_stream
from gui.link import Arrivals
from gui.shell.arrangement import panels_of
from gui.window import MainWindow
from monitor.blocks import Event, EventKind, ResultBlock, ResultStream, SignalBlock, Stream

SUMMARY = "a day of 8 pairs at 1 kHz in the whole window: its memory and its frames, against after an hour"
HOUR, DAY = 3600, 86_400
MB = "MB"
_BLOCK = 10  # s
_EVERY = int(stage.RATE / 25.0)
_RESTART = 3 * HOUR
