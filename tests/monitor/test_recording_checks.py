"""What a run file says of itself once its bytes are no longer what was written."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

from monitor.__main__ import main
from monitor.recording import RunFileError, RunReader, recovery
from monitor.recording.recovery import recover
from tests.campaign.run_file_mutations import write_run

ROWS = 1200


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return write_run(tmp_path_factory.mktemp("whole") / "run.h5").read_bytes()


@pytest.fixture
def run(tmp_path: Path, whole: bytes) -> Path:
    path = tmp_path / "run.h5"
    path.write_bytes(whole)
    return path


def offset_of(path: Path, name: str, row: int) -> int:
    """Return where in the file the first byte of a row is."""
    with h5py.File(path) as file:
        data = file[name]
        row_bytes = data.dtype.itemsize * int(np.prod(data.shape[1:]))
        begin = data.id.get_chunk_info(0).byte_offset if data.chunks else data.id.get_offset()
        return int(begin) + row * row_bytes


def flip(path: Path, name: str, row: int, byte: int = 6, mask: int = 0x10) -> None:
    with path.open("r+b") as file:
        file.seek(offset_of(path, name, row) + byte)
        found = file.read(1)[0]
        file.seek(-1, 1)
        file.write(bytes([found ^ mask]))


def lines(path: Path) -> list[str]:
    with RunReader(path) as reader:
        return reader.check().messages()


def test_a_whole_run_is_not_doubted(run: Path) -> None:
    assert lines(run) == []
    kept = recover(run)
    assert kept.warnings == () and lines(kept.path) == []


@pytest.mark.parametrize("column", ["samples", "time", "epoch", "index"])
def test_a_flip_in_a_sample_is_told_with_its_span_also_after_recovery(run: Path, column: str) -> None:
    flip(run, f"signals/{column}", 450)
    told = ["samples 400 to 499 of 1200 are doubtful: their checksum differs"]
    assert lines(run) == told
    kept = recover(run)
    assert (kept.samples, list(kept.warnings)) == (ROWS, told)
    assert lines(kept.path) == told


def test_flips_in_results_events_and_tables_are_told(run: Path) -> None:
    flip(run, "results/values", 65)
    flip(run, "events", 3, byte=45)
    flip(run, "channels", 1, byte=0, mask=1)
    flip(run, "result_columns", 0, byte=0, mask=1)
    told = lines(run)
    for word in ("result rows 60 to 69 of 120", "events 3 to 3 of 12", "the table of channels", "of result columns"):
        assert any(word in line for line in told), word
    assert len(told) == 4


def test_a_damaged_checksum_leaves_its_rows_unchecked_and_not_called_good(run: Path) -> None:
    with h5py.File(run) as file:
        table = file["checks"][()]
    row = int(np.flatnonzero((table["part"] == b"signals") & (table["start"] == 700))[0])
    flip(run, "checks", row, byte=33)
    told = ["1 checksums are damaged themselves", "samples 700 to 799 of 1200 are without a checksum"]
    assert lines(run) == told
    assert lines(recover(run).path) == told[1:]


@pytest.mark.parametrize("content", [b"\xff", b"{", b'"', b"["])
def test_damaged_settings_cost_nothing_but_the_settings(run: Path, content: bytes) -> None:
    with run.open("r+b") as file:
        file.seek(offset_of(run, "settings", 0))
        file.write(content * 3)
    with RunReader(run) as reader:
        assert (reader.n_samples, reader.settings) == (ROWS, {})
        assert "the settings of the run cannot be read" in reader.check().lines[0]
    kept = recover(run)
    assert kept.samples == ROWS and any("settings" in line for line in kept.warnings)


def test_a_flip_in_a_role_is_recovered_as_a_channel_without_one(run: Path) -> None:
    with h5py.File(run) as file:
        at = file["channels"].dtype.fields["role"][1]
    flip(run, "channels", 0, byte=at, mask=1)
    with pytest.raises(RunFileError, match="damaged; run: synchroscope recover"):
        RunReader(run)
    kept = recover(run)
    assert kept.samples == ROWS and any("the channels cannot be read" in line for line in kept.warnings)
    with RunReader(kept.path) as reader:
        assert [channel.name for channel in reader.stream.channels] == ["c", "m", "t"]
        assert not reader.stream.pairs


def lose(path: Path, name: str) -> None:
    with h5py.File(path, "r+") as file:
        del file[name]


@pytest.mark.parametrize(("name", "word"), [("events", "events"), ("results", "results"), ("outcome", "outcome")])
def test_what_is_missing_is_told_and_the_samples_are_kept(run: Path, name: str, word: str) -> None:
    lose(run, name)
    assert any(word in line for line in lines(run))
    kept = recover(run)
    assert kept.samples == ROWS and any(word in line for line in kept.warnings)


def test_samples_whose_numbers_cannot_be_are_counted_on(run: Path) -> None:
    with RunReader(run) as reader:
        before = [np.concatenate([getattr(r, n) for _, r in reader.numbering()]) for n in ("time", "epoch", "index")]
    for column, byte in (("index", 7), ("epoch", 7), ("time", 7)):
        flip(run, f"signals/{column}", 455, byte=byte, mask=0x40)
    with RunReader(run) as reader:
        assert len(reader.check().signals.doubtful) == 1
        after = [np.concatenate([getattr(r, n) for _, r in reader.numbering()]) for n in ("time", "epoch", "index")]
        blocks = list(reader.signal_blocks(1 << 12))
    for one, other in zip(before, after, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    assert sum(map(len, blocks)) == ROWS


def test_rows_of_ones_are_not_taken_for_rows_that_were_never_written(run: Path) -> None:
    start = offset_of(run, "signals/index", 600)
    with run.open("r+b") as file:
        file.seek(start)
        file.write(b"\xff" * 80)
    with RunReader(run) as reader:
        assert reader.n_samples == ROWS and reader.check().signals.doubtful == ((600, 700),)


def outside(path: Path, elsewhere: Path) -> None:
    with h5py.File(elsewhere, "w") as file:
        file["samples"] = np.zeros((ROWS, 3))
    with h5py.File(path, "r+") as file:
        del file["signals/samples"]
        file["signals/samples"] = h5py.ExternalLink(elsewhere, "/samples")


def raw(path: Path, elsewhere: Path) -> None:
    elsewhere.write_bytes(bytes(24 * ROWS))
    with h5py.File(path, "r+") as file:
        del file["signals/samples"]
        file.create_dataset("signals/samples", (ROWS, 3), "f8", external=[(str(elsewhere), 0, h5py.h5f.UNLIMITED)])


def virtual(path: Path, elsewhere: Path) -> None:
    outside(path, elsewhere)
    layout = h5py.VirtualLayout((ROWS, 3), "f8")
    layout[:] = h5py.VirtualSource(elsewhere, "samples", (ROWS, 3))
    with h5py.File(path, "r+") as file:
        del file["signals/samples"]
        file.create_virtual_dataset("signals/samples", layout)


@pytest.mark.parametrize("way", [outside, raw, virtual])
def test_no_other_file_is_read(run: Path, way: Callable[[Path, Path], None]) -> None:
    way(run, run.with_name("elsewhere"))
    with pytest.raises(RunFileError, match=r"missing|another file"):
        RunReader(run)
    with pytest.raises(RunFileError, match="samples or sample rate cannot be read"):
        recover(run)


@pytest.mark.parametrize("name", ["channels", "settings", "events", "outcome", "result_columns"])
def test_no_memory_is_asked_for_what_a_small_file_only_claims(run: Path, name: str) -> None:
    with h5py.File(run, "r+") as file:
        kind = file[name].dtype
        del file[name]
        file.create_dataset(name, (1 << 32,), kind)
    try:
        assert lines(run)
    except RunFileError as problem:
        assert "claims more" in str(problem)
    assert recover(run).samples == ROWS


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_recovery_that_is_told_to_end_leaves_nothing(
    run: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    begun = []

    def told_to_end(*_: object) -> None:
        begun.extend(each.name for each in run.parent.glob(".*.part"))
        os.kill(os.getpid(), number)
        time.sleep(60.0)

    monkeypatch.setattr(recovery, "_write", told_to_end)
    assert main(["recover", str(run)]) == 130
    assert begun and [each.name for each in run.parent.iterdir()] == ["run.h5"]


def test_names_do_not_steer_a_terminal(run: Path) -> None:
    with h5py.File(run, "r+") as file:
        rows = file["channels"][()].astype([(n, "S40") for n in ("name", "role", "unit", "actuator")])
        rows["name"][0] = b"\x1b[2J\x07evil\xe2\x80\xaelive"
        del file["channels"]
        file["channels"] = rows
        file.attrs["rig"] = "\x1b]0;title\x07"
    with RunReader(run) as reader:
        assert all(c.name.isprintable() for c in reader.stream.channels) and reader.stream.rig.isprintable()
