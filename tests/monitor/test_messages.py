"""Messages between processes: what a service says about itself is bounded, who is ready, units in any spelling."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.messages.blocks import Channel, Role, ratio_unit, same_unit, units_differ
from monitor.messages.health import MAX_PATH, MAX_TEXT, Health, StreamCounts, decode, encode
from monitor.messages.ready import Endpoints


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


@given(st.lists(st.text()).map(tuple), st.text(), st.text())
def test_a_line_of_json_is_read_as_it_was_written(signals, results, requests):
    written = Endpoints(signals, results, requests)
    assert "\n" not in written.json
    assert Endpoints.from_message(msgspec.json.decode(written.json)) == written


@pytest.mark.parametrize("message", [{}, {"ready": None}, {"ready": 1}, {"ready": {"results": 2}}, {"other": {}}])
def test_another_message_is_none(message):
    assert Endpoints.from_message(message) is None


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("m/s²", "m/s^2", True),
        ("m/s2", "m / s^2", True),
        ("m³", "m^3", True),
        ("m", "", True),
        ("", "", True),
        (" ", "kN", True),
        ("m", "mm", False),
        ("mN", "MN", False),
        ("m/s", "m/s2", False),
    ],
)
def test_a_unit_is_the_same_however_it_is_written(one, other, same):
    assert same_unit(one, other) == same_unit(other, one) == same
    command, measured = Channel("c", Role.COMMAND, one, "a"), Channel("m", Role.MEASURED, other, "a")
    assert units_differ(command, measured) != same
    assert ratio_unit(command, measured) == ("1" if same else f"{one}/{other}")
