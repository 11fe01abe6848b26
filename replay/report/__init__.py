"""Reports: an assessed recording, or a comparison, as one page of HTML, which needs no network and prints."""

from __future__ import annotations

from replay.report.page import Written, write_comparison, write_report

__all__ = ["Written", "write_comparison", "write_report"]
