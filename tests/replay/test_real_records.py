"""Records in the layouts of real rigs."""

from dataclasses import replace

import numpy as np
import pytest

from monitor.messages.blocks import Role
from replay.assessment.record_passes import whole_records
from replay.formats import ArrayRecording, RecordingError, Selection, open_recording
from tests.oracles import whole_record as oracle
from tests.records import Records
from tests.replay.column_files import samples


@pytest.mark.parametrize("half", ["Elmt_ctrlDsp_Ref.out", "Elmt_daqDsp_Ref.out"])
def test_openfresco_halves_make_one_record_at_51_2_hz(half: str, records: Records) -> None:
    recording = open_recording(records.openfresco / half)
    stream = recording.stream
    assert stream.sample_rate == 51.2
    assert [(p.actuator, p.command, p.measured) for p in stream.pairs] == [("element1", 0, 1), ("element2", 2, 3)]
    assert any("belong together" in note for note in recording.notes)
    assert any("rounded" in note and "51.2 Hz" in note for note in recording.notes)
    command = np.loadtxt(records.openfresco / "Elmt_ctrlDsp_Ref.out")
    measured = np.loadtxt(records.openfresco / "Elmt_daqDsp_Ref.out")
    np.testing.assert_array_equal(samples(recording)[:, 0::2], command[:, 1:])
    np.testing.assert_array_equal(samples(recording)[:, 1::2], measured[:, 1:])
    assert next(recording.blocks(1)).time == pytest.approx(20 / 1024, abs=1e-6)


def test_a_step_index_needs_a_rate(records: Records) -> None:
    path = records.openfresco / "Slave_Elmt_daqDsp_Ref.out"
    with pytest.raises(RecordingError, match="counts steps and is not a time: give --rate HZ"):
        open_recording(path)
    recording = open_recording(path, Selection(rate=51.2))
    command = np.loadtxt(records.openfresco / "Slave_Elmt_ctrlDsp_Ref.out")
    assert [p.actuator for p in recording.stream.pairs] == ["element1"]
    np.testing.assert_array_equal(samples(recording)[:, 0], command[:, 1])


def test_prose_with_numbers_is_no_record(records: Records) -> None:
    with pytest.raises(RecordingError, match="no rows of numbers"):
        open_recording(records.openfresco / "elapsedTime.txt")


def test_a_shaker_asks_for_its_columns_and_then_reads_them(records: Records) -> None:
    for path in sorted(records.shaker.glob("*.csv")):
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


def test_whole_records_of_a_shaker_are_their_definitions_with_and_without_gaps(records: Records) -> None:
    """Two laser signals of a hybrid test, in mid-motion at both ends: J1 to J3 by numpy, of the good samples."""
    for path in sorted(records.shaker.glob("*.csv")):
        recording = open_recording(path, Selection(("laser_front_mm",), ("laser_back_mm",)))
        (pair,) = recording.stream.pairs
        whole = samples(recording)[:, [pair.command, pair.measured]]
        kept = np.r_[0:400, 403 : len(whole)]
        stream = replace(
            recording.stream, channels=tuple(recording.stream.channels[i] for i in (pair.command, pair.measured))
        )
        for numbers in (np.arange(len(whole)), kept):
            (found,) = whole_records(ArrayRecording(stream, whole[numbers], index=numbers), 0.005)
            expected = oracle.criteria(*whole[numbers].T, numbers, 10_000.0, 50)
            np.testing.assert_allclose(found.criteria, expected, rtol=1e-9, equal_nan=True)
            assert found.left_out == len(whole) - len(numbers)
