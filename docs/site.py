"""What the site of the documentation has beside the pages of this folder: a hook of MkDocs, see `mkdocs.yml`.

README is its first page; examples and the list of changes are where the pages link to; commands and classes are
written from the program.
"""

from __future__ import annotations

import os
import re
from importlib import import_module
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

import monitor
from monitor.__main__ import COMMANDS, parser_for

ROOT = Path(__file__).parents[1]
# files outside of the folder of the pages, which they link to
BESIDE = ("CHANGELOG.md", "LICENSE", "examples/**/*", "tests/monitor/rms_error_example.py")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made, and the files that pages link to."""
    index = (ROOT / "README.md").read_text(encoding="utf-8")
    made = {
        "index.md": index.replace("(docs/", "("),
        "reference/commands.md": _commands(),
        "reference/classes.md": _classes(),
    }
    for name, text in made.items():
        files.append(File.generated(config, name, content=text))
    for path in sorted(path for pattern in BESIDE for path in ROOT.glob(pattern) if path.is_file()):
        files.append(File.generated(config, path.relative_to(ROOT).as_posix(), abs_src_path=str(path)))
    # each decision is on its list
    for file in files.documentation_pages():
        if file.src_uri.startswith("decisions/"):
            file.inclusion = file.inclusion.NOT_IN_NAV
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Lead the links of a page to where the files are on the site."""
    if "/" not in page.file.src_uri:
        markdown = re.sub(r"\]\(\.\./", "](", markdown).replace("](README.md", "](index.md")
        # folders have no page
        markdown = markdown.replace("](examples)", "](examples/README.md)").replace("](docs/", "](")
        # programs of the gallery are on its page
        markdown = re.sub(r"^\[[^]]*\]\((examples/\w+\.py)\)$", _program, markdown, flags=re.MULTILINE)
    elif page.file.src_uri.startswith("examples/"):
        markdown = markdown.replace("](../docs/", "](../")
    return markdown


def _program(link: re.Match[str]) -> str:
    """Return the cells of a program, texts as texts and code as code."""
    path = Path(__file__).parent / link[1]
    head, *cells = re.split(r"^# %%", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    parts = [head.strip().strip('"')]
    for cell in cells:
        kind, _, body = cell.partition("\n")
        is_text = "[markdown]" in kind
        parts.append(re.sub(r"^# ?", "", body, flags=re.MULTILINE) if is_text else f"```python\n{body.strip()}\n```")
    return "\n\n".join(parts)


def _commands() -> str:
    """Return a page with the help of every command."""
    os.environ["COLUMNS"] = "100"
    lines = ["# Commands", "", "What `--help` of each command prints.", ""]
    for name, (_, summary) in COMMANDS.items():
        lines += [f"## {name}", "", f"{summary[0].upper()}{summary[1:]}.", ""]
        lines += ["```text", _command_help(name), "```", ""]
    return "\n".join(lines)


def _command_help(name: str) -> str:
    parser = parser_for([name])
    choices = next(action.choices for action in parser._actions if action.choices and name in action.choices)
    return str(dict(choices)[name].format_help()).rstrip()


def _classes() -> str:
    """Return a page with the docstring of every public name."""
    lines = ["# Classes and functions", "", "[Public names](../api.md) has an example of each.", ""]
    for name in sorted(monitor.__all__, key=str.lower):
        home = getattr(getattr(monitor, name), "__module__", "monitor")
        if hasattr(import_module(home), name):
            lines += [f"::: {home}.{name}", ""]
    return "\n".join(lines)
