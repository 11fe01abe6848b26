"""Reports: a recording and its assessment as one page of HTML, which needs no network and prints."""

from __future__ import annotations

from replay.report.page import Written, write_report

__all__ = ["Written", "write_report"]
