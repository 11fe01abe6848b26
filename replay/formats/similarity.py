"""Which two columns look like a command and the signal that follows it: proposed by their values, never assumed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from monitor.messages.blocks import Role, Samples
from replay.formats.columns import TableColumn
from replay.formats.roles import role_by_name

_LARGEST = 1e50  # sums of its squares are numbers
_MOST_COLUMNS = 32
MOST_ROWS = 1 << 14
_LEAST_ROWS = 64
_ALIKE = 0.95
_NEARLY = 0.02  # of the correlation: pairs that are as good, of which the gain nearest to 1 decides


@dataclass(frozen=True)
class Proposal:
    """Two columns of which one follows the other.

    Parameters
    ----------
    command, measured : the one that leads, and the one that follows.
    correlation : at the lag at which they are most alike.
    lag : samples by which it follows, 1 or more.
    """

    command: TableColumn
    measured: TableColumn
    correlation: float
    lag: int

    @property
    def advice(self) -> str:
        """Text for a message that asks for the columns."""
        samples = "sample" if self.lag == 1 else "samples"
        return (
            f"by their values perhaps --command {self.command.name!r} --measured {self.measured.name!r}, "
            f"which follows by {self.lag} {samples} (correlation {self.correlation:.3f})"
        )


def propose(columns: Sequence[TableColumn], values: Samples) -> Proposal | None:
    """Return the pair most alike at a lag, of columns whose units can be equal; None if none is.

    Where names say of some columns that they are commands, or measured signals, only these are proposed as such.

    Parameters
    ----------
    columns : of signals.
    values : (n, n_columns).
    """
    if not 2 <= len(columns) <= _MOST_COLUMNS or len(values) < _LEAST_ROWS:
        return None
    part = values[:MOST_ROWS]
    part = np.where(np.abs(part) < _LARGEST, part, 0.0)
    time = np.linspace(-1.0, 1.0, len(part))
    # a trend alone makes any two columns alike
    residual = part - np.mean(part, axis=0) - np.outer(time, time @ part / np.dot(time, time))
    size = np.sqrt(np.sum(residual**2, axis=0))
    moving = [at for at in range(len(columns)) if size[at] > 1e-9 * (1.0 + float(np.max(np.abs(part[:, at]))))]
    roles = [role_by_name(column) for column in columns]
    spectra = np.fft.rfft(residual / np.where(size > 0.0, size, 1.0), 2 * len(part), axis=0)
    most = len(part) // 4
    overlap = 1.0 - np.abs(np.arange(-most, most + 1)) / len(part)
    found = []
    for first, second in combinations(moving, 2):
        units = {columns[first].unit, columns[second].unit} - {""}
        if len(units) > 1:
            continue
        product = np.fft.irfft(np.conj(spectra[:, first]) * spectra[:, second])
        # fewer rows overlap at a long lag
        lags = np.concatenate([product[-most:], product[: most + 1]]) / overlap
        at = int(np.argmax(lags))
        lag = at - most
        # copies have no lag, and no order
        pair = (first, second) if lag > 0 else (second, first)
        # over the rows that both have: a whole product loses with the lag
        ahead, behind = residual[: len(part) - abs(lag), pair[0]], residual[abs(lag) :, pair[1]]
        alike = float(np.dot(ahead, behind) / (np.linalg.norm(ahead) * np.linalg.norm(behind) + 1e-300))
        if lag and alike >= _ALIKE and _fits(pair, roles):
            gain = abs(float(np.log(size[pair[1]] / size[pair[0]])))
            proposal = Proposal(columns[pair[0]], columns[pair[1]], alike, abs(lag))
            found.append((proposal.correlation, gain, proposal))
    if not found:
        return None
    best = max(correlation for correlation, _, _ in found)
    return min((each for each in found if each[0] >= best - _NEARLY), key=lambda each: each[1])[2]


def _fits(pair: tuple[int, int], roles: Sequence[Role | None]) -> bool:
    """Whether the names allow the pair of command and measured signal."""
    wanted = Role.COMMAND, Role.MEASURED
    return all(
        roles[at] is role if role in roles else roles[at] is None for at, role in zip(pair, wanted, strict=True)
    )
