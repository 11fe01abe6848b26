"""Autoregressions with an input (ARX): models of records.

y[t] = a_1 y[t-1] + ... + b_0 u[t] + b_1 u[t-1] + ... + e[t], by least squares. No constant is fitted:
records have their means removed, where these mean nothing. Without an input it is an AR model.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sim.arrays import Flags, Samples

# of a column's length, what remains of it beside the columns before it: less and they are one
_DEPENDENT = 1e-10


@dataclass(frozen=True, slots=True)
class Orders:
    """Orders of an autoregression.

    Parameters
    ----------
    output : a_1 to a_output.
    input : so many coefficients of the input; 0 is an AR model.
    """

    output: int
    input: int = 0

    @property
    def lag(self) -> int:
        """Samples at the beginning of a record that have no equation of their own."""
        return max(self.output, self.input - 1)

    def regressors(self, output: Samples, excitation: Samples | None, lag: int | None = None) -> Samples:
        """Return (..., n - lag, output + input): what predicts each sample from `lag` on."""
        lag = self.lag if lag is None else lag
        n = output.shape[-1]
        columns = [output[..., lag - i : n - i] for i in range(1, self.output + 1)]
        if excitation is not None:
            columns += [excitation[..., lag - i : n - i] for i in range(self.input)]
        return np.stack(np.broadcast_arrays(*columns), axis=-1)


@dataclass(frozen=True, slots=True, eq=False)
class Autoregression:
    """Autoregressions of records, each with its own coefficients.

    Parameters
    ----------
    orders : of all.
    coefficients : (..., output + input), a and b.
    deviation : (...,), of the residuals, with the degrees of freedom that are left.
    """

    orders: Orders
    coefficients: Samples
    deviation: Samples

    def one_step_errors(self, output: Samples, excitation: Samples | None = None) -> Samples:
        """Return records, which may be others than the fitted ones, less their predictions, (..., n - lag)."""
        predicted = (self.orders.regressors(output, excitation) @ self.coefficients[..., None])[..., 0]
        return np.asarray(output[..., self.orders.lag :] - predicted)

    def error_ratio(self, output: Samples, excitation: Samples | None = None) -> Samples:
        """Return the rms error in other records over the residual deviation: 1 is a record of the same system.

        The damage-sensitive feature of Sohn and Farrar (2001): of n equations it scatters by 1 / sqrt(2 n).
        """
        error = self.one_step_errors(output, excitation)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.sqrt(np.mean(error**2, axis=-1)) / self.deviation)


def fit_autoregression(output: Samples, orders: Orders, excitation: Samples | None = None) -> Autoregression:
    """Fit an autoregression to a record, or to each of many.

    Parameters
    ----------
    output : (..., n).
    orders : of the model.
    excitation : (..., n), the input, or (n,) of all.

    Raises
    ------
    ValueError : the record's lags are dependent on each other.
    """
    regressors, known = orders.regressors(output, excitation), output[..., orders.lag :]
    coefficients, dependent = _least_squares(regressors, known)
    if dependent.any():
        raise ValueError(
            f"ARX of orders {orders.output} and {orders.input}: the record's lags depend on each other (a constant, "
            "too few frequencies, or no noise): reduce the orders"
        )
    n, k = regressors.shape[-2:]
    error = known - (regressors @ coefficients[..., None])[..., 0]
    deviation = np.sqrt(np.sum(error**2, axis=-1) / (n - k))
    return Autoregression(orders, coefficients, deviation)


def choose_orders(
    output: Samples, excitation: Samples | None = None, *, most_output: int = 20, most_input: int = 20
) -> Orders:
    """Return the orders with the least Bayesian information criterion, all of them of the same samples.

    Parameters
    ----------
    output : (..., n); several records have the same orders, each with its own coefficients.
    excitation : (..., n), the input, or (n,) of all.
    most_output, most_input : the largest that are tried.

    Raises
    ------
    ValueError : the record's lags are dependent on each other, of any orders.
    """
    largest = Orders(most_output, most_input if excitation is not None else 0)
    regressors, known = largest.regressors(output, excitation), output[..., largest.lag :]
    n = known.shape[-1]
    # all smaller models are of columns of this triangle
    triangle = np.asarray(np.linalg.qr(np.concatenate([regressors, known[..., None]], axis=-1), mode="r"))
    scale = np.sum(known**2, axis=-1)
    best, found = np.inf, None
    for a in range(largest.output + 1):
        for b in range(largest.input + 1):
            if a + b == 0:
                continue
            columns = [*range(a), *range(largest.output, largest.output + b)]
            kept = triangle[..., columns]
            coefficients, dependent = _least_squares(kept, triangle[..., -1])
            if dependent.any():
                continue
            left = triangle[..., -1] - (kept @ coefficients[..., None])[..., 0]
            squares = np.maximum(np.sum(left**2, axis=-1), np.finfo(float).eps ** 2 * scale)
            value = float(np.sum(n * np.log(squares / n) + float(np.log(n)) * (a + b)))
            if value < best:
                best, found = value, Orders(a, b)
    if found is None:
        raise ValueError("ARX orders: the record's lags depend on each other (a constant?): there is nothing to fit")
    return found


def _least_squares(regressors: Samples, known: Samples) -> tuple[Samples, Flags]:
    """Return coefficients, (..., k), and where the regressors are dependent."""
    basis, root = np.linalg.qr(regressors)
    k = root.shape[-1]
    size = np.linalg.norm(root, axis=-2)
    remains = np.abs(np.diagonal(root, axis1=-2, axis2=-1))
    dependent = np.asarray((~(remains > _DEPENDENT * size)).any(axis=-1))
    usable = np.where(dependent[..., None, None], np.eye(k), root)
    seen = basis.swapaxes(-1, -2) @ known[..., None]
    return np.asarray(np.linalg.solve(usable, seen)[..., 0]), dependent
