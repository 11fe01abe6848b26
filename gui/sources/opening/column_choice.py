"""Choice of columns: which of a file mean what, checked, and remembered for files of the same columns."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec
from PySide6.QtCore import QSettings

from gui.sources.opening.fields import Recent
from monitor.messages.recordings import ColumnGuess, FileColumn

Field = tuple[int, str]
"""Place of an actuator and what its column is, ``(0, "command")``; -1 for what concerns the whole file."""
FILE = -1
RATE: Field = (FILE, "rate")
ACTUATORS: Field = (FILE, "actuators")


@dataclass(frozen=True, slots=True)
class ActuatorColumns:
    """The columns of one actuator, by their references; empty where there is none."""

    command: str = ""
    measured: str = ""
    force: str = ""


@dataclass(frozen=True, slots=True)
class ColumnChoice:
    """What the columns mean.

    Parameters
    ----------
    actuators : the columns of each.
    time : column of times; empty: the one that the reader finds.
    rate : Hz, as it was typed; the samples are then evenly spaced. Empty where a column tells the time.
    auxiliary : there are no actuators; every column is a signal of its own.
    """

    actuators: tuple[ActuatorColumns, ...] = (ActuatorColumns(),)
    time: str = ""
    rate: str = ""
    auxiliary: bool = False

    @property
    def words(self) -> tuple[str, ...]:
        """The options of `replay`; only of a choice without problems."""
        return tuple(self._words())

    def _words(self) -> Iterator[str]:
        if self.auxiliary:
            yield "--auxiliary"
        else:
            for actuator in self.actuators:
                yield f"--command={actuator.command}"
                yield f"--measured={actuator.measured}"
            for actuator in self.actuators:
                if actuator.force:
                    yield f"--force={actuator.force}"
        if self.rate:
            yield f"--rate={float(self.rate):.12g}"
        elif self.time:
            yield f"--time={self.time}"

    def problems(self) -> dict[Field, str]:
        """Return what is wrong, at the field where it is; empty when the choice can be tried."""
        found: dict[Field, str] = {}
        if self.rate and not _is_rate(self.rate):
            found[RATE] = "write a positive number of Hz"
        if self.auxiliary:
            return found
        if not self.actuators:
            found[ACTUATORS] = "add an actuator, or say that there are none"
        served: dict[str, Field] = {} if self.rate or not self.time else {self.time: (FILE, "time")}
        with_force = [bool(actuator.force) for actuator in self.actuators]
        for place, actuator in enumerate(self.actuators):
            for what, column in (
                ("command", actuator.command),
                ("measured", actuator.measured),
                ("force", actuator.force),
            ):
                if column in served:
                    found[place, what] = f"serves as {_said(served[column])} already"
                elif column:
                    served[column] = (place, what)
                elif what != "force":
                    found[place, what] = "choose a column"
                elif any(with_force):
                    found[place, what] = "every actuator needs one, or none has"
        return found

    def fits(self, columns: Sequence[FileColumn]) -> bool:
        """Tell whether all its columns are there."""
        there = {column.word for column in columns} | {""}
        named = [name for each in self.actuators for name in (each.command, each.measured, each.force)]
        return there.issuperset(named) and self.time in there


def choice_of(guess: ColumnGuess | None) -> ColumnChoice:
    """Return what was guessed, as a choice."""
    if guess is None:
        return ColumnChoice()
    forces = guess.force if len(guess.force) == len(guess.command) else ("",) * len(guess.command)
    actuators = tuple(map(ActuatorColumns, guess.command, guess.measured, forces))
    return ColumnChoice(actuators or (ActuatorColumns(),), guess.time or "", "", guess.auxiliary)


def _is_rate(text: str) -> bool:
    try:
        return 0.0 < float(text) < float("inf")
    except ValueError:
        return False


def _said(field: Field) -> str:
    place, what = field
    return what if place == FILE else f"{what} of actuator {place + 1}"


_MOST = 50
_decoder = msgspec.json.Decoder(ColumnChoice)


class ColumnMemory:
    """Remember the last fifty choices.

    Parameters
    ----------
    settings : where they are kept.
    """

    def __init__(self, settings: QSettings) -> None:
        self._settings = settings
        self._known = Recent(settings, "columns/known", _MOST)

    def recall(self, columns: Sequence[FileColumn]) -> ColumnChoice | None:
        """Return what was chosen for such columns; None where nothing was, or the settings are damaged."""
        try:
            choice: ColumnChoice = _decoder.decode(str(self._settings.value(_key(columns), "")))
        except msgspec.DecodeError:
            return None
        return choice if choice.fits(columns) and not choice.problems() else None

    def remember(self, columns: Sequence[FileColumn], choice: ColumnChoice) -> None:
        """Keep a choice, and forget the oldest where there are too many."""
        before, key = self._known.texts, _key(columns)
        self._settings.setValue(key, msgspec.json.encode(choice).decode())
        self._known.add(key)
        for forgotten in set(before) - set(self._known.texts):
            self._settings.remove(forgotten)


def _key(columns: Sequence[FileColumn]) -> str:
    # the order does not matter: a choice names its columns
    names = "\n".join(sorted(column.word for column in columns))
    return f"columns/{hashlib.sha256(names.encode()).hexdigest()[:24]}"
