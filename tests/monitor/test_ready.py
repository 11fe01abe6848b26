"""Endpoints of a program that is ready: what one program prints, and another reads."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.messages.ready import Endpoints


@given(st.lists(st.text()).map(tuple), st.text(), st.text())
def test_a_line_of_json_is_read_as_it_was_written(signals, results, requests):
    written = Endpoints(signals, results, requests)
    assert "\n" not in written.json
    assert Endpoints.from_message(msgspec.json.decode(written.json)) == written


@pytest.mark.parametrize("message", [{}, {"ready": None}, {"ready": 1}, {"ready": {"results": 2}}, {"other": {}}])
def test_another_message_is_none(message):
    assert Endpoints.from_message(message) is None
