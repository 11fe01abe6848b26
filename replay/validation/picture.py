"""A validation as a picture: what the model says and what was measured, and the reliabilities below."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from monitor.reliability.curves import NAMES, Reliability
from monitor.reliability.ensemble import Ensemble
from replay.validation.validation import SiteResult, Validation

COLOURS = {"instantaneous": "0.65", "first_passage": "tab:red", "accumulated": "tab:blue", "windowed": "tab:green"}
_STYLES = {"first_passage": "--", "windowed": "-."}
_BAND = 0.05, 0.95
_LONGEST = 90  # characters that a title has room for


def draw(found: Validation, path: Path) -> None:
    """Write the picture into a file of the kind that its name says."""
    rows = len(found.sites) + 1
    figure = Figure(figsize=(9.0, 3.0 * rows), layout="constrained")
    axes = np.atleast_1d(figure.subplots(rows, 1, sharex=True))
    for axis, site in zip(axes, found.sites, strict=False):
        draw_responses(axis, site)
    draw_reliability(axes[-1], found.time, found.reliability)
    axes[-1].set_xlabel("time [s]")
    verdict = f"{found.decision.verdict.name.lower()} ({found.decision.reason})"
    axes[-1].set_title(f"tolerance {found.tolerance}\ndecision: {verdict}", fontsize="medium", wrap=True)
    figure.savefig(path, dpi=110)


def draw_responses(axis: Axes, result: SiteResult) -> None:
    """Draw the model's mean and band, and the measurements over it."""
    model = result.site.model
    if isinstance(model, Ensemble):
        low, high = (model.quantile(p) for p in _BAND)
        label = f"model, {model.n_realizations} realizations, 5 to 95 %"
    else:
        deviation = np.hypot(model.deviation, model.sensor_deviation)
        low, high, label = model.response - 2.0 * deviation, model.response + 2.0 * deviation, "model, 2 deviations"
    axis.fill_between(model.time, low, high, color="tab:blue", alpha=0.25, linewidth=0.0, label=label)
    axis.plot(model.time, model.mean, color="tab:blue", linewidth=1.0, label="model, mean")
    for number, column in enumerate(result.measured.T):
        axis.plot(model.time, column, color="black", linewidth=0.8, label="measured" if number == 0 else None)
    axis.set_ylabel(f"response [{model.unit}]" if model.unit else "response")
    name = model.name if len(model.name) <= _LONGEST else f"…{model.name[-_LONGEST:]}"
    axis.set_title(name, fontsize="medium")
    axis.legend(fontsize="small", loc="best")
    axis.grid(alpha=0.3)


def draw_reliability(axis: Axes, time: np.ndarray, reliability: Reliability) -> None:
    """Draw the curves with bands of two standard errors."""
    for name, curve in zip(NAMES, reliability.curves, strict=True):
        if not np.isfinite(curve.value).any():
            continue
        colour = COLOURS[name]
        width = 0.8 if name == "instantaneous" else 1.6
        label, style = name.replace("_", "-"), _STYLES.get(name, "-")
        axis.plot(time, curve.value, style, color=colour, linewidth=width, label=label)
        low, high = curve.value - 2.0 * curve.standard_error, curve.value + 2.0 * curve.standard_error
        axis.fill_between(time, low.clip(0.0, 1.0), high.clip(0.0, 1.0), color=colour, alpha=0.25, linewidth=0.0)
    axis.set_ylim(-0.03, 1.03)
    axis.set_ylabel("reliability [-]")
    axis.legend(fontsize="small", loc="lower left")
    axis.grid(alpha=0.3)
