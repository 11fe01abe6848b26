"""The same run through every format gives the same samples and indicators; damage is one line."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from monitor.config import IndicatorSettings
from monitor.messages.blocks import Channel, Role, Stream
from replay.assessment import assess
from replay.export import export
from replay.formats import ArrayRecording, RecordingError, inspect_recording, open_recording
from replay.formats.reading import CUT_SHORT
from tests.campaign.run_file_mutations import damaged_bytes
from tests.replay.column_files import samples
from tests.replay.exported_run import record
from tests.replay.written_formats import CHECKSUMMED, NAMES, RATE, ROUNDED, UNITS, WRITERS, N, run_samples, written

_SETTINGS = IndicatorSettings(window=0.8, every=50)
_CUTS = 14
_DAMAGES = 30


@pytest.fixture(scope="module")
def expected(warm_kernels) -> np.ndarray:
    roles = [Role.COMMAND, Role.MEASURED, Role.FORCE]
    channels = [
        Channel(n, roles[k % 3], u, n[-1]) if k < 6 else Channel(n, Role.AUXILIARY, u)
        for k, (n, u) in enumerate(zip(NAMES, UNITS, strict=True))
    ]
    recording = ArrayRecording(Stream("rig", 0, RATE, tuple(channels)), run_samples())
    return assess(recording, _SETTINGS).series.values


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_identical_indicators(name: str, tmp_path: Path, expected: np.ndarray) -> None:
    recording = open_recording(written(tmp_path, name))
    stream = recording.stream
    assert (stream.sample_rate, recording.n_samples) == (RATE, N)
    by_name = {channel.name: at for at, channel in enumerate(stream.channels)}
    found = samples(recording)[:, [by_name[n] for n in NAMES]]
    error = ROUNDED.get(name, 0.0)
    np.testing.assert_allclose(found, run_samples(), rtol=0.0, atol=error * np.max(run_samples()))
    assert [(stream.channels[p.command].name, stream.channels[p.measured].name) for p in stream.pairs] == [
        ("command_x", "measured_x"),
        ("command_y", "measured_y"),
    ]
    values = assess(recording, _SETTINGS).series.values
    # a rounded sample counts for less in a delay of ten samples than in itself, or in a small difference of both
    np.testing.assert_allclose(values, expected, rtol=1e6 * error, atol=1e3 * error)


@pytest.mark.parametrize("name", WRITERS)
def test_a_cut_file_is_refused_or_its_loss_is_reported(name: str, tmp_path: Path) -> None:
    whole = written(tmp_path, name).read_bytes()
    chance = random.Random(name)
    for number in range(_CUTS):
        at = chance.randrange(len(whole)) if number else len(whole) - 1
        found = _read(tmp_path / f"cut{WRITERS[name][0]}", whole[:at])
        if found is None or np.array_equal(found[0], run_samples()):
            continue
        shorter = [note for note in found[1] if "cut short" in note]
        # a text that ends with a line cannot be told from a whole one
        assert shorter or len(found[0]) == N or whole[at - 1 : at] == b"\n", f"{name} cut at {at}: {found[1]}"
        if len(found[0]) < N:
            assert np.all(np.isnan(found[0]) | (found[0] == run_samples()[: len(found[0])]))


@pytest.mark.parametrize("name", WRITERS)
def test_a_damaged_file_is_read_or_refused_in_one_line(name: str, tmp_path: Path) -> None:
    whole = written(tmp_path, name).read_bytes()
    chance = random.Random(f"{name} damaged")
    refused = 0
    for number in range(_DAMAGES):
        found = _read(tmp_path / f"damaged{number}{WRITERS[name][0]}", damaged_bytes(whole, chance))
        refused += found is None
        if found is not None and name in CHECKSUMMED:
            # a file without its end may be what a crash left
            rows = len(found[0]) if CUT_SHORT in found[1] else N
            np.testing.assert_array_equal(found[0], run_samples()[:rows])
    assert refused


def _read(path: Path, data: bytes) -> tuple[np.ndarray, tuple[str, ...]] | None:
    """Return the known columns and the notes, None where the file is refused in one line with its name."""
    path.write_bytes(data)
    try:
        found = inspect_recording(path)[1]
        if found.recording is None:
            assert found.problem and "\n" not in found.problem
            return None
        recording = found.recording
        values, names = samples(recording), [channel.name for channel in recording.stream.channels]
    except RecordingError as problem:
        assert "\n" not in str(problem)
        assert str(problem).startswith(str(path))
        return None
    there = [names.index(name) if name in names else None for name in NAMES]
    empty = np.full(len(values), np.nan)
    return np.column_stack([empty if at is None else values[:, at] for at in there]), recording.notes


@pytest.mark.parametrize("kind", ["parquet", "mat", "mcap"])
def test_what_is_exported_with_results_is_read_again(kind: str, tmp_path: Path) -> None:
    run = record(tmp_path / "run.h5", 5.25)
    recording = open_recording(export(run, kind).paths[0])
    theirs = open_recording(run)
    assert recording.stream.sample_rate == theirs.stream.sample_rate
    assert [(b.index, len(b)) for b in recording.blocks(1000)] == [(0, 200), (210, 100)]
    (pair,), (known,) = recording.stream.pairs, theirs.stream.pairs
    for mine, other in ((pair.command, known.command), (pair.measured, known.measured)):
        np.testing.assert_array_equal(samples(recording)[:, mine], samples(theirs)[:, other])
