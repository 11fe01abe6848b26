"""Messages: bounded, in any spelling of units, and which of several delays is the headline."""

import math

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.messages.blocks import Channel, Role, ratio_unit, same_unit, units_differ
from monitor.messages.headline import HeadlineValues, contradicts, first_indicator, read_headline
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


NAN = math.nan
ALL = {
    "broadband_delay": 0.012,
    "broadband_delay_sd": 0.0,
    "broadband_ratio": 1.0,
    "broadband_ratio_sd": 0.0,
    "fdb_delay": 0.012,
    "fdb_delay_sd": 0.001,
    "fdb_ratio": 1.0,
    "fdb_ratio_sd": 0.01,
}


def read(**changed: float) -> HeadlineValues:
    values = {**ALL, **changed}
    return read_headline("broadband", lambda name: values.get(name, NAN))


@pytest.mark.parametrize(
    ("computed", "first"),
    [
        (("xcorr", "broadband", "fdb", "paei"), "broadband"),
        (("paei_adaptive", "paei", "fdb"), "paei"),
        (("paei_adaptive", "fdb"), "fdb"),
        (("xcorr", "paei_adaptive"), "paei_adaptive"),
        (("xcorr",), "xcorr"),
        ((), "broadband"),
    ],
)
def test_the_first_is_the_best_of_those_computed(computed: tuple[str, ...], first: str) -> None:
    names = {f"{prefix}_delay" for prefix in computed}
    assert first_indicator(names.__contains__) == first


def test_a_headline_has_its_values_and_what_is_not_computed_is_nan() -> None:
    found = read(fdb_delay=0.02)
    assert found == HeadlineValues("broadband", 0.012, 0.0, 1.0, 0.0, ("fdb",))
    of_fdb = read_headline("fdb", lambda name: ALL.get(name, NAN) if name != "fdb_ratio_sd" else NAN)
    assert (of_fdb.delay, of_fdb.delay_sd, of_fdb.ratio, of_fdb.contradicting) == (0.012, 0.001, 1.0, ())
    assert math.isnan(of_fdb.ratio_sd)


@pytest.mark.parametrize(
    ("changed", "differs"),
    [
        # 2 sd of 1 ms and 0.2 ms that matter to nobody, to either side
        ({"fdb_delay": 0.0143}, True),
        ({"fdb_delay": 0.0141}, False),
        ({"fdb_delay": 0.0097}, True),
        # FDB's ratio, that at one instant, is another quantity
        ({"fdb_ratio": 1.5}, False),
        # without noise bands have no width, and rounding is no contradiction
        ({"fdb_delay": 0.0121, "fdb_delay_sd": 0.0}, False),
        ({"fdb_delay": 0.0123, "fdb_delay_sd": 0.0}, True),
        ({"fdb_delay": NAN, "fdb_ratio": NAN}, False),
        ({"fdb_delay": 0.05, "fdb_delay_sd": NAN}, False),
        ({"broadband_delay": NAN}, False),
    ],
)
def test_only_what_matters_contradicts(changed: dict[str, float], differs: bool) -> None:
    assert read(**changed).contradicting == (("fdb",) if differs else ())


def test_arrays_are_compared_as_numbers_are() -> None:
    delays = np.array([0.0143, 0.0141, 0.0097, NAN])
    found = contradicts("delay", np.full(4, 0.012), np.zeros(4), delays, np.full(4, 0.001))
    assert (
        found.tolist()
        == [bool(read(fdb_delay=delay).contradicting) for delay in delays]
        == [True, False, True, False]
    )
    assert contradicts("ratio", 2.0, 0.0, np.array([2.009, 2.011]), 0.0).tolist() == [False, True]
