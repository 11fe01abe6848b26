"""Files larger than memory: arrays that stay in their npz file, and a line for formats that are read as a whole."""

from __future__ import annotations

import math
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest

from replay.formats import RecordingError, Selection, numpy_arrays, open_recording, reading
from tests.replay.written_formats import run_samples, written

PAIR = Selection(command=("data_1",), measured=("data_2",), rate=100.0)
LAYOUTS = {
    "by rows": lambda values: values,
    "by columns": np.asfortranarray,
    "wide": lambda values: np.ascontiguousarray(values.T),
    "wide by columns": lambda values: values.T,
    "float32": lambda values: values.astype(np.float32),
    "big-endian": lambda values: values.astype(">f8"),
}


def samples(path: Path, selection: Selection = PAIR) -> np.ndarray:
    return np.concatenate([block.samples for block in open_recording(path, selection).blocks(333)])


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take every array for a large one, and every table for one that is read piece by piece."""
    monkeypatch.setattr(numpy_arrays, "_LARGE", 1000)
    monkeypatch.setattr("replay.formats.table_recording._IN_MEMORY", 1000)


def little_memory(monkeypatch: pytest.MonkeyPatch, free: float = 2000.0) -> None:
    """Leave so little that no file of these tests may be read as a whole."""
    monkeypatch.setattr(reading, "_ALWAYS", 0)
    monkeypatch.setattr(reading, "free_memory", lambda: free)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_array_that_stays_in_the_file_is_that_in_memory(
    layout: str, tmp_path: Path, large: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = run_samples()[:, :3]
    np.savez(tmp_path / "run.npz", other=np.arange(9.0), data=LAYOUTS[layout](values))
    # nothing but the small array is read as a whole
    read, whole = [], np.lib.format.read_array
    monkeypatch.setattr(np.lib.format, "read_array", lambda *a, **k: read.append(whole(*a, **k)) or read[-1])
    found = samples(tmp_path / "run.npz")
    wanted = values.astype(np.float32) if layout == "float32" else values
    np.testing.assert_array_equal(found, wanted)
    assert [each.size for each in read] == [9]


def test_a_checksum_of_an_array_that_stays_in_the_file_is_checked(tmp_path: Path, large: None) -> None:
    np.savez(tmp_path / "run.npz", data=run_samples())
    whole = bytearray((tmp_path / "run.npz").read_bytes())
    whole[len(whole) // 2] ^= 4
    (tmp_path / "run.npz").write_bytes(whole)
    with pytest.raises(RecordingError, match=r"^[^\n]*run\.npz: damaged or cut short, [^\n]*CRC[^\n]*$"):
        open_recording(tmp_path / "run.npz", PAIR)


def test_what_cannot_stay_in_the_file_is_read(tmp_path: Path, large: None) -> None:
    values = run_samples()[:, :3]
    np.savez_compressed(tmp_path / "packed.npz", data=values)
    np.testing.assert_array_equal(samples(tmp_path / "packed.npz"), values)
    np.savez(tmp_path / "fields.npz", data=np.rec.fromarrays(values.T, names=["data_1", "data_2", "c"]))
    np.testing.assert_array_equal(samples(tmp_path / "fields.npz"), values)
    with zipfile.ZipFile(tmp_path / "fields.npz") as archive:
        assert archive.infolist()[0].file_size > 1000


@pytest.mark.parametrize("name", ["csv", "mat-5", "mat-4", "npz-packed", "json-matrix", "mcap", "xdf"])
def test_a_file_that_does_not_fit_into_memory_is_one_line(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, name)
    little_memory(monkeypatch)
    advice = "convert it to HDF5 or Parquet, which are read piece by piece"
    with pytest.raises(RecordingError, match=rf"^{re.escape(str(path))}: needs .* may take [^\n]*{advice}$"):
        open_recording(path)


@pytest.mark.parametrize("name", ["hdf5", "hdf5-checked", "mat-7.3", "parquet", "tdms", "npy"])
def test_a_file_that_is_read_piece_by_piece_needs_the_memory_of_its_times(
    name: str, tmp_path: Path, large: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, name)
    little_memory(monkeypatch, 4.0 * 8 * len(run_samples()))
    monkeypatch.setattr("replay.formats.recordings._PIECE", 300)
    found = np.concatenate([block.samples for block in open_recording(path).blocks(100)])
    assert len(found) == len(run_samples())


def test_the_free_memory_is_less_than_that_of_the_machine() -> None:
    total = re.search(r"MemTotal:\s+(\d+) kB", Path("/proc/meminfo").read_text()) if Path("/proc").exists() else None
    if total is None:
        pytest.skip("needs /proc/meminfo")
    assert 0.0 < reading.free_memory() <= 1024.0 * float(total[1])


def test_the_memory_of_a_control_group_is_its_limit_less_what_is_used_but_for_the_cache(tmp_path: Path) -> None:
    assert reading.group_memory(tmp_path) == math.inf
    (tmp_path / "memory.current").write_text("700\n")
    (tmp_path / "memory.stat").write_text("anon 300\nfile 400\ninactive_file 250\nactive_file 150\n")
    for limit, left in (("max\n", math.inf), ("1000\n", 700.0)):
        (tmp_path / "memory.max").write_text(limit)
        assert reading.group_memory(tmp_path) == left


def test_the_limit_is_half_of_what_is_free_or_as_the_variable_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "free_memory", lambda: 1e9)
    for given, least in (("", 0.5e9), ("300M", 300e6), ("0.2G", 200e6), ("250000 KB", 250e6), ("400000000", 400e6)):
        monkeypatch.setenv("SYNCHROSCOPE_MEMORY", given)
        reading.check_memory(tmp_path, least)
        with pytest.raises(RecordingError, match=r"GB of memory or more and may take [^\n]*SYNCHROSCOPE_MEMORY"):
            reading.check_memory(tmp_path, least + 1.0)
    monkeypatch.setenv("SYNCHROSCOPE_MEMORY", "lots")
    with pytest.raises(RecordingError, match=r"^SYNCHROSCOPE_MEMORY=lots: must be a size, such as 4G or 500M$"):
        reading.check_memory(tmp_path, 1e8)
