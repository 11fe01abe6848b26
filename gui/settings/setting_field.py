"""A setting as the dialog shows it: what it is called, its unit, what it does, and how it is edited."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel

Kind = Literal["number", "amount", "text", "switch", "choice", "pair", "names", "files", "several", "folder"]


@dataclass(frozen=True, slots=True)
class SettingField:
    """One setting.

    Parameters
    ----------
    key : its name in its section; a dot leads into a section within.
    label, unit : beside its editor.
    does : a sentence.
    kind : how it is edited: a number, an amount (a number or a text), a text, a switch, a choice of one or several, a
        pair of numbers, names separated by commas, files separated by semicolons, or a folder.
    choices : of a choice, value and text; of several, values.
    empty : what it means if nothing is entered.
    check : returns what is wrong with an entry beyond what its section says, or nothing.
    """

    key: str
    label: str
    does: str
    kind: Kind = "number"
    unit: str = ""
    choices: tuple[tuple[str | bool | None, str], ...] = ()
    empty: str = ""
    check: Callable[[object], str] | None = None

    @property
    def path(self) -> tuple[str, ...]:
        """The key, part by part."""
        return tuple(self.key.split("."))


@dataclass(frozen=True, slots=True)
class SettingsSection:
    """One page: the settings of one section, with the model that checks them."""

    key: str
    title: str
    about: str
    model: type[BaseModel]
    fields: tuple[SettingField, ...]
