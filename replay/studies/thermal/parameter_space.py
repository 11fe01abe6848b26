"""Where the experiments of the thermal challenge lie, and where the application does (its Fig. 2)."""

from __future__ import annotations

from matplotlib.figure import Figure

from sim.models.thermal_slab import SlabTest
from sim.models.thermal_tables import (
    ACCREDITATION,
    APPLICATION,
    LEVELS,
    accreditation_runs,
    configurations,
    validation_runs,
)

# points to the right of a mark and above it
_BESIDE = (9.0, 5.0)


def parameter_space() -> Figure:
    """Draw flux over thickness of every configuration, with how many experiments the level High has there."""
    tests, level = configurations(), LEVELS[-1]
    of_validation = validation_runs(level)
    n_accreditation = accreditation_runs(level)["front"].temperature.shape[1]
    figure = Figure(figsize=(7.0, 4.6), layout="constrained")
    axis = figure.subplots()
    for name, runs in of_validation.items():
        words = f"{name}: {runs.temperature.shape[1]} experiments"
        _mark(figure, tests[name], "o", "tab:blue", words, "ensemble validation" if name == "1" else "")
    _mark(figure, tests[ACCREDITATION], "s", "tab:green", f"{n_accreditation} experiments", "accreditation")
    _mark(figure, tests[APPLICATION], "*", "tab:red", "no experiment", "application")
    axis.set(xlabel="thickness [cm]", ylabel="heat flux [W/m²]", xlim=(1.0, 3.1), ylim=(500.0, 4000.0))
    axis.set_title(f"Level {level}: the application is an extrapolation in flux")
    axis.grid(alpha=0.3)
    axis.legend(fontsize="small", loc="upper left")
    return figure


def _mark(figure: Figure, test: SlabTest, mark: str, colour: str, words: str, label: str) -> None:
    (axis,) = figure.axes
    at = 100.0 * test.thickness, test.flux
    axis.plot(*at, mark, color=colour, markersize=11.0, label=label or "_nolegend_")
    axis.annotate(words, at, _BESIDE, textcoords="offset points", fontsize="small")
