"""The tables of settings in the guide, from the settings themselves: `python -m docs.settings` renews them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from monitor.config import LimitSettings, SettingField, Settings, fields_of

GUIDE = Path(__file__).parent / "guide.md"
_BEGIN, _END = "<!-- settings: python -m docs.settings -->\n", "<!-- end of settings -->"


def renewed(guide: str) -> str:
    """Return the text of the guide with its tables as they should be."""
    before, _, rest = guide.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return before + _BEGIN + "\n".join(_tables()) + "\n\n" + _END + after


def _tables() -> Iterator[str]:
    for name, info in Settings.model_fields.items():
        section: Any = info.annotation
        yield from _table(f"[{name}]", info.description or "", section)
        if name == "alarms":
            yield from _table("[[alarms.limit]]", "As many as wanted.", LimitSettings)


def _table(heading: str, about: str, section: type[BaseModel]) -> Iterator[str]:
    yield f"\n**`{heading}`** {about}\n"
    yield "| key | default [unit] | what it does |"
    yield "|---|---|---|"
    for field in fields_of(section):
        several = "Some" if field.kind == "several" else "One"
        choices = f" {several} of {_listed(field)}." if field.kind in ("choice", "several") else ""
        unit = f" [{field.unit}]" if field.unit else ""
        words = (f"`{field.key}`", _default(field) + unit, field.description + choices)
        yield "| " + " | ".join(words) + " |"


def _listed(field: SettingField) -> str:
    return ", ".join(f"`{str(value).lower()}`" for value, _ in field.choices if value is not None)


def _default(field: SettingField) -> str:
    if field.info.is_required():
        return "to be given"
    if field.has_dynamic_default or field.kind == "several" or field.default in (None, "", ()):
        return field.default_text
    if field.kind == "switch":
        return f"`{str(field.default).lower()}`"
    return f"`{field.default_text}`" if field.kind == "number" else f'`"{field.default}"`'


if __name__ == "__main__":
    GUIDE.write_text(renewed(GUIDE.read_text(encoding="utf-8")), encoding="utf-8")
