"""Bending of a uniform beam by finite elements: cubic displacements, consistent masses."""

import numpy as np
import scipy.linalg


def hinged_beam_modes(length, bending_stiffness, mass_per_length, end_spring, positions, n_modes, n_elements=60):
    """Natural frequencies (n_modes,) in rad/s and shapes (n_positions, n_modes) of modal mass one; hinge at zero.

    The positions must be nodes.
    """
    h = length / n_elements
    element_stiffness = np.array(
        [
            [12.0, 6.0 * h, -12.0, 6.0 * h],
            [6.0 * h, 4.0 * h**2, -6.0 * h, 2.0 * h**2],
            [-12.0, -6.0 * h, 12.0, -6.0 * h],
            [6.0 * h, 2.0 * h**2, -6.0 * h, 4.0 * h**2],
        ]
    )
    element_mass = np.array(
        [
            [156.0, 22.0 * h, 54.0, -13.0 * h],
            [22.0 * h, 4.0 * h**2, 13.0 * h, -3.0 * h**2],
            [54.0, 13.0 * h, 156.0, -22.0 * h],
            [-13.0 * h, -3.0 * h**2, -22.0 * h, 4.0 * h**2],
        ]
    )
    size = 2 * (n_elements + 1)
    stiffness, mass = np.zeros((size, size)), np.zeros((size, size))
    for first in range(0, size - 2, 2):
        part = slice(first, first + 4)
        stiffness[part, part] += bending_stiffness / h**3 * element_stiffness
        mass[part, part] += mass_per_length * h / 420.0 * element_mass
    stiffness[size - 2, size - 2] += end_spring
    # the hinge holds the first displacement
    squared, vectors = scipy.linalg.eigh(stiffness[1:, 1:], mass[1:, 1:], subset_by_index=(0, n_modes - 1))
    nodes = np.round(np.asarray(positions) / h).astype(int)
    np.testing.assert_allclose(nodes * h, positions, atol=1e-12)
    displacements = np.vstack([np.zeros(n_modes), vectors[1::2]])
    return np.sqrt(squared), displacements[nodes]
