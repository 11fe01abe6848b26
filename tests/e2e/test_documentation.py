"""Documentation names what exists: links, files, modules, classes, commands and their options."""

from __future__ import annotations

import argparse
import ast
import doctest
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from inspect import isfunction
from pathlib import Path

import pytest

import monitor
from monitor.__main__ import COMMANDS, parse, parser_for
from monitor.config import load_settings
from monitor.indicators import reference, reference_force
from replay.identification.force_model import read_force_model
from replay.identification.specimen_follower import read_specimen_model

ROOT = Path(__file__).parents[2]
PACKAGES = ("monitor", "sim", "replay", "gui")
FOLDERS = (*PACKAGES, "tests", "benchmarks", "docs", "examples")
PAGES = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    ROOT / "examples" / "README.md",
    *sorted(ROOT.glob("docs/**/*.md")),
]

# classes and files of other programs, and of examples on the page itself
FOREIGN = {"ExecStartPre", "H5Fopen", "LoadCredential", "PeakPanel", "ThreadAuthenticator", "lab.toml", "sender.py"}

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


@cache
def prose(page: Path) -> str:
    return re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)


def fenced(page: Path, language: str = r"\w*") -> Iterator[str]:
    yield from re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


def code(page: Path) -> list[str]:
    """Return the texts in backticks of a page."""
    return [" ".join(text.split()) for text in re.findall(r"`([^`]+)`", prose(page))]


@cache
def anchors(page: Path) -> set[str]:
    headings = [heading.replace("`", "") for heading in re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)]
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@cache
def defined() -> set[str]:
    """Return every class and imported name of the source, its tests and examples."""
    names = set[str]()
    for path in (path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                names.add(node.name)
            elif isinstance(node, ast.Name):
                names.add(node.id)
            elif isinstance(node, ast.Attribute):
                names.add(node.attr)
            elif isinstance(node, ast.alias):
                names.add(node.name.rpartition(".")[2])
    return names


@every_page
def test_links_lead_to_files_and_headings(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if re.match("https?:", target):
            continue
        name, _, heading = target.partition("#")
        path = page.parent / name if name else page
        assert path.exists(), target
        assert not heading or heading in anchors(path.resolve()), target


@every_page
def test_files_are_there(page):
    for text in code(page):
        for path in re.findall(rf"(?<![\w./:-])(?:{'|'.join(FOLDERS)})/[\w./*-]*", text):
            assert list(ROOT.glob(path.rstrip("/."))) or list(ROOT.glob(f"{path}.py")), path
        for name in re.findall(r"(?<![\w/.*-])[\w-]+\.(?:py|toml|mjs)\b", text):
            assert name in FOREIGN or list(ROOT.rglob(name)), name


@every_page
def test_modules_and_classes_are_there(page):
    for text in code(page):
        for name in re.findall(rf"(?<![\w./])(?:{'|'.join(PACKAGES)})(?:\.\w+)+(?![\w./-])", text):
            if not name.endswith((".h5", ".toml", ".service", ".json", ".csv", ".py")):
                assert found(name), name
        for name in re.findall(r"\b(?:[A-Z][a-z0-9]+){2,}\b", text):
            assert name in defined() | FOREIGN, name


def found(name: str) -> bool:
    """Whether a dotted name is that of a module, or of something in one."""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        try:
            value = import_module(".".join(parts[:count]))
        except ModuleNotFoundError:
            continue
        for part in parts[count:]:
            if not hasattr(value, part):
                return False
            value = getattr(value, part)
        return True
    return False


def subcommand(parser: argparse.ArgumentParser, name: str) -> argparse.ArgumentParser | None:
    groups = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    return next((group.choices.get(name) for group in groups), None)


@cache
def options(name: str) -> set[str]:
    """Return all options of a command and of its own subcommands."""
    command = subcommand(parser_for([name]), name)
    assert command is not None
    found, parsers = set[str](), [command]
    while parsers:
        parser = parsers.pop()
        found |= parser._option_string_actions.keys()
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                parsers += action.choices.values()
    return found


@every_page
def test_commands_have_the_options_that_they_are_shown_with(page):
    for text in [*code(page), *(line for block in fenced(page) for line in block.replace("\\\n", " ").splitlines())]:
        for name, rest in re.findall(r"(?<![\w./-])(?<!-u )synchroscope ([a-z]+(?:-[a-z]+)*)\b([^#|&>;]*)", text):
            if re.match(r"synchroscope \w+   ", text.strip()):
                continue  # a label in a diagram
            assert name in COMMANDS, text
            for option in re.findall(r"(?<![\w-])--[a-z][\w-]*", rest):
                assert option in options(name), text


@every_page
def test_commands_are_accepted(page, capsys):
    for block in fenced(page):
        for line in re.findall(r"^synchroscope .*", block.replace("\\\n", " "), re.MULTILINE):
            # options in brackets, alternatives and pipes are for the reader
            line = re.split(r"  #| [|&>;]|\s+#", line)[0]
            if re.search(r"[\[…]|\.\.\. ", line):
                continue
            words = shlex.split(line)[1:]
            try:
                parse(words)
            except SystemExit as end:
                assert not end.code, (line, capsys.readouterr().err)


@every_page
def test_imports_of_programs_are_there(page):
    for block in fenced(page, "python"):
        for module, names in re.findall(r"^from (\S+) import (\([^)]*\)|.*)$", block, re.MULTILINE):
            for name in re.findall(r"\w+", names):
                assert hasattr(import_module(module), name), f"{module}.{name}"


@every_page
def test_settings_are_accepted(page, tmp_path):
    for block in fenced(page, "toml"):
        path = tmp_path / "settings.toml"
        path.write_text(block, encoding="utf-8")
        # the models of `identify` are files of their own
        if "[[missing]]" in block:
            read_force_model(path)
        elif "[specimen]" in block:
            read_specimen_model(path)
        else:
            load_settings(path, {})


def test_every_page_has_its_place_on_the_site():
    site = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = set(re.findall(r": ([\w/-]+\.md)$", site, re.MULTILINE))
    assert {page.name for page in ROOT.glob("docs/*.md")} <= listed


def test_the_page_of_names_is_a_session_as_typed(warm_kernels, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = ROOT / "docs" / "api.md"
    for name in monitor.__all__:
        assert f"monitor.{name}" in "".join(fenced(page, "pycon")), name
    assert doctest.testfile(str(page), module_relative=False).failed == 0


@pytest.mark.parametrize(("module", "signals"), [(reference, "tone"), (reference_force, "viscous_loops")])
def test_every_definition_has_an_example_that_is_true(module, signals):
    own = [each for each in vars(module).values() if isfunction(each) and each.__module__ == module.__name__]
    silent = [each.__name__ for each in own if ">>>" not in each.__doc__ and not each.__name__.startswith("_")]
    assert silent == [signals]
    assert doctest.testmod(module).failed == 0


def test_the_site_is_built_without_a_warning(tmp_path):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=240)
    assert (done.returncode, done.stderr) == (0, "")
    assert "RecursiveInverse" in (tmp_path / "site" / "reference" / "classes.html").read_text(encoding="utf-8")
