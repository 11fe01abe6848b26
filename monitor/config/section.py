"""What settings are made of: sections, settings with what forms, options, tables and errors say of them, numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

Positive = Annotated[float, Field(gt=0.0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0.0, allow_inf_nan=False)]
# a window of a day: longer ones are a slip of the unit, and would not fit in memory
Window = Annotated[float, Field(gt=0.0, le=86400.0)]
Time = Annotated[float, Field(allow_inf_nan=False)]
# a single name may be written without brackets
Names = Annotated[tuple[str, ...], BeforeValidator(lambda given: (given,) if isinstance(given, str) else given)]
Share = Annotated[float, Field(ge=0.0, le=1.0)]

Kind = Literal["number", "amount", "text", "switch", "choice", "several", "pair", "names"]
Opens = Literal["", "file", "files", "folder", "bind", "connect"]


class Section(BaseModel):
    """A table of settings: frozen, and unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def setting(
    default: Any,
    title: str,
    description: str,
    *,
    unit: str = "",
    empty: str = "",
    labels: Sequence[str] = (),
    opens: Opens = "",
    shown: bool = True,
    **checks: Any,
) -> Any:
    """Return a pydantic field with all that is said of it: the one source of forms, options, tables and errors.

    Parameters
    ----------
    title, description, unit : its label, what it does in a sentence or two, and the unit behind its value.
    empty : what applies where nothing is given.
    labels : words for the values of a choice, in the order of its type, None first.
    opens : a path that can be picked, or an endpoint that is bound or connected to.
    shown : False for what has no editor in a form.
    checks : limits, as `pydantic.Field` takes them.
    """
    extra: dict[str, Any] = {"unit": unit, "empty": empty, "labels": labels, "opens": opens, "shown": shown}
    return Field(default, title=title, description=description, json_schema_extra=extra, **checks)


@dataclass(frozen=True)
class SettingField:
    """One setting of a section; `path` leads to it, through a section within the section where there is one."""

    path: tuple[str, ...]
    info: FieldInfo

    @property
    def key(self) -> str:
        """Its name in the settings file, below its section."""
        return ".".join(self.path)

    @property
    def title(self) -> str:
        """Its label."""
        return self.info.title or self.key

    @property
    def description(self) -> str:
        """What it does."""
        return self.info.description or ""

    @property
    def unit(self) -> str:
        """The unit of its value; empty: none."""
        return str(self._extra.get("unit", ""))

    @property
    def empty(self) -> str:
        """What applies where nothing is given."""
        return str(self._extra.get("empty", ""))

    @property
    def opens(self) -> Opens:
        """What is picked or checked: a path or an endpoint."""
        opens: Opens = self._extra.get("opens", "")
        return opens

    @property
    def shown(self) -> bool:
        """Whether forms show it."""
        return bool(self._extra.get("shown", True))

    @property
    def may_be_left_out(self) -> bool:
        """Whether leaving it out is not the same as giving its default: `empty` says what then applies."""
        optional = _plain(self.info.annotation)[1]
        return self.kind == "number" and not optional and bool(self.empty)

    @property
    def default_text(self) -> str:
        """Its default in words."""
        if self.may_be_left_out or self.default in (None, "", ()):
            return self.empty
        if self.kind == "several":
            return "all"
        return f"{self.default:g}".replace("e+0", "e") if self.kind == "number" else str(self.default)

    @property
    def default(self) -> Any:
        """Its value where nothing is given."""
        return self.info.default

    @cached_property
    def kind(self) -> Kind:
        """How it is written and edited, from its type; an amount is a number or a text."""
        plain, optional = _plain(self.info.annotation)
        if plain is bool:
            return "choice" if optional else "switch"
        if get_origin(plain) is Literal:
            return "choice"
        if get_origin(plain) is tuple:
            if get_args(plain)[1] is not Ellipsis:
                return "pair"
            return "several" if get_origin(get_args(plain)[0]) is Literal else "names"
        return "text" if plain is str else "number" if plain in (int, float) else "amount"

    @cached_property
    def is_whole(self) -> bool:
        """Whether it takes whole numbers only."""
        return _plain(self.info.annotation)[0] is int

    @cached_property
    def choices(self) -> tuple[tuple[Any, str], ...]:
        """Values to choose from, each with its label."""
        plain, optional = _plain(self.info.annotation)
        if get_origin(plain) is tuple:
            plain = get_args(plain)[0]
        known = (True, False) if plain is bool else get_args(plain)
        values = (None, *known) if optional else known
        labels = self._extra.get("labels") or [str(value).replace("_", " ") for value in values]
        return tuple(zip(values, labels, strict=True))

    @property
    def _extra(self) -> dict[str, Any]:
        extra = self.info.json_schema_extra
        return extra if isinstance(extra, dict) else {}


def fields_of(section: type[BaseModel], path: tuple[str, ...] = ()) -> Iterator[SettingField]:
    """Yield the settings of a section, those of sections within it in their place, without what is not shown."""
    for name, info in section.model_fields.items():
        field = SettingField((*path, name), info)
        if not field.shown:
            continue
        if isinstance(info.annotation, type) and issubclass(info.annotation, BaseModel):
            yield from fields_of(info.annotation, field.path)
        else:
            yield field


def field_at(section: type[BaseModel], location: Sequence[int | str]) -> SettingField | None:
    """Return the setting that an error's location lies in; None where it is none."""
    model: Any = section
    for depth, name in enumerate(location):
        info = model.model_fields.get(name)
        if info is None:
            return None
        model = info.annotation
        if not (isinstance(model, type) and issubclass(model, BaseModel)):
            return SettingField(tuple(map(str, location[: depth + 1])), info)
    return None


def problem_text(error: ErrorDetails) -> str:
    """Return what pydantic says is wrong with a value, in plain words: "must be greater than 0"."""
    if error["input"] is None:
        return "a value is needed"
    if error["type"] == "too_short":
        return "choose at least one"
    text = error["msg"].removeprefix("Value error, ").partition(", unable to parse")[0]
    for said, plain in (
        ("Input should be", "must be"),
        ("a valid integer", "a whole number"),
        (" valid ", " "),
        ("Extra inputs are not permitted", "there is no such setting"),
    ):
        text = text.replace(said, plain)
    return text[:1].lower() + text[1:]


def _plain(annotation: Any) -> tuple[Any, bool]:
    """Return a type without its checks, and whether it may be None; of several types a union."""
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    if get_origin(annotation) not in (Union, UnionType):
        return annotation, False
    kinds = [kind for kind in get_args(annotation) if kind is not NoneType]
    optional = len(kinds) < len(get_args(annotation))
    return (_plain(kinds[0])[0] if len(kinds) == 1 else annotation), optional
