"""Columns find their roles by name, and doubts are left to the user."""

import pytest

from monitor.messages.blocks import Role
from replay.formats.base import RecordingError, Selection
from replay.formats.columns import find_column, read_columns
from replay.formats.roles import as_channels, choose_actuators


def actuators(header: str, selection: Selection = Selection()) -> list[tuple[str, str, str, str]]:  # noqa: B008
    names = [name.strip() for name in header.split(",")]
    columns = read_columns(names, (), len(names))
    found, _ = choose_actuators(columns, selection)
    as_channels(columns, found)
    return [(a.name, a.command.name, a.measured.name, a.force.name if a.force else "") for a in found]


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("x_c, x_m, f_m", [("x", "x_c", "x_m", "f_m")]),
        ("x_c [mm], x_m [mm], f_m [kN]", [("x", "x_c", "x_m", "f_m")]),
        ("uc, um", [("u", "uc", "um", "")]),
        ("d_c_1, d_m_1, d_c_2, d_m_2", [("d_1", "d_c_1", "d_m_1", ""), ("d_2", "d_c_2", "d_m_2", "")]),
        ("cmd, meas, force", [("actuator", "cmd", "meas", "force")]),
        ("cmd_V, meas_mm", [("actuator", "cmd_V", "meas_mm", "")]),
        ("Command Disp, Feedback Disp, Load Cell", [("Disp", "Command Disp", "Feedback Disp", "Load Cell")]),
        ("Soll [mm], Ist [mm], Kraft [kN]", [("actuator", "Soll", "Ist", "Kraft")]),
        ("targetDisp, actualDisp", [("Disp", "targetDisp", "actualDisp", "")]),
        ("Dis command, Dis feedback", [("Dis", "Dis command", "Dis feedback", "")]),
        ("Table disp [mm], cmd [mm], Table acc [g]", [("actuator", "cmd", "Table disp", "")]),
        ("Dis command [mm], Table disp [mm]", [("Dis", "Dis command", "Table disp", "")]),
        (
            "Axial Disp. Command (mm), Axial Displacement (mm), Axial Force (kN), Running Time (s)",
            [("Axial_Disp", "Axial Disp. Command", "Axial Displacement", "Axial Force")],
        ),
        (
            "A Command (mm), A Displacement (mm), B Disp. Command (mm), B Displacement (mm)",
            [("A", "A Command", "A Displacement", ""), ("B_Disp", "B Disp. Command", "B Displacement", "")],
        ),
        (
            "Act1_Command, Act1_Displacement, Act1_Force, Act2_Command, Act2_Displacement, Act2_Force",
            [
                ("Act_1", "Act1_Command", "Act1_Displacement", "Act1_Force"),
                ("Act_2", "Act2_Command", "Act2_Displacement", "Act2_Force"),
            ],
        ),
        ("reference, response", [("actuator", "reference", "response", "")]),
        ("input, output, temperature", [("actuator", "input", "output", "")]),
        ("force_command, force_measured", [("force", "force_command", "force_measured", "")]),
        ("setpoint_a, lvdt_fbk", [("a", "setpoint_a", "lvdt_fbk", "")]),  # one of each leaves no choice
        (
            "cmd_1, cmd_2, meas_1, meas_2, force_1, force_2",
            [("actuator1", "cmd_1", "meas_1", "force_1"), ("actuator2", "cmd_2", "meas_2", "force_2")],
        ),
        (
            "north_command, south_command, south_measured, north_measured, south_force",
            [
                ("north", "north_command", "north_measured", ""),
                ("south", "south_command", "south_measured", "south_force"),
            ],
        ),
    ],
)
def test_clear_names_are_understood(header: str, expected: list[tuple[str, str, str, str]]) -> None:
    assert actuators(header) == expected


@pytest.mark.parametrize(
    ("command", "measured"),
    [
        ("act{} command", "act{} measured"),  # "act" is an actuator here, and the actual motion below
        ("Act{} Cmd", "Act{} Fbk"),
        ("cmd_{}", "act_{}"),
        ("target {}", "actual {}"),
        ("Act {} Ref", "Act {} Act"),
        ("act{}_cmd", "act{}"),
        ("Cmd Act{}", "Act{}"),
        ("Ch{} Command", "Ch{} Position"),
        ("Station{} Ref", "Station{} LVDT"),
        ("Disp{}Command", "Disp{}"),
        ("trial disp {}", "measured disp {}"),
        ("Pos Cmd {}", "Pos Act {}"),
        ("input_{}", "output_{}"),
        ("Sollweg {}", "Istweg {}"),
        ("Displ. Consigne {}", "Displ. Mesurée {}"),
    ],
)
@pytest.mark.parametrize("n", [1, 3])
def test_actuators_pair_as_laboratories_write_them(n: int, command: str, measured: str) -> None:
    names = [(command.format(k), measured.format(k)) for k in range(1, n + 1)]
    found = actuators(", ".join(f"{c} [mm], {m} [mm]" for c, m in names))
    assert [(c, m) for _, c, m, _ in found] == names


@pytest.mark.parametrize(
    "header",
    [
        "a, b, c",
        "Act1 Command, Act1 Displacement, Act1 Position",
        "trial, displacement",
        "Act1 Command [mm], Act1 Force [kN]",
        "cmd, laser, force",
        "shaker_front_cmd_V, shaker_back_cmd_V, laser_front_mm",
        "x_target, x_command, x_measured",
        "cmd_V, feedback_mm_of_something",
        "cmd, meas, fbk",
    ],
)
def test_doubtful_names_are_asked_for(header: str) -> None:
    with pytest.raises(RecordingError, match="--command NAME --measured NAME"):
        actuators(header)


def test_named_columns_are_taken_as_named() -> None:
    header = "t, Shaker Cmd [V], laser_1, laser_2, Load"
    chosen = actuators(header, Selection(("shakercmd",), ("4",), ("LOAD",)))
    assert chosen == [("Shaker", "Shaker Cmd", "laser_2", "Load")]
    two = actuators("a,b,c,d", Selection(("a", "c"), ("b", "d")))
    assert [a[0] for a in two] == ["a", "c"]
    alike = actuators("cmd_V,target_V,b,d", Selection(("cmd_V", "target_V"), ("b", "d")))
    assert [a[0] for a in alike] == ["cmd_V", "target_V"]


@pytest.mark.parametrize(
    ("selection", "says"),
    [
        (Selection(("a",), ("z",)), "no column 'z'; there are a, b, c"),
        (Selection(("a",), ("4",)), "no column '4'"),
        (Selection(("a",), ("a",)), "named twice"),
        (Selection(("a",), ("b",), ("b",)), "named twice"),
        (Selection(("a",), ("b",), ("b", "c")), "2 force columns for 1 actuator"),
    ],
)
def test_a_wrong_choice_is_one_clear_line(selection: Selection, says: str) -> None:
    with pytest.raises(RecordingError) as caught:
        actuators("a, b, c", selection)
    assert says in str(caught.value)


def test_without_actuators_every_column_is_sent_as_it_is() -> None:
    for header, selection in (("response [mm]", Selection()), ("x_c, x_m, oil", Selection(auxiliary=True))):
        columns = read_columns([name.strip() for name in header.split(",")], (), header.count(",") + 1)
        chosen, notes = choose_actuators(columns, selection)
        assert chosen == () and "sent as it is" in notes[0]
        assert {channel.role for channel in as_channels(columns, chosen)} == {Role.AUXILIARY}
    with pytest.raises(RecordingError, match="--auxiliary excludes actuators"):
        Selection(("a",), ("b",), auxiliary=True)


def test_contradictory_selections_are_refused_at_once() -> None:
    for wrong in ({"command": ("a",)}, {"time": "t", "rate": 1.0}, {"rate": 0.0}, {"rate": float("nan")}):
        with pytest.raises(RecordingError):
            Selection(**wrong)


def test_empty_and_doubled_headers_get_names_of_their_own() -> None:
    columns = read_columns(["", "f", "f", "g (1)", "h [-]", "a_mm_s2"], (), 6)
    assert [(c.name, c.unit) for c in columns] == [
        ("column_1", ""),
        ("f", ""),
        ("f_2", ""),
        ("g (1)", ""),
        ("h", ""),
        ("a_mm_s2", "mm/s2"),
    ]
    with pytest.raises(RecordingError, match="2 columns are called 'F'"):
        find_column(read_columns(["f", "f"], (), 2), "F")
