"""Command and measured signal proposed by their values, where names do not give them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from replay.formats import RecordingError, Selection, inspect_recording, open_recording
from replay.formats.choice import propose
from replay.formats.columns import TableColumn

N, RATE = 3000, 500.0


def signals(lag: int, gain: float = 0.9) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a motion, the same later by `lag` samples, and a force that is proportional to it."""
    rng = np.random.default_rng(lag)
    raw = np.convolve(rng.standard_normal(N + 400), np.hanning(60), "same")[: N + lag]
    measured = gain * raw[:N] + 0.01 * rng.standard_normal(N)
    return raw[lag:], measured, 7.0 * measured


def columns(*names: str) -> tuple[TableColumn, ...]:
    return tuple(
        TableColumn(at, name.partition("@")[0], name.partition("@")[2], name) for at, name in enumerate(names)
    )


@pytest.mark.parametrize("lag", [1, 7, 40, 150])
def test_the_lag_that_was_put_in_is_found(lag: int) -> None:
    command, measured, force = signals(lag)
    drift = np.linspace(0.0, 300.0, N)
    noise = np.random.default_rng(9).standard_normal(N)
    values = np.column_stack([force, measured + drift, noise, command + drift, drift])
    found = propose(columns("a", "b", "c", "d", "e"), values)
    assert found is not None
    # of the two that follow, the one of the same size
    assert (found.command.name, found.measured.name, found.lag) == ("d", "b", lag)
    assert found.correlation > 0.95


def test_the_lag_of_a_pure_tone_is_not_drawn_to_zero() -> None:
    t = np.arange(2000) / 200.0
    found = propose(columns("a", "b"), np.column_stack([np.sin(3.0 * t), np.sin(3.0 * (t - 0.1))]))
    assert found is not None and abs(found.lag - 20) <= 1


def test_other_units_copies_and_noise_are_not_proposed() -> None:
    command, measured, _ = signals(12)
    noise = np.random.default_rng(9).standard_normal((N, 3))
    assert propose(columns("a@mm", "b@V"), np.column_stack([command, measured])) is None
    assert propose(columns("a", "b"), np.column_stack([command, 2.0 * command])) is None
    assert propose(columns("a", "b", "c"), noise) is None
    assert propose(columns("a", "b"), np.zeros((N, 2))) is None
    assert propose(columns("a", "b"), np.full((N, 2), np.nan)) is None
    assert propose(columns("a"), noise[:, :1]) is None


def test_names_come_before_values() -> None:
    command, measured, force = signals(12)
    values = np.column_stack([command, measured, force])
    # what is called a command is not measured, and nothing else is a command beside it
    assert propose(columns("x", "y_command", "z"), values) is None
    found = propose(columns("cmd_left", "y", "load"), values)
    assert found is not None and (found.command.name, found.measured.name) == ("cmd_left", "y")


def test_a_proposal_is_a_message_and_a_guess_and_no_more(tmp_path: Path) -> None:
    command, measured, force = signals(9)
    path = tmp_path / "u.npz"
    np.savez(path, p=force, q=measured, r=command, fs=RATE)
    advice = r"perhaps --command 'r' --measured 'q', which follows by 9 samples \(correlation [01]\.\d\d\d\)"
    with pytest.raises(RecordingError, match=advice):
        open_recording(path)
    found = inspect_recording(path)[1]
    assert found.recording is None
    assert found.selection == Selection(("r",), ("q",))
    assert len(open_recording(path, found.selection).stream.pairs) == 1
