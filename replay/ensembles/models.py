"""The models that ensembles and replicates are simulated of, by name."""

from __future__ import annotations

from importlib import import_module

from sim.ensemble import Experiment

_HOMES = {
    "beam": ("sim.models.beam", "StochasticBeam"),
    "sandia": ("sim.models.sandia", "SandiaStructure"),
    "thermal": ("sim.models.thermal_experiment", "ThermalExperiment"),
}


def model_names() -> tuple[str, ...]:
    """Return the names of all models."""
    return tuple(_HOMES)


def ensemble_model(name: str, horizon: float | None = None) -> Experiment:
    """Return a model with its standard parameters, over its own time or up to `horizon` [s].

    Raises
    ------
    ValueError : there is none of that name; the text lists those there are.
    """
    if name not in _HOMES:
        *others, last = _HOMES
        raise ValueError(f"there is no model {name!r}: choose {', '.join(others)} or {last}")
    module, kind = _HOMES[name]
    build = getattr(import_module(module), kind)
    model: Experiment = build() if horizon is None else build(horizon=horizon)
    return model
