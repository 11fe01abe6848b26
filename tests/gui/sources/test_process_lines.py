"""Lines: however the bytes come, the same lines come out."""

import itertools
import json
import os

from hypothesis import given
from hypothesis import strategies as st

from gui.sources.processes.child_process import ChildProcess, LineBuffer


@given(
    st.lists(st.binary(min_size=1).map(lambda b: b.replace(b"\n", b"?")), max_size=8),
    st.binary().map(lambda b: b.replace(b"\n", b"?")),
    st.lists(st.integers(0, 400), max_size=12),
)
def test_any_chopping_gives_the_same_lines(whole, rest, cuts):
    text = b"".join(line + b"\n" for line in whole) + rest
    edges = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    reader, got = LineBuffer(), []
    for begin, end in itertools.pairwise(edges):
        got += reader.feed(text[begin:end])
    got += reader.rest()
    assert got == [line for line in (*whole, rest) if line.strip()]
    assert reader.rest() == []


def test_a_line_that_never_ends_takes_no_memory(monkeypatch):
    monkeypatch.setattr("gui.sources.processes.child_process._LONGEST", 100)
    reader = LineBuffer()
    for _ in range(50):
        assert reader.feed(b"x" * 30) == []
    assert len(reader.rest()) <= 130


def test_an_answer_may_have_names_that_are_no_text(qtbot, heard):
    process = ChildProcess(["runs"])
    answers, lines = heard(process.answer), heard(process.line)
    name = os.fsdecode(b"\xff.h5")
    process._emit_lines(process._lines, [json.dumps({"file": name}).encode(), b'{"file": '])
    assert answers == [{"file": name}]
    assert lines == ['{"file":']
