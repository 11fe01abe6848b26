"""Detail is read in a thread: whatever is wrong with the file, the window goes on."""

from __future__ import annotations

import os
import time

import h5py
import numpy as np
import pytest

from gui.model.run_detail import DetailLoader
from monitor.messages.blocks import Channel, Role, SignalBlock, Stream
from monitor.recording import RunWriter, layout

STREAM = Stream("rig", 1, 100.0, (Channel("a", Role.AUXILIARY),))
SPAN = 1, 100.0, 200.0, 1000, (0,)


@pytest.fixture
def run(tmp_path):
    writer = RunWriter(tmp_path / "run.h5", {}, flush_interval=0.001)
    writer.signals(SignalBlock(STREAM, 0, 0.0, np.arange(1000.0)[:, None]))
    writer.close()
    return tmp_path / "run.h5"


@pytest.fixture
def loader():
    made = DetailLoader()
    yield made
    made.close()


def polled(loader, until):
    end = time.monotonic() + 20.0
    while not until():
        assert time.monotonic() < end, "waited for 20 s"
        loader.poll()
        time.sleep(0.002)


def read(loader, path):
    """Let the loader follow a file, and return the answer."""
    loader.set_path(str(path))
    assert loader(*SPAN) is None
    polled(loader, lambda: loader._read is not None)
    return loader(*SPAN)


def rate(value):
    return lambda file: file.attrs.__setitem__("sample_rate", value)


def one_column(file):
    name = f"{layout.SIGNALS}/{layout.series_names(layout.SIGNALS)[0]}"
    values = file[name][:, 0]
    del file[name]
    file[name] = values


def fill(place, value):
    """Let one of the four datasets have one value throughout."""
    return lambda file: file[layout.SIGNALS][layout.series_names(layout.SIGNALS)[place]].__setitem__(..., value)


@pytest.mark.parametrize(
    "spoil",
    [rate(0.0), rate(np.nan), rate(-1.0), rate("x"), lambda file: file.attrs.__delitem__("sample_rate"),
     one_column, fill(3, layout.UNWRITTEN), fill(3, 5000), fill(2, 7)],
)  # fmt: skip
def test_a_file_that_is_not_as_it_should_be_has_no_detail(run, loader, spoil):
    with h5py.File(run, "r+") as file:
        spoil(file)
    assert read(loader, run) is None


def test_samples_are_found_by_their_numbers_whatever_their_times_are(run, loader):
    with h5py.File(run, "r+") as file:
        fill(1, np.nan)(file)
    assert read(loader, run).at(150.0)[0] == 150.0


def test_an_error_of_the_reader_is_no_detail_and_the_next_file_is_read(run, loader, monkeypatch):
    def fails(*_):
        raise ZeroDivisionError

    with monkeypatch.context() as patched:
        patched.setattr("gui.model.run_detail.RunDetail.envelope", fails)
        assert read(loader, run) is None
    loader.set_path("")
    envelope = read(loader, run)
    assert {100.0, 150.0, 200.0} <= set(envelope.low[:, 0])


def test_what_was_read_of_another_file_is_no_answer(run, loader):
    loader.set_path(str(run))
    loader(*SPAN)
    loader.poll()
    loader.set_path(str(run.with_name("other.h5")))
    loader._thread.submit(int).result(20.0)
    assert not loader.poll()
    assert loader._read is None and loader(*SPAN) is None


def test_a_file_that_is_made_later_is_found(run, loader):
    later = run.with_name("later.h5")
    assert read(loader, later) is None
    run.rename(later)
    wider = (*SPAN[:2], 300.0, *SPAN[3:])
    loader(*wider)
    polled(loader, lambda: loader(*wider) is not None)


def test_a_path_is_looked_at_in_the_thread_alone_and_never_in_the_folder_of_the_window(run, loader, monkeypatch):
    monkeypatch.chdir(run.parent)
    loader.set_path("run.h5")
    assert loader(*SPAN) is None and not loader.poll() and loader._reading is None
    if hasattr(os, "mkfifo"):
        os.mkfifo(run.with_name("pipe.h5"))
        assert read(loader, run.with_name("pipe.h5")) is None
