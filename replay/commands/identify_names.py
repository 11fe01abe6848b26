"""What the parameters of an actuator's fit are called, for a reader and for a script."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from monitor.messages.blocks import ratio_unit

if TYPE_CHECKING:
    from monitor.messages.blocks import Channel


@dataclass(frozen=True, slots=True)
class Shown:
    """One parameter.

    Parameters
    ----------
    name, unit : in a table.
    factor : which a table shows it times.
    key : in JSON, where it is in SI, or in the unit of the channels.
    """

    name: str
    unit: str
    factor: float
    key: str


def shown(name: str, command: Channel, measured: Channel) -> Shown:
    """Return how a parameter is shown; beta_1 and so on, the polynomial's terms, by what they are."""
    if name in ("delay", "lag"):
        return Shown(name, "ms", 1e3, f"{name}_s")
    if name == "gain":
        return Shown(name, ratio_unit(measured, command), 1.0, name)
    power = int(name.removeprefix("beta_")) - 1
    if not power:
        return Shown("offset", measured.unit, 1.0, "offset")
    per = f"s^{power}" if power > 1 else "s"
    title = f"drift t^{power}" if power > 1 else "drift"
    return Shown(title, f"{measured.unit or '1'}/{per}", 1.0, f"drift_per_{per.replace('^', '')}")
