"""Requests and answers as bytes: what is sent comes back, and nothing else is understood."""

from __future__ import annotations

import json
import unicodedata

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.messages.requests import (
    MAX_NOTE,
    MAX_REQUEST,
    Answer,
    NoteRequest,
    RequestError,
    decode_answer,
    decode_request,
    encode,
)
from monitor.recording import rows

LINES = st.text(st.characters(categories=("L", "N", "P", "S")), min_size=1, max_size=50)
TIMES = st.none() | st.floats(allow_nan=False, allow_infinity=False)
INDICES = st.none() | st.integers(0, (1 << 62) - 1)
NUMBERS = st.integers(0, 1 << 53)


def refused(payload: bytes) -> RequestError:
    with pytest.raises(RequestError) as caught:
        decode_request(payload)
    text = str(caught.value)
    assert text
    assert text.isprintable()
    assert len(text) <= 240
    return caught.value


@given(LINES, TIMES, INDICES, NUMBERS)
def test_a_note_comes_back_as_it_was_sent(text, time, index, number) -> None:
    note = NoteRequest(text=text, time=time, index=index, id=number)
    assert note.text == text
    assert decode_request(encode(note)) == note


@given(LINES, TIMES, INDICES, NUMBERS)
def test_json_of_another_program_is_the_same_note(text, time, index, number) -> None:
    written = json.dumps({"id": number, "time": time, "request": "note", "index": index, "text": text})
    assert decode_request(written.encode()) == NoteRequest(text=text, time=time, index=index, id=number)


@given(st.booleans(), LINES | st.just(""), NUMBERS)
def test_an_answer_comes_back(ok, reason, number) -> None:
    answer = Answer(ok=ok, reason=reason, id=number)
    assert decode_answer(encode(answer)) == answer
    assert json.loads(encode(answer))["ok"] is ok


def test_the_shortest_forms() -> None:
    assert json.loads(encode(NoteRequest(text="a"))) == {"request": "note", "text": "a"}
    assert encode(Answer(ok=True)) == b'{"ok":true}'


@given(st.text(max_size=60))
def test_a_text_becomes_one_line_without_control_characters(text) -> None:
    try:
        line = NoteRequest(text=text).text
    except ValueError as problem:
        assert "needs a text" in str(problem)
        assert not any(c.isprintable() and not c.isspace() for c in text)
        return
    assert len(line.splitlines()) == 1
    # controls, formats, surrogates, unassigned, separators but the blank
    assert not {unicodedata.category(c) for c in line} & {"Cc", "Cf", "Cs", "Cn", "Zl", "Zp"}
    kept = [c for c in text if c.isprintable() and not c.isspace()]
    assert [c for c in line if c != " "] == kept
    assert NoteRequest(text=line).text == line


def test_white_space_of_any_kind_is_one_blank() -> None:
    assert NoteRequest(text="\tvalve \r\n opened\x00\u2028by hand\x1b[31m\n").text == "valve opened by hand[31m"


@pytest.mark.parametrize(("letter", "most"), [("x", 200), ("ü", 100), ("漢", 66), ("🙂", 50)])
def test_a_note_may_have_as_many_bytes_as_the_run_file_keeps(letter, most) -> None:
    assert MAX_NOTE == rows.DETAIL_BYTES
    assert NoteRequest(text=letter * most).text == letter * most
    with pytest.raises(ValueError, match=rf"{len(letter.encode()) * (most + 1)} bytes: at most 200 are stored"):
        NoteRequest(text=letter * (most + 1))
    assert "at most 200" in str(refused(msgspec.json.encode({"request": "note", "text": letter * (most + 1)})))


@pytest.mark.parametrize("time", [float("nan"), float("inf")])
def test_a_time_is_finite(time) -> None:
    with pytest.raises(ValueError, match="must be finite"):
        NoteRequest(text="a", time=time)


HOSTILE = [
    b"",
    b"\x00",
    b"\xff\xfe",
    b"null",
    b"7",
    b'"note"',
    b"[]",
    b"{}",
    b'{"request":"note"}',
    b'{"text":"a"}',
    b'{"request":7,"text":"a"}',
    b'{"request":"shelve","text":"a"}',
    b'{"request":"note","text":null}',
    b'{"request":"note","text":7}',
    b'{"request":"note","text":""}',
    b'{"request":"note","text":"\\n\\u0007"}',
    b'{"request":"note","text":"\xff"}',
    b'{"request":"note","text":"\\ud800"}',
    b'{"request":"note","text":"a","colour":"red"}',
    b'{"request":"note","text":"a","time":"now"}',
    b'{"request":"note","text":"a","time":NaN}',
    b'{"request":"note","text":"a","time":1e999}',
    b'{"request":"note","text":"a","index":-1}',
    b'{"request":"note","text":"a","index":1.5}',
    b'{"request":"note","text":"a","index":4611686018427387904}',
    b'{"request":"note","text":"a","id":-1}',
    b'{"request":"note","text":"a","id":1' + b"0" * 300 + b"}",
    b'{"request":"note","text":"a"}{}',
    b"[" * 9000,
    b'{"request":' * 1000,
    b'{"x":' + b"[" * 9000,
    b'{"request":"note","text":"' + b"a" * MAX_REQUEST + b'"}',
]


@pytest.mark.parametrize("payload", HOSTILE, ids=lambda payload: repr(payload[:50]))
def test_what_is_no_request_is_refused_in_one_line(payload) -> None:
    refused(payload)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_request_or_refused(payload) -> None:
    with pytest.raises(RequestError):
        decode_request(payload)
    with pytest.raises(RequestError):
        decode_answer(payload)


@given(st.data())
def test_a_damaged_request_never_raises_anything_else(data) -> None:
    whole = bytearray(encode(NoteRequest(text="valve opened", time=1.5, index=3, id=9)))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    try:
        note = decode_request(bytes(whole))
    except RequestError:
        return
    assert len(note.text.encode()) <= MAX_NOTE


def test_a_request_that_is_not_known_yet_is_refused_under_its_number() -> None:
    assert refused(b'{"request":"shelve","alarm":"delay","id":12}').number == 12
    assert refused(b'{"request":"note","text":"","id":13}').number == 13
    assert refused(b"nothing").number == 0
