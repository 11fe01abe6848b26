"""`identify --connect`: the parameters of a specimen that softens, followed over real sockets, recorded as a rig."""

from __future__ import annotations

import json
from time import sleep

import numpy as np
import pytest

from monitor import Rig
from monitor.recording import RunReader
from sim.laboratory.elements import Dashpot, LinearSpring, ParallelElements
from sim.laboratory.specimens import ChangingElement
from tests.e2e.running import ANY_PORT

pytestmark = pytest.mark.usefixtures("warm_kernels")
RATE, SECONDS, CHANGE = 250.0, 14.0, 7.0
BEFORE, AFTER, DAMPING = 2e6, 1.4e6, 2e4
CHANNELS = ["north.command [mm]", "north.measured [mm]", "north.force [kN]"]
MODEL = 'stiffness = 2.2e6\ndamping = 1.5e4\nfollow = ["stiffness", "damping"]\n'


def softening():
    """Return (n, 3): command and measured in mm, force in kN, of a specimen that loses three tenths at 7 s."""
    times, rng = np.arange(round(RATE * SECONDS)) / RATE, np.random.default_rng(1)
    x = 0.03 * (np.sin(2.0 * np.pi * 0.9 * times) + 0.5 * np.sin(2.0 * np.pi * 2.3 * times + 1.0))
    springs = ChangingElement(LinearSpring(BEFORE), LinearSpring(AFTER), CHANGE, 0.2)
    running = ParallelElements((springs, Dashpot(DAMPING))).begin(1.0 / RATE, (1,))
    v = np.gradient(x, 1.0 / RATE)
    f = np.array([running.force(np.array([a]), np.array([b]))[0] for a, b in zip(x, v, strict=True)])
    measured = x + 5e-6 * rng.normal(size=len(x))
    return np.column_stack([1e3 * x, 1e3 * measured, 1e-3 * (f + 200.0 * rng.normal(size=len(x)))])


def test_a_specimen_that_softens_is_followed_and_recorded(start, tmp_path):
    model = tmp_path / "model.toml"
    model.write_text(f'[specimen]\nactuator = "north"\n{MODEL}')
    first = start("monitor", "--bind", ANY_PORT, "--publish", ANY_PORT, "--measures", "nrmse", "--once")
    words = ("--model", model, "--bind", ANY_PORT, "--json")
    follower = start("identify", "--connect", first.results, *words)
    second = start(
        *("monitor", "--connect", follower.publishing, "--record", tmp_path / "model.h5"),
        *("--measures", "nrmse", "--once", "--publish", ANY_PORT),
    )  # fmt: skip
    assert second.results
    with Rig(first.listening, channels=CHANNELS, sample_rate=RATE, connect=True) as rig:
        assert rig.wait_for_subscriber(30.0)
        # the follower and the second service have subscribed
        sleep(2.0)
        samples = softening()
        for i in range(0, len(samples), 10):
            rig.send(samples[i : i + 10])
            sleep(0.012)
    for each in (first, follower, second):
        each.wait()
    told = json.loads(follower.out)["parameters"]
    assert told["stiffness"]["value"] == pytest.approx(AFTER, rel=0.03)
    assert abs(told["stiffness"]["value"] - AFTER) < 3.0 * told["stiffness"]["sd"]
    assert told["stiffness"]["determined"]
    assert told["damping"]["value"] == pytest.approx(DAMPING, rel=0.25)
    with RunReader(tmp_path / "model.h5") as reader:
        names = [channel.name for channel in reader.stream.channels]
        rows = np.concatenate([block.samples for block in reader.signal_blocks(4096)])
        times = np.concatenate([block.time + np.arange(len(block)) / RATE for block in reader.signal_blocks(4096)])
        results = reader.result_stream.columns
        *_, values = reader.results()
    assert reader.stream.rig == "rig-model"
    assert names == [
        *("nominal.command", "nominal.measured", "followed.command", "followed.measured"),
        *(f"{name}{end}" for name in ("stiffness", "damping") for end in ("", "_sd", "_gained")),
    ]
    stiffness = rows[:, names.index("stiffness")]
    before, after = (times > 3.0) & (times < CHANGE - 0.1), times > CHANGE + 2.5
    assert np.median(stiffness[before]) == pytest.approx(BEFORE, rel=0.02)
    assert np.median(stiffness[after]) == pytest.approx(AFTER, rel=0.02)
    # the updated model beside the nominal one, whose stiffness is 2.2 / 1.4 of the specimen's
    errors = {c.actuator: values[-1, i] for i, c in enumerate(results) if c.name == "nrmse"}
    assert errors["followed"] < 0.05
    assert errors["nominal"] > 0.3


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("mass = 1.0\n", r"has no table \[specimen\]"),
        ('[specimen]\nstiffness = 1.0\nfollow = ["mass"]\n', "follow"),
        ("[specimen]\nstifness = 1.0\n", "stifness: there is no such setting"),
        ('[specimen]\nstiffness = 1.0\nfollow = ["hardening"]\n', "hardening"),
        ("[specimen", "is not TOML"),
    ],
)
def test_a_wrong_model_is_one_line(start, tmp_path, text, told):
    model = tmp_path / "model.toml"
    model.write_text(text)
    command = start("identify", "--connect", "tcp://127.0.0.1:9", "--model", model).wait(2)
    assert command.until(told)
    assert len(command.err.splitlines()) == 1


def test_options_that_do_not_fit_are_told(start, tmp_path):
    assert start("identify").wait(2).until("name the recordings")
    assert start("identify", "--connect", "tcp://127.0.0.1:9").wait(2).until("give the model with --model FILE")
    assert start("identify", "--bind", ANY_PORT, tmp_path / "a.csv").wait(2).until("--bind: is of --connect")
