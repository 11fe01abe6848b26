"""Files that Octave writes, where it is on this machine."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from replay.formats import Selection, open_recording
from tests.needs import needs

pytestmark = needs("octave")

_SCRIPT = """
t = (0:299)' / 128; cmd = sin(3 * t); meas = cos(2 * t); fs = 128; op = 'nn'; M = [t cmd meas];
s.time = t; s.u_cmd = cmd; s.u_meas = meas; s.who = 'nn';
save('-v7', 'v7.mat', 't', 'cmd', 'meas', 'op');
save('-v6', 'v6.mat', 's');
save('-v4', 'v4.mat', 't', 'cmd', 'meas');
save('-hdf5', 'flat.h5', 't', 'cmd', 'meas', 'op');
save('-hdf5', 'rate.h5', 'cmd', 'meas', 'fs');
save('-hdf5', 'struct.h5', 's');
save('-hdf5', 'matrix.h5', 'M');
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("octave")
    (folder / "w.m").write_text(_SCRIPT)
    subprocess.run(
        ["octave", "--no-gui", "-q", "-f", "w.m"], cwd=folder, capture_output=True, timeout=120, check=False
    )
    return folder


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("v7.mat", ("cmd", "meas")),
        ("v6.mat", ("u_cmd", "u_meas")),
        ("v4.mat", ("cmd", "meas")),
        ("flat.h5", ("cmd", "meas")),
        ("rate.h5", ("cmd", "meas")),
        ("struct.h5", ("u_cmd", "u_meas")),
        ("matrix.h5", ("M_2", "M_3")),
    ],
)
def test_what_octave_saves_is_read(folder: Path, name: str, columns: tuple[str, str]) -> None:
    chosen = Selection(columns[:1], columns[1:]) if name == "matrix.h5" else Selection()
    recording = open_recording(folder / name, chosen)
    assert recording.stream.sample_rate == 128.0
    assert [channel.name for channel in recording.stream.channels] == list(columns)
    found = np.concatenate([block.samples for block in recording.blocks(100)])
    t = np.arange(300) / 128.0
    np.testing.assert_allclose(found, np.column_stack([np.sin(3.0 * t), np.cos(2.0 * t)]), atol=1e-15)
