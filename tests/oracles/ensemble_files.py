"""An ensemble that is known, written to files and compared with what is read of them."""

from __future__ import annotations

import numpy as np

from monitor.ensembles.files import EnsembleWriter

N_TIMES, N_REALIZATIONS, STEP = 30, 500, 100
TIME = 0.1 * np.arange(N_TIMES)
RESPONSE = np.round(np.random.default_rng(0).normal(size=(N_TIMES, N_REALIZATIONS)), 2)
# one value that is not finite
GAP = np.where(np.arange(RESPONSE.size).reshape(RESPONSE.shape) == 3 * N_REALIZATIONS + 7, np.nan, RESPONSE)


def writer_at(path, **other):
    settings = {"n_realizations": N_REALIZATIONS, "unit": "m", "quantity": "deflection", "source": "beam, seed 1"}
    return EnsembleWriter(path, **({"time": TIME} | settings | other))


def write(writer, until=N_REALIZATIONS):
    for start in range(writer.written, until, STEP):
        writer.write(RESPONSE[:, start : start + STEP])


def make(path):
    writer = writer_at(path)
    write(writer)
    writer.finish()
    return path


def check(ensemble, response=RESPONSE):
    """Check that this is the ensemble of `TIME` and `response`, whatever the order of equal ones."""
    np.testing.assert_array_equal(ensemble.time, TIME)
    np.testing.assert_array_equal(ensemble.response, response)
    order = ensemble.order.astype(int)
    np.testing.assert_array_equal(np.take_along_axis(response, order, axis=1), np.sort(response, axis=1))
    np.testing.assert_array_equal(np.sort(order, axis=1), np.tile(np.arange(response.shape[1]), (N_TIMES, 1)))
    arrays = ensemble.time, ensemble.response, ensemble.order
    assert [array.dtype for array in arrays] == [np.float64, np.float64, np.uint32]
    assert not any(array.flags.writeable for array in arrays)
