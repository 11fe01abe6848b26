"""Sections and fields of settings; titles, units and help are the source of forms, options, tables and errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

Positive = Annotated[float, Field(gt=0.0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0.0, allow_inf_nan=False)]
# up to a day: a longer window is a mistake of the unit, and would not fit in memory
Window = Annotated[float, Field(gt=0.0, le=86400.0)]
Time = Annotated[float, Field(allow_inf_nan=False)]
# a single name may be written without brackets
Names = Annotated[tuple[str, ...], BeforeValidator(lambda given: (given,) if isinstance(given, str) else given)]
Share = Annotated[float, Field(ge=0.0, le=1.0)]

Kind = Literal["number", "amount", "text", "switch", "choice", "several", "pair", "names"]
Opens = Literal["", "file", "files", "folder", "bind", "connect"]


class SettingsError(ValueError):
    """Invalid settings; the text is one line with every invalid key, and `problems` has one line each."""

    def __init__(self, *problems: str, where: str = "") -> None:
        super().__init__(where + "; ".join(problems))
        self.problems = tuple(where + problem for problem in problems)


class Section(BaseModel):
    """Table of settings: frozen, without unknown keys.

    Its constructor raises `SettingsError`, with the words of the command line; `model_validate` raises pydantic's own
    error, which a form assigns to its fields.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    if not TYPE_CHECKING:

        def __init__(self, /, **values):
            try:
                super().__init__(**values)
            except ValidationError as problem:
                raise SettingsError(*problem_lines(problem, type(self))) from None

        # pydantic validates the sections within a document itself, not by this constructor
        __init__.__pydantic_base_init__ = True


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
    """Return a pydantic field with its title, help and unit: the one source of forms, options, tables and errors.

    Parameters
    ----------
    title, description, unit : label, help in a sentence or two, and unit of the value.
    empty : meaning of an empty value.
    labels : labels of the values of a choice, in the order of its type, None first.
    opens : kind of path to browse for, or whether an endpoint is bound or connected.
    shown : False for a setting without an editor in forms.
    checks : limits, as `pydantic.Field` takes them.
    """
    extra: dict[str, Any] = {"unit": unit, "empty": empty, "labels": labels, "opens": opens, "shown": shown}
    return Field(default, title=title, description=description, json_schema_extra=extra, **checks)


@dataclass(frozen=True)
class SettingField:
    """Setting of a section, with its path through nested sections."""

    path: tuple[str, ...]
    info: FieldInfo

    @property
    def key(self) -> str:
        """Name in the settings file, below its section."""
        return ".".join(self.path)

    @property
    def title(self) -> str:
        """Label."""
        return self.info.title or self.key

    @property
    def description(self) -> str:
        """Help text."""
        return self.info.description or ""

    @property
    def unit(self) -> str:
        """Unit of the value; empty: none."""
        return str(self._extra.get("unit", ""))

    @property
    def empty(self) -> str:
        """Meaning of an empty value."""
        return str(self._extra.get("empty", ""))

    @property
    def opens(self) -> Opens:
        """Kind of path or endpoint."""
        opens: Opens = self._extra.get("opens", "")
        return opens

    @property
    def shown(self) -> bool:
        """Whether forms show it."""
        return bool(self._extra.get("shown", True))

    @property
    def has_dynamic_default(self) -> bool:
        """Whether omitting it differs from its default; `empty` describes what then applies."""
        optional = _plain(self.info.annotation)[1]
        return self.kind == "number" and not optional and bool(self.empty)

    @property
    def default_text(self) -> str:
        """Default as text."""
        if self.has_dynamic_default or self.default in (None, "", ()):
            return self.empty
        if self.kind == "several":
            return "all"
        return f"{self.default:g}".replace("e+0", "e") if self.kind == "number" else str(self.default)

    @property
    def default(self) -> Any:
        """Default value."""
        return self.info.default

    @cached_property
    def kind(self) -> Kind:
        """Kind of editor, from the type; an amount is a number or a text."""
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
        """Whether it is an integer."""
        return _plain(self.info.annotation)[0] is int

    @cached_property
    def choices(self) -> tuple[tuple[Any, str], ...]:
        """Values of a choice with their labels."""
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
    """Yield the displayed settings of a section, including those of nested sections."""
    for name, info in section.model_fields.items():
        field = SettingField((*path, name), info)
        if not field.shown:
            continue
        if isinstance(info.annotation, type) and issubclass(info.annotation, BaseModel):
            yield from fields_of(info.annotation, field.path)
        else:
            yield field


def field_at(section: type[BaseModel], location: Sequence[int | str]) -> SettingField | None:
    """Return the setting at the location of an error; None if there is none."""
    model: Any = section
    for depth, name in enumerate(location):
        info = model.model_fields.get(name)
        if info is None:
            return None
        model = info.annotation
        if not (isinstance(model, type) and issubclass(model, BaseModel)):
            return SettingField(tuple(map(str, location[: depth + 1])), info)
    return None


def problem_lines(
    problem: ValidationError,
    section: type[BaseModel],
    key_of: Callable[[tuple[int | str, ...]], str] = lambda location: ".".join(map(str, location)),
) -> list[str]:
    """Return a line for each invalid setting of a section: "window: Window (s) must be greater than 0".

    Parameters
    ----------
    key_of : returns the key of a location.
    """
    lines = []
    errors = problem.errors()
    for error in errors:
        location = error["loc"]
        # a list of invalid items is reported as too short as well
        if error["type"] == "too_short" and any(_is_within(each["loc"], location) for each in errors):
            continue
        text, field = problem_text(error), field_at(section, location)
        if field is not None and text.startswith("must "):
            text = f"{field.title}{f' ({field.unit})' if field.unit else ''} {text}"
        lines.append(": ".join(filter(None, (key_of(location), text))))
    return lines


def _is_within(inner: tuple[int | str, ...], outer: tuple[int | str, ...]) -> bool:
    return len(inner) > len(outer) and inner[: len(outer)] == outer


def problem_text(error: ErrorDetails) -> str:
    """Return a readable form of pydantic's message: "must be greater than 0"."""
    if error["input"] is None:
        return "a value is needed"
    if error["type"] == "too_short":
        return "choose at least one"
    text = error["msg"].removeprefix("Value error, ").partition(", unable to parse")[0]
    for message, plain in (
        ("Input should be", "must be"),
        ("a valid integer", "a whole number"),
        (" valid ", " "),
        ("Extra inputs are not permitted", "there is no such setting"),
    ):
        text = text.replace(message, plain)
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
