"""Docstrings as the site's generator reads them: what stands after a name's colon is its description."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

_ENTRY = re.compile(r"^([\w*, .]+) : (.+)$", re.MULTILINE)


class Descriptions(Extension):
    """Parameters are written ``name : shape, unit; meaning``, and have their type in the signature."""

    def on_instance(self, *, obj: Object, **_: Any) -> None:
        """Put the description where numpydoc has it, on the lines below the name."""
        if obj.docstring is not None:
            obj.docstring.value = _ENTRY.sub(r"\1\n    \2", obj.docstring.value)
