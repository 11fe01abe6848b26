"""Standard deviation of a weighted sum of a residual, whatever the colour of its noise and whatever the motion.

A reading of a window - a phase, a gain, a lag - is a weighted sum of the measured samples, or nearly so. Its error is
the same weighted sum of the residual, of which only one is known, and the fit has made it nearly zero. How far it
scatters is the geometric mean of two estimates of its variance (ours):

- *Blocks.* The sums over 16 blocks of equal weight scatter as the whole does (batch means), if blocks are
  independent: the residual is first freed from its memory, by an autoregression (prewhitening, Andrews and Monahan
  1992), and what that takes from the residual is added to the weights. Right for few cycles, too small for a residual
  that oscillates with the motion.
- *Shifts.* The same weights on the residual at other times, the mean square over all circular shifts: the product of
  the two power spectra, and therefore right for a residual that oscillates with the motion, as what another actuator
  adds does. The fit has taken two of the weights' independent values from the residual; they are given back.

All of it works on sums over up to 128 cells of the window, which are found in one pass.
"""

from __future__ import annotations

import numpy as np

from monitor.kernel import kernel, part, reduction, stack_array
from monitor.messages.blocks import Samples

N_BLOCKS = 16
_CELLS, _TWICE = 128, 256
# widens the deviation for blocks of unequal weight: fitted parameters and Student's t, measured by `benchmarks.truth`
_SMALL_SAMPLE_FACTOR = 0.5
# widens it for weights of few independent values, of which the fit has taken two: likewise, times the power 1.5 of
# what one of them is of all
_FITTED = 24.0
# largest correlation of one cell with the next: the window is the longest memory that can be seen
_LONGEST_MEMORY = 0.98


@reduction
def weighted_sum_deviations(
    one: Samples, two: Samples, residual: Samples, bias: Samples, start: int, stop: int
) -> tuple[float, float]:
    """Return the standard deviations of ``sum one residual`` and ``sum two residual`` from `start` to `stop`.

    The sums of `bias` are added as such. NaN for weights that are all zero.

    Parameters
    ----------
    one, two, residual, bias : (n,).
    """
    n = stop - start
    length = -(-n // _CELLS)
    cells = -(-n // length)
    r, sums, products = residual[start:stop], stack_array(_CELLS), stack_array(_CELLS)
    square = following = power = 0.0
    for cell in range(cells):
        total = 0.0
        for t in range(cell * length, min((cell + 1) * length, n)):
            total, power = total + r[t], power + r[t] * r[t]
        sums[cell] = total
        square += total * total
        following += total * sums[cell - 1] if cell > 0 else 0.0
    memory = min(max(following / square, 0.0), _LONGEST_MEMORY) if square > 0.0 else 0.0
    _circular_products(sums, cells, products)
    # of what changes within a cell, the power of a sample
    fast = max(power - square / length, 0.0) / n
    deviation_1 = _deviation(one[start:stop], r, bias[start:stop], length, sums, memory, products, fast)
    deviation_2 = _deviation(two[start:stop], r, bias[start:stop], length, sums, memory, products, fast)
    return deviation_1, deviation_2


@reduction
def _deviation(
    weights: Samples,
    residual: Samples,
    bias: Samples,
    length: int,
    sums: Samples,
    memory: float,
    products: Samples,
    fast: float,
) -> float:
    """Return the standard deviation of ``sum weights residual``, (n,) each.

    Parameters
    ----------
    length : samples of a cell; ``sums`` : (n_cells,) those of the residual; ``memory`` : correlation of a cell with
        the next; ``products`` : see `_circular_products`, of the residual; ``fast`` : its power within a cell, a
        sample.
    """
    n = weights.shape[0]
    cells = -(-n // length)
    means, inner, sizes = stack_array(_CELLS), stack_array(_CELLS), stack_array(_CELLS)
    size = known = slow = within = 0.0
    for cell in range(cells):
        first, last = cell * length, min((cell + 1) * length, n)
        w, r, b = weights[first:last], residual[first:last], bias[first:last]
        product = total = own = shift = 0.0
        for t in range(last - first):
            product, total, own = product + w[t] * r[t], total + w[t], own + w[t] * w[t]
            shift += w[t] * b[t]
        means[cell], sizes[cell] = total / (last - first), own
        inner[cell] = product - means[cell] * sums[cell]
        within += inner[cell]
        size, known, slow = size + own, known + shift, slow + means[cell] * means[cell]
    if not size > 0.0:
        return np.nan
    by_blocks = _block_variance(means, inner, sizes, size, sums, cells, memory)
    of_weights = stack_array(_CELLS)
    _circular_products(means, cells, of_weights)
    by_shifts = independent = 0.0
    for k in range(cells // 2 + 1):
        # every shift but none, and half of them all, has its mirror image
        count = 1.0 if k == 0 or 2 * k == cells else 2.0
        by_shifts += count * of_weights[k] * products[k]
        independent += count * of_weights[k] * of_weights[k]
    share = independent / (cells * of_weights[0] * of_weights[0]) if of_weights[0] > 0.0 else 0.0
    by_shifts = max(by_shifts, 0.0) / cells * (1.0 + _FITTED * share * np.sqrt(share))
    by_shifts += max(size - length * slow, 0.0) * fast
    variance = np.sqrt(by_blocks * by_shifts)
    # a sum within cells that is no chance, as of a hum in both signals, is a bias of the slow share of the weights
    if within * within > variance:
        known = abs(known) + abs(within) * size / max(length * slow, 0.2 * size)
    return float(np.sqrt(variance + known * known))


@reduction
def _circular_products(x: Samples, n: int, products: Samples) -> None:
    """Write the sums of products of `n` values, without their mean, with those k later, for k up to half of them."""
    doubled, mean = stack_array(_TWICE), 0.0
    for i in range(n):
        mean += x[i] / n
    for i in range(n):
        doubled[i] = doubled[n + i] = x[i] - mean
    for k in range(n // 2 + 1):
        total, later = 0.0, doubled[k : k + n]
        for i in range(n):
            total += doubled[i] * later[i]
        products[k] = total


@part
def _block_variance(
    means: Samples, inner: Samples, sizes: Samples, size: float, sums: Samples, n: int, memory: float
) -> float:
    """Return the variance by the sums over blocks of equal weight, of `n` cells.

    Parameters
    ----------
    means, sizes : of the weights in each cell, and the sums of their squares, of which `size` is the total.
    inner : sums of weights times residual within each cell, about the cell's means.
    sums : of the residual in each cell; ``memory`` : correlation of one with the next.
    """
    block_sums, block_sizes = stack_array(N_BLOCKS), stack_array(N_BLOCKS)
    for block in range(N_BLOCKS):
        block_sums[block] = block_sizes[block] = 0.0
    later, after = 0.0, size
    for cell in range(n - 1, -1, -1):
        after -= sizes[cell]
        block = min(max(int(N_BLOCKS * after / size), 0), N_BLOCKS - 1)
        # the sum of weights times residual is that of these weights times what the residual does not remember
        later = means[cell] + memory * later
        new = sums[cell] - (memory * sums[cell - 1] if cell > 0 else 0.0)
        block_sums[block] += inner[cell] + later * new
        block_sizes[block] += sizes[cell]
    total = squares = unequal = 0.0
    for block in range(N_BLOCKS):
        total, squares = total + block_sums[block], squares + block_sums[block] * block_sums[block]
        unequal += block_sizes[block] * block_sizes[block]
    factor = 1.0 + _SMALL_SAMPLE_FACTOR * unequal / (size * size)
    return factor * factor * max(squares - total * total / N_BLOCKS, 0.0)


# unexplained share of the measured power in the command's band from which on two motions may agree by chance
_CHANCE_AGREEMENT = 0.05


@kernel
def add_chance_agreement(sd: float, unexplained: float) -> float:
    """Return the standard deviation of a phase [rad] or of a gain's logarithm, widened for a large unexplained share.

    Two narrow-band motions may agree by chance over one window, and their phase then seems precise.
    """
    return float(np.sqrt(sd * sd + max(unexplained - _CHANCE_AGREEMENT, 0.0)))
