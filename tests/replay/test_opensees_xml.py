"""XML files of OpenSees' recorders: as OpenSees writes them, cut short, damaged and foreign."""

import os
import random
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from replay.formats import RecordingError, Selection, inspect_recording, open_recording
from tests.campaign.run_file_mutations import damaged_bytes
from tests.needs import opensees_environment

EVERYTHING = Selection(auxiliary=True)
# as OpenSees 3.7 wrote it: recorder Element -xml ... -time -ele 1 material 1 stressStrain, and a node
WRITTEN = """<?xml version="1.0" encoding="UTF-8"?>
 <OpenSees
  xmlns:xsi = "http://www.w3.org/2001/XMLSchema-instance"
  xsi:noNamespaceSchemaLocation = "http://OpenSees.berkeley.edu/xml-schema/xmlns/OpenSees.xsd">
    <TimeOutput>
        <ResponseType>time</ResponseType>
    </TimeOutput>
    <NodeOutput nodeTag="2" coord1="0" coord2="0" coord3="0">
        <ResponseType>D1</ResponseType>
    </NodeOutput>
    <ElementOutput eleType="ZeroLength" eleTag="1" node1="1" node2="2">
        <UniaxialMaterialOutput matType="ElasticMaterial" matTag="7">
            <ResponseType>sig11</ResponseType>
            <ResponseType>eps11</ResponseType>
        </UniaxialMaterialOutput>
    </ElementOutput>
    <Data>
        0.01 3.12552e-06 0.000312552 3.12552e-06 
        0.02 1.86726e-05 0.00186726 1.86726e-05 
        0.03 5.87427e-05 0.00587427 5.87427e-05 
        0.04 0.000134803 0.0134803 0.000134803 
        0.05 0.000257384 0.0257384 0.000257384 
        </Data>
</OpenSees>"""  # noqa: W291
NAMES = ["node2.D1", "element1.material7.sig11", "element1.material7.eps11"]
ROWS = np.array(
    [
        [3.12552e-06, 0.000312552, 3.12552e-06],
        [1.86726e-05, 0.00186726, 1.86726e-05],
        [5.87427e-05, 0.00587427, 5.87427e-05],
        [0.000134803, 0.0134803, 0.000134803],
        [0.000257384, 0.0257384, 0.000257384],
    ]
)


def read(path, selection=EVERYTHING):
    recording = open_recording(path, selection)
    return recording, np.concatenate([block.samples for block in recording.blocks(7)])


def file(tmp_path, text, name="node.xml"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_columns_have_the_names_of_nodes_elements_and_responses(tmp_path):
    recording, samples = read(file(tmp_path, WRITTEN))
    assert [channel.name for channel in recording.stream.channels] == NAMES
    assert recording.stream.sample_rate == 100.0
    assert not any("cut" in note for note in recording.notes)
    assert next(recording.blocks(1)).time == pytest.approx(0.01)
    np.testing.assert_array_equal(samples, ROWS)
    # found by its content, too
    assert inspect_recording(file(tmp_path, WRITTEN, "node.out"), EVERYTHING)[0].name == "OpenSees XML"
    pair = Selection(command=("node2.D1",), measured=("element1.material7.eps11",))
    assert len(read(tmp_path / "node.xml", pair)[0].stream.pairs) == 1


def test_without_times_the_rate_is_asked_for(tmp_path):
    text = re.sub(r"<TimeOutput>.*</TimeOutput>", "", WRITTEN, flags=re.DOTALL)
    path = file(tmp_path, re.sub(r"(?m)^ +0\.0\d ", " ", text))
    with pytest.raises(RecordingError, match=r"no column of times: name it with --time NAME.* or give --rate HZ$"):
        open_recording(path, EVERYTHING)
    np.testing.assert_array_equal(read(path, Selection(auxiliary=True, rate=100.0))[1], ROWS)


def test_a_file_of_a_killed_program_is_read_as_far_as_it_goes(tmp_path):
    whole = WRITTEN.encode()
    data = whole.index(b"<Data>")
    refused = 0
    for at in [*range(1, data, 41), *range(data, len(whole) - 1)]:
        path = file(tmp_path, whole[:at])
        try:
            recording, samples = read(path)
        except RecordingError as problem:
            assert str(problem).startswith(f"{path}: ") and "\n" not in str(problem)
            refused += at > data
            continue
        assert at > data
        np.testing.assert_array_equal(samples, ROWS[: len(samples)])
        assert "cut short" in " ".join(recording.notes)
    # two rows are needed
    assert 50 < refused < 130


def test_a_damaged_file_is_one_line(tmp_path):
    chance = random.Random(5)
    for _ in range(60):
        path = file(tmp_path, damaged_bytes(WRITTEN.encode(), chance))
        try:
            read(path)
        except RecordingError as problem:
            assert str(problem).startswith(f"{path}: ") and "\n" not in str(problem)


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ("0.00587427 5.87427e-05", "0.00587427 none", "line 20: 'none' is not a number"),
        ("5.87427e-05 0.00587427", "1_0 0.00587427", "line 20: '1_0' is not a number"),
        # as many numbers in all
        ("5.87427e-05 \n", "\n 5.87427e-05 ", "line 20 has 3 numbers for 4 responses"),
        ("0.00587427 5.87427e-05", "0.00587427", "line 20 has 3 numbers for 4 responses"),
        ("<ResponseType>D1</ResponseType>", "<ResponseType>D1", "damaged or cut short, not readable as an XML file"),
        ('<?xml version="1.0" encoding="UTF-8"?>', '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "c">]>', "entities"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, old, new, word):
    with pytest.raises(RecordingError, match=word):
        open_recording(file(tmp_path, WRITTEN.replace(old, new)), EVERYTHING)


def test_another_xml_file_is_none_of_opensees(tmp_path):
    path = file(tmp_path, '<?xml version="1.0"?>\n<log><row>1 2 3</row><row>4 5 6</row></log>\n')
    with pytest.raises(RecordingError, match=r"^[^\n]*no rows of numbers[^\n]*$"):
        open_recording(path)


SCRIPT = """
import math, openseespy.opensees as ops
ops.model("basic", "-ndm", 1, "-ndf", 1)
ops.node(1, 0.0); ops.node(2, 0.0); ops.fix(1, 1); ops.mass(2, 1.0)
ops.uniaxialMaterial("Elastic", 3, 400.0)
ops.element("zeroLength", 1, 1, 2, "-mat", 3, "-dir", 1)
ops.timeSeries("Trig", 1, 0.0, 100.0, 0.5); ops.pattern("Plain", 1, 1); ops.load(2, 1.0)
ops.recorder("Node", "-xml", "node.xml", "-precision", 12, "-time", "-node", 1, 2, "-dof", 1, "disp")
ops.recorder("Node", "-file", "node.txt", "-precision", 12, "-time", "-node", 1, 2, "-dof", 1, "disp")
ops.recorder("Element", "-xml", "element.xml", "-precision", 12, "-time", "-ele", 1, "material", "1", "stressStrain")
ops.constraints("Plain"); ops.numberer("Plain"); ops.system("BandGeneral"); ops.algorithm("Linear")
ops.integrator("Newmark", 0.5, 0.25); ops.analysis("Transient")
ops.analyze(300, 0.01)
ops.wipe()
"""


def test_files_of_opensees_itself(tmp_path):
    environment = os.environ | opensees_environment()
    run = [sys.executable, "-c", SCRIPT]
    done = subprocess.run(run, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    recording, nodes = read(tmp_path / "node.xml")
    assert [channel.name for channel in recording.stream.channels] == ["node1.D1", "node2.D1"]
    assert (recording.stream.sample_rate, recording.n_samples) == (100.0, 300)
    np.testing.assert_array_equal(nodes, np.loadtxt(tmp_path / "node.txt")[:, 1:])
    assert np.ptp(nodes[:, 1]) > 1e-3
    recording, laws = read(tmp_path / "element.xml")
    assert [channel.name for channel in recording.stream.channels] == [
        "element1.material3.sig11",
        "element1.material3.eps11",
    ]
    np.testing.assert_allclose(laws[:, 1], nodes[:, 1], atol=1e-14)
    np.testing.assert_allclose(laws[:, 0], 400.0 * laws[:, 1], rtol=1e-11)


def test_any_byte_within_the_data_is_read_or_one_line(tmp_path: Path) -> None:
    data = WRITTEN.index("<Data>")
    places = [WRITTEN.index(text, data) for text in ("0.01", "000312552", " 0.02", "0.03", "</Data>")]
    path = tmp_path / "x.xml"
    for at in places:
        for byte in range(256):
            text = WRITTEN.encode()
            path.write_bytes(text[:at] + bytes([byte]) + text[at:])
            try:
                assert open_recording(path, EVERYTHING).n_samples == len(ROWS)
            except RecordingError as problem:
                assert str(problem).isprintable()


@pytest.mark.parametrize("depth", [2, 20, 40, 1000, 100_000])
def test_only_some_levels_of_outputs_are_read(depth: int, tmp_path: Path) -> None:
    own = "<ResponseType>D1</ResponseType>"
    path = tmp_path / "x.xml"
    path.write_text(WRITTEN.replace(own, "<NodeOutput>" * depth + own + "</NodeOutput>" * depth))
    if depth <= 20:
        assert len(open_recording(path, EVERYTHING).stream.channels) == len(NAMES)
    else:
        with pytest.raises(RecordingError, match=r"nested deeper than 32 levels$"):
            open_recording(path, EVERYTHING)
