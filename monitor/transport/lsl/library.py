"""liblsl: its package imported when it is needed, addresses of streams, and what a stream says of its channels."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any
from urllib.parse import parse_qsl, quote, unquote
from xml.etree import ElementTree

from monitor.messages.blocks import Role
from monitor.transport.base import TransportError
from monitor.transport.zeromq.endpoint import check_endpoint

SCHEME = "lsl://"

_CONDITIONS = ("type", "source_id", "hostname")
_FORM = f"write {SCHEME}NAME, where streams share a name {SCHEME}NAME?source_id=ID, also with type and hostname"
_NO_LIBRARY = (
    "pylsl is installed without liblsl, its library: install the wheel of your system (pip install --upgrade pylsl), "
    "liblsl from conda-forge (conda install -c conda-forge liblsl), or name the library in the variable PYLSL_LIB"
)
_MAX_NAME = 120
_MAX_CHANNELS = 4096


def load_library() -> Any:
    """Return the module pylsl.

    Raises
    ------
    ModuleNotFoundError : it is not installed.
    TransportError : it finds no liblsl.
    """
    try:
        return import_module("pylsl")
    except ModuleNotFoundError:
        raise
    # RuntimeError where there is none, OSError or AttributeError where it is of another system or too old
    except (RuntimeError, OSError, AttributeError) as problem:
        raise TransportError(f"{_NO_LIBRARY}; {' '.join(str(problem).split())[:160]}") from problem


@dataclass(frozen=True)
class StreamAddress:
    """Which stream is meant: its name, and further conditions on its type, source_id or hostname."""

    name: str
    conditions: tuple[tuple[str, str], ...] = ()

    @classmethod
    def parse(cls, url: str) -> StreamAddress:
        """Read ``lsl://NAME?source_id=ID``; special characters may be written as ``%20``.

        Raises
        ------
        TransportError : it is malformed.
        """
        name, _, query = url.removeprefix(SCHEME).partition("?")
        try:
            conditions = tuple(parse_qsl(query, keep_blank_values=True, strict_parsing=True)) if query else ()
        except ValueError:
            conditions = (("", ""),)
        unknown = [key for key, _ in conditions if key not in _CONDITIONS]
        address = cls(unquote(name), conditions)
        texts = [address.name, *(value for _, value in conditions)]
        if not url.startswith(SCHEME) or not address.name or unknown:
            raise TransportError(f"{url!r} is no address of an LSL stream: {_FORM}")
        # XPath 1.0 has no escapes
        if any({"'", '"'} <= set(text) or not text.isprintable() for text in texts):
            raise TransportError(f"{url!r}: a stream with both kinds of quotes in its name cannot be searched for")
        return address

    @property
    def predicate(self) -> str:
        """XPath condition on the description of the stream."""
        wanted = (("name", self.name), *self.conditions)
        return " and ".join(f'{key}="{text}"' if "'" in text else f"{key}='{text}'" for key, text in wanted)

    def __str__(self) -> str:
        query = "&".join(f"{key}={quote(value)}" for key, value in self.conditions)
        return f"{SCHEME}{self.name}" + (f"?{query}" if query else "")


def check_signal_endpoint(url: str, *, bind: bool) -> None:
    """Raise `TransportError` unless signals can come from `url`: a ZeroMQ endpoint or, not bound, an LSL stream."""
    if url.startswith(SCHEME) and not bind:
        StreamAddress.parse(url)
    else:
        check_endpoint(url, bind=bind)


@dataclass(frozen=True)
class DescribedChannel:
    """A channel as its stream describes it; the role is empty where it gives none."""

    name: str
    unit: str = ""
    role: str = ""
    actuator: str = ""


def described_channels(xml: str, count: int, name: str) -> tuple[DescribedChannel, ...]:
    """Return the channels of a stream, from ``desc/channels/channel`` of its description.

    A ``type`` of command, measured, force or auxiliary is the role; the actuator is the element of that name, or what
    is before the role in a label such as ``north.command``. A channel without label is ``NAME_1`` and so on.

    Parameters
    ----------
    xml : description of the stream.
    count : number of its channels.
    name : of the stream.

    Raises
    ------
    ValueError : there are too many channels, or the description is no XML.
    """
    if count > _MAX_CHANNELS:
        raise ValueError(f"{count} channels; the limit is {_MAX_CHANNELS}")
    try:
        # liblsl has written it, and writes no document type
        found = ElementTree.fromstring(xml).findall("desc/channels/channel")  # noqa: S314
    except ElementTree.ParseError as problem:
        raise ValueError(f"its description is no XML: {problem}") from problem
    described = [_channel(each, f"{name}_{number}") for number, each in enumerate(found[:count], 1)]
    unnamed = (DescribedChannel(f"{name}_{number}"[:_MAX_NAME]) for number in range(len(described) + 1, count + 1))
    return (*described, *unnamed)


def _channel(element: ElementTree.Element, fallback: str) -> DescribedChannel:
    label, unit, role, actuator = (_text(element, key) for key in ("label", "unit", "type", "actuator"))
    role = role.lower() if role.lower() in tuple(Role) else ""
    before, dot, last = label.rpartition(".")
    if role and dot and last == role:
        actuator = actuator or before
    return DescribedChannel((label or fallback)[:_MAX_NAME], unit, role, actuator)


def _text(element: ElementTree.Element, key: str) -> str:
    text = "".join(c if c.isprintable() else " " for c in element.findtext(key, ""))
    return text.strip()[:_MAX_NAME]
