"""The indicators of the catalogue, made for one set of settings."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from monitor.catalogue import CATALOGUE
from monitor.config import IndicatorSettings
from monitor.indicators.base import WindowedIndicator
from monitor.indicators.hopped import HoppedIndicator


def all_indicators(
    settings: IndicatorSettings, sample_rate: float, n_pairs: int, *, with_force: bool = False
) -> tuple[WindowedIndicator[Any], ...]:
    """Return one of each that `settings` asks for, for `n_pairs` pairs; those that need a force only `with_force`.

    Raises
    ------
    ValueError : a setting does not fit the sample rate.
    """
    # in which to evaluate a window, when there is time
    latency = round(settings.window * sample_rate) // 32
    made = []
    for measure, entry in CATALOGUE.items():
        if measure not in settings.measures or not entry.indicator:
            continue
        module, name = entry.indicator.split(":")
        kind: type[WindowedIndicator[Any]] = getattr(import_module(module), name)
        if kind.needs_force and not with_force:
            continue
        keywords: dict[str, Any] = {name: getattr(settings, name) for name in entry.settings}
        if issubclass(kind, HoppedIndicator):
            keywords["latency"] = latency
        made.append(kind(sample_rate, settings.window, n_pairs=n_pairs, every=settings.every, **keywords))
    return tuple(made)
