"""A small form of the campaign, the same files at every run."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from replay.formats import RecordingError, open_recording
from tests.campaign.bombs import BOMBS, written_bomb
from tests.campaign.damaged_files import campaign
from tests.campaign.isolated import counted


def test_no_damaged_file_ends_in_a_traceback(tmp_path: Path) -> None:
    tally, faults = campaign(tmp_path, 290, seed=3)
    assert not faults
    assert tally["table.csv: read"] + tally["e.h5: read"] + tally["mat-5.mat: read"] > 5


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_in_one_line(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYNCHROSCOPE_MEMORY", "20M")
    path = written_bomb(tmp_path, name, 1 << 26)
    with pytest.raises(RecordingError) as caught:
        open_recording(path)
    assert str(caught.value).startswith(f"{path}: ") and str(caught.value).isprintable()


class Ends:
    """Attempts of which every third ends its process, or never ends."""

    def name(self, number: int) -> str:
        return f"attempt {number}"

    def attempt(self, number: int) -> Iterator[str]:
        yield "tried"
        if number == 1:
            os.kill(os.getpid(), signal.SIGSEGV)
        if number == 4:
            signal.alarm(1)
            signal.pause()
        if number == 5:
            raise KeyError("here")


def test_an_attempt_that_ends_its_process_is_counted_and_ends_no_other() -> None:
    tally, faults = counted(Ends(), 7)
    assert tally == {"tried": 5}
    killed, late, raised = sorted(faults)
    assert killed == "FAULT attempt 1: ended by signal 11 (number 1)"
    assert late.startswith("FAULT attempt 4: longer than") and raised.startswith("FAULT attempt 5: KeyError at test_")
