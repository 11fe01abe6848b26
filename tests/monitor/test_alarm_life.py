"""The life of an alarm against the arrows of the standard's diagram."""

from __future__ import annotations

from itertools import product

import pytest

from monitor.alarms.alarm_instance import AlarmKind, next_state, rejection_reason, state_after_unshelve
from monitor.messages.alarms import AlarmAction, AlarmState
from tests.oracles.alarms import arrows

KINDS = [AlarmKind(latching, acknowledge) for latching, acknowledge in product((False, True), repeat=2)]
LIVING = [state for state in AlarmState if state not in (AlarmState.SHELVED, AlarmState.OUT_OF_SERVICE)]
ACTIONS = [AlarmAction.OCCUR, AlarmAction.RETURN_TO_NORMAL, AlarmAction.ACKNOWLEDGE, AlarmAction.RESET]


def reachable(kind: AlarmKind) -> set[str]:
    table = arrows(*kind)
    return {state for state, _ in table} | set(table.values())


@pytest.mark.parametrize("kind", KINDS)
def test_every_arrow_of_the_diagram_and_no_other(kind) -> None:
    table = arrows(*kind)
    for state, action in product(LIVING, ACTIONS):
        if state in reachable(kind):
            assert next_state(state, action, kind) == table.get((state, action), state), (state, action)


@pytest.mark.parametrize("kind", KINDS)
def test_under_settings_that_have_changed_every_state_can_be_left(kind) -> None:
    for start in LIVING:
        seen, todo = {start}, [start]
        while todo:
            state = todo.pop()
            steps = {next_state(state, action, kind) for action in ACTIONS} - seen
            seen |= steps
            todo += steps
        assert AlarmState.NORMAL in seen, start


@pytest.mark.parametrize("action", ACTIONS)
def test_a_shelved_alarm_and_one_out_of_service_stay(action) -> None:
    for state, kind in product((AlarmState.SHELVED, AlarmState.OUT_OF_SERVICE), KINDS):
        assert next_state(state, action, kind) is state


def test_from_the_shelf_comes_what_holds_what_is_latched_and_nothing_else() -> None:
    for beneath, kind in product(LIVING, KINDS):
        expected = AlarmState.UNACKNOWLEDGED if kind.acknowledge else AlarmState.ACKNOWLEDGED
        assert state_after_unshelve(beneath, kind, active=True) is expected
        quiet = beneath if beneath.startswith("latched") else AlarmState.NORMAL
        assert state_after_unshelve(beneath, kind, active=False) is quiet


def test_what_is_in_vain_is_told_in_one_line() -> None:
    for state, action in product(AlarmState, AlarmAction):
        told = rejection_reason(state, action)
        assert told.startswith(("it", "its", "acknowledge"))
        assert "\n" not in told
