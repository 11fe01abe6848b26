"""Records of real rigs, read where they are present."""

from pathlib import Path

import numpy as np
import pytest

from monitor.messages.blocks import Role
from replay.formats import Recording, RecordingError, Selection, open_recording

DATA = Path(__file__).parents[2] / ".." / "shared" / "data"
OPENFRESCO = DATA / "openfresco_vrths"
BRISTOL = DATA / "bristol_rtht"

needs_openfresco = pytest.mark.skipif(not OPENFRESCO.is_dir(), reason="the OpenFresco records are not here")
needs_bristol = pytest.mark.skipif(not BRISTOL.is_dir(), reason="the Bristol records are not here")


def samples(recording: Recording) -> np.ndarray:
    return np.concatenate([block.samples for block in recording.blocks(100)])


@needs_openfresco
@pytest.mark.parametrize("half", ["Elmt_ctrlDsp_Ref.out", "Elmt_daqDsp_Ref.out"])
def test_openfresco_halves_make_one_record_at_51_2_hz(half: str) -> None:
    recording = open_recording(OPENFRESCO / half)
    stream = recording.stream
    assert stream.sample_rate == 51.2
    assert [(p.actuator, p.command, p.measured) for p in stream.pairs] == [
        ("element1", 0, 1),
        ("element2", 2, 3),
    ]
    assert any("belong together" in note for note in recording.notes)
    assert any("rounded" in note and "51.2 Hz" in note for note in recording.notes)
    command = np.loadtxt(OPENFRESCO / "Elmt_ctrlDsp_Ref.out")
    measured = np.loadtxt(OPENFRESCO / "Elmt_daqDsp_Ref.out")
    np.testing.assert_array_equal(samples(recording)[:, 0::2], command[:, 1:])
    np.testing.assert_array_equal(samples(recording)[:, 1::2], measured[:, 1:])
    assert next(recording.blocks(1)).time == pytest.approx(20 / 1024, abs=1e-6)


@needs_openfresco
def test_a_step_index_needs_a_rate() -> None:
    path = OPENFRESCO / "Slave_Elmt_daqDsp_Ref.out"
    with pytest.raises(RecordingError, match="counts steps and is not a time: give --rate HZ"):
        open_recording(path)
    recording = open_recording(path, Selection(rate=51.2))
    command = np.loadtxt(OPENFRESCO / "Slave_Elmt_ctrlDsp_Ref.out")
    assert [p.actuator for p in recording.stream.pairs] == ["element1"]
    np.testing.assert_array_equal(samples(recording)[:, 0], command[:, 1])


@needs_openfresco
def test_prose_with_numbers_is_no_record() -> None:
    with pytest.raises(RecordingError, match="no rows of numbers"):
        open_recording(OPENFRESCO / "elapsedTime.txt")


@needs_bristol
def test_bristol_rig_asks_for_its_columns_and_then_reads_them() -> None:
    for path in sorted(BRISTOL.glob("*.csv")):
        with pytest.raises(RecordingError, match="--command NAME --measured NAME") as caught:
            open_recording(path)
        assert "shaker_front_cmd_V" in str(caught.value)
        recording = open_recording(path, Selection(("Shaker_Front_cmd_V",), ("laser_front_mm",), ("force_front_N",)))
        stream = recording.stream
        assert stream.sample_rate == 10_000.0
        (pair,) = stream.pairs
        channels = stream.channels
        assert pair.actuator == "shaker_front"
        assert (channels[pair.command].unit, channels[pair.measured].unit) == ("V", "mm")
        assert pair.force is not None
        assert channels[pair.force].name == "force_front_N"
        assert sum(c.role is Role.AUXILIARY for c in channels) == 6
        whole = np.loadtxt(path, delimiter=",", skiprows=1)
        np.testing.assert_array_equal(samples(recording), whole[:, 1:])
