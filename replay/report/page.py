"""The page of a report or of blocks: Jinja2 template, style sheet and script in one file."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from monitor import __version__
from monitor.system.safe_text import printable
from monitor.text.blocks import Block, Data, Row
from replay import Progress, silent
from replay.assessment import assess
from replay.assessment.run import record_settings
from replay.comparison import RunComparison
from replay.export.target_files import TargetFiles
from replay.formats import Recording, naming_file
from replay.pictures import png
from replay.report.comparison import ComparisonReport, comparison_contents
from replay.report.contents import Report, report_contents
from replay.report.figures import recorded_reliability


@dataclass(frozen=True, slots=True)
class Written:
    """A report that was written: its path, its size in bytes, and its sentences in front."""

    path: Path
    size: int
    lead: tuple[str, ...]


def write_report(
    path: Path,
    recording: Recording,
    out: Path,
    given: Mapping[str, object],
    *,
    title: str = "",
    overwrite: bool = False,
    progress: Progress = silent,
) -> Written:
    """Assess a recording and write its report.

    Parameters
    ----------
    path : of the recording.
    recording : it, or a part of it.
    out : the page.
    given : settings of the indicators.
    title : of the page, in place of the recording's name.

    Raises
    ------
    ValueError : the recording cannot be assessed.
    RecordingError : it has become unreadable.
    WriteError : the page exists, or cannot be written.
    """
    with TargetFiles(out, path, overwrite=overwrite) as targets:
        temporary = targets.temporary()
        with naming_file(path):
            settings, notes = record_settings(recording, given)
            # a run without actuators may have the reliability of a model alone
            alone = not recording.stream.pairs and recording.n_samples and recorded_reliability(recording)
            assessment = None if alone else assess(recording, settings, progress=progress)
            report = report_contents(path.with_name(title or path.name), recording, assessment, notes, progress)
        page = render(report).encode()
        temporary.write_bytes(page)
    return Written(out, len(page), report.lead)


def write_comparison(temporary: Path, out: Path, found: Sequence[RunComparison], notes: Sequence[str]) -> Written:
    """Write the page of a comparison into a temporary file, which is to become `out`.

    Parameters
    ----------
    found : one or more runs, compared with one reference.
    notes : on the settings.
    """
    report = comparison_contents(found, notes)
    page = render(report).encode()
    temporary.write_bytes(page)
    return Written(out, len(page), report.lead)


@dataclass(frozen=True, slots=True)
class BlocksPage:
    """A page of blocks, of those that are told to people."""

    title: str
    facts: tuple[tuple[str, str], ...]
    blocks: tuple[Block, ...]
    version: str


def render_blocks(title: str, facts: Mapping[str, str], blocks: Iterable[Block]) -> str:
    """Return blocks as HTML, with their figures in it.

    Parameters
    ----------
    title : what is told.
    facts : of its making, in front: name and value.
    """
    shown = tuple(block for block in blocks if not isinstance(block, Data))
    return render(BlocksPage(title, tuple(facts.items()), shown, __version__))


_KINDS = {
    Report: ("report.html.j2", "Tracking report"),
    ComparisonReport: ("comparison.html.j2", "Comparison"),
    BlocksPage: ("blocks.html.j2", "Study"),
}


def render(report: Report | ComparisonReport | BlocksPage) -> str:
    """Return a report as HTML; every text is escaped, and the policy of the page admits no request."""
    folder = files("replay.report")
    style, script = (folder.joinpath("assets", name).read_text("utf-8") for name in ("report.css", "report.js"))
    loader = PackageLoader("replay.report", "assets")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["plain"] = printable
    # an image that is in the page
    environment.filters["image"] = lambda one: f"data:image/png;base64,{base64.b64encode(png(one)).decode()}"
    environment.tests["row"] = lambda row: isinstance(row, Row)
    environment.filters["kind"] = lambda block: type(block).__name__
    template, kind = _KINDS[type(report)]
    return environment.get_template(template).render(
        report=report, kind=kind, style=style, script=script, style_hash=_hash(style), script_hash=_hash(script)
    )


def _hash(text: str) -> str:
    """Return the source expression by which a Content-Security-Policy admits an inline text."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
