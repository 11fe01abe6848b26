"""What a service may say about itself is bounded."""

import msgspec
import pytest

from monitor.messages.health import MAX_PATH, MAX_TEXT, Health, StreamCounts, decode, encode


def test_what_is_encoded_comes_back():
    told = Health("rig", "receiving", StreamCounts(received=3), recording="x" * MAX_PATH, requests="e" * MAX_TEXT)
    assert decode(encode(told)) == told


@pytest.mark.parametrize(("name", "most"), [("rig", 200), ("state", 200), ("requests", 200), ("recording", 4096)])
def test_texts_without_end_are_refused(name, most):
    assert decode(encode(Health(**{name: "x" * most})))
    with pytest.raises(msgspec.DecodeError, match=f"{name} has {most + 1} characters"):
        decode(encode(Health(**{name: "x" * (most + 1)})))


def test_what_is_nested_without_end_is_refused():
    with pytest.raises(msgspec.DecodeError):
        decode(b'{"x": ' + b"[" * 100_000)
