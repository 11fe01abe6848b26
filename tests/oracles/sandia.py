"""The Sandia structure's equations written anew: a solver of order eight, the energy, and the linear case exactly.

States are columns of twelve: modal coordinates, displacements of the masses, and the rates of both.
"""

import numpy as np
from scipy.integrate import solve_ivp
from scipy.linalg import expm


def rates(t, state, frequencies, modal_damping, at_load, at_chain, k, zeta, m, hardening, load, turn):
    """Newton's law for three modes and three masses."""
    q, x, dq, dx = state[:3], state[3:6], state[6:9], state[9:]
    foot, foot_speed = np.dot(at_chain, q), np.dot(at_chain, dq)
    pulls = []
    for i, (below, below_speed) in enumerate(zip([foot, x[0], x[1]], [foot_speed, dx[0], dx[1]], strict=True)):
        stretch, speed = x[i] - below, dx[i] - below_speed
        cubic = hardening * stretch**3 if i == 0 else 0.0
        pulls.append(k[i] * (stretch + cubic) + 2.0 * zeta[i] * np.sqrt(k[i] * m[i]) * speed)
    modal = at_load * load * np.sin(turn * t) + at_chain * pulls[0]
    modal = modal - 2.0 * modal_damping * frequencies * dq - frequencies**2 * q
    masses = [(pulls[1] - pulls[0]) / m[0], (pulls[2] - pulls[1]) / m[1], -pulls[2] / m[2]]
    return np.concatenate([dq, dx, modal, masses])


def solved(time, initial, *parameters):
    """Acceleration of the last mass (n_times,) and the last state (12,), by Dormand and Prince's rule of order 8."""
    done = solve_ivp(rates, (0.0, time[-1]), initial, "DOP853", time, args=parameters, rtol=1e-12, atol=1e-15)
    assert done.success
    return np.array([rates(t, y, *parameters)[11] for t, y in zip(time, done.y.T, strict=True)]), done.y[:, -1]


def linear(time, initial, *parameters):
    """The same without hardening, exactly: the matrix exponential of the structure and of what loads it."""
    *structure, hardening, load, turn = parameters
    assert hardening == 0.0
    system = np.zeros((14, 14))
    for i in range(12):
        system[:12, i] = rates(0.0, np.eye(12)[i], *structure, 0.0, 0.0, turn)
    # sine and cosine of the load
    system[:12, 12] = rates(np.pi / 2.0 / turn, np.zeros(12), *structure, 0.0, load, turn)
    system[12, 13], system[13, 12] = turn, -turn
    step = expm(system * (time[1] - time[0]))
    state = np.concatenate([initial, [0.0, 1.0]])
    acceleration = np.empty(len(time))
    for i in range(len(time)):
        acceleration[i] = system[11] @ state
        last, state = state, step @ state
    return acceleration, last[:12]


def energy(states, frequencies, at_chain, k, m, hardening):
    """Kinetic and strain energy of the states (12, n)."""
    q, x, dq, dx = states[:3], states[3:6], states[6:9], states[9:]
    first = x[0] - at_chain @ q
    total = 0.5 * np.sum(dq**2, axis=0) + 0.5 * np.sum((frequencies[:, None] * q) ** 2, axis=0)
    total += 0.5 * np.asarray(m) @ dx**2
    total += k[0] * (first**2 / 2.0 + hardening * first**4 / 4.0)
    return total + k[1] * (x[1] - x[0]) ** 2 / 2.0 + k[2] * (x[2] - x[1]) ** 2 / 2.0
