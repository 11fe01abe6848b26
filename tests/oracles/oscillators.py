"""Single degrees of freedom solved otherwise: textbook formula, one linear piece after another, Runge and Kutta."""

import numpy as np
from scipy.integrate import solve_ivp


def linear_from_rest(time, force, turn, mass, stiffness, damping_ratio):
    """Displacement under force sin(turn t): Chopra, Dynamics of Structures, eqs. 3.2.4 and 3.2.5."""
    natural = np.sqrt(stiffness / mass)
    damped, r = natural * np.sqrt(1.0 - damping_ratio**2), turn / natural
    below = (1.0 - r**2) ** 2 + (2.0 * damping_ratio * r) ** 2
    sine, cosine = force / stiffness * (1.0 - r**2) / below, -force / stiffness * 2.0 * damping_ratio * r / below
    a = -cosine
    b = (damping_ratio * natural * a - sine * turn) / damped
    free = np.exp(-damping_ratio * natural * time) * (a * np.cos(damped * time) + b * np.sin(damped * time))
    return free + sine * np.sin(turn * time) + cosine * np.cos(turn * time)


def yielding_from_rest(time, force, turn, mass, stiffness, damping, limit, hardening):
    """Displacement under force sin(turn t) of a bilinear spring, event by event: elastic, or slipping one way."""

    def rate(t, state, side, slip):
        stretch = side * limit if side else state[0] - slip
        spring = stiffness * (hardening * state[0] + (1.0 - hardening) * stretch)
        return state[1], (force * np.sin(turn * t) - damping * state[1] - spring) / mass

    def stops(t, state, side, slip):
        return state[1] if side else 1.0

    def yields_up(t, state, side, slip):
        return 1.0 if side else state[0] - slip - limit

    def yields_down(t, state, side, slip):
        return 1.0 if side else slip - limit - state[0]

    for event, direction in ((stops, 0.0), (yields_up, 1.0), (yields_down, 1.0)):
        event.terminal, event.direction = True, direction
    now, state, side, slip, path, pieces = 0.0, np.zeros(2), 0, 0.0, np.zeros(len(time)), 0
    while now < time[-1]:
        stops.direction = -float(side)
        piece = solve_ivp(
            rate, (now, time[-1]), state, "DOP853", dense_output=True, args=(side, slip), rtol=1e-10, atol=1e-14,
            events=(stops, yields_up, yields_down), max_step=0.05,
        )  # fmt: skip
        inside = (time >= now) & (time <= piece.t[-1])
        path[inside] = piece.sol(time[inside])[0]
        now, state = piece.t[-1], piece.y[:, -1]
        if side:
            slip, side = state[0] - side * limit, 0
        else:
            side = int(len(piece.t_events[1]) > 0) - int(len(piece.t_events[2]) > 0)
        pieces += 1
    return path, pieces


def bilinear_force(path, stiffness, limit, hardening):
    """Force along a path: the elastic guess, cut back to a band that follows the hardening line."""
    forces, elastic, last = np.zeros(len(path)), 0.0, 0.0
    bound = (1.0 - hardening) * stiffness * limit
    for i, position in enumerate(path):
        elastic = np.clip(elastic + (1.0 - hardening) * stiffness * (position - last), -bound, bound)
        last = position
        forces[i] = hardening * stiffness * position + elastic
    return forces


def frame_with_dampers(ground, dt, mass, damping, frame, limit, hardening, elastic, viscous, relaxation, thinning):
    """Displacement under a ground motion given every half step, by Runge and Kutta's rule of order four."""

    def rate(state, shaking):
        position, speed, stretch, spring = state
        slope = frame * speed
        if abs(spring) >= (1.0 - hardening) * frame * limit and spring * speed > 0.0:
            slope = hardening * frame * speed
        creep = stretch / relaxation * (1.0 + (stretch / thinning) ** 2)
        held = hardening * frame * position + spring + elastic * position + viscous * stretch
        push = (slope - hardening * frame * speed, (-damping * speed - held) / mass - shaking)
        return np.array([speed, push[1], speed - creep, push[0]])

    state, path = np.zeros(4), np.zeros(len(ground) // 2)
    for n in range(len(path) - 1):
        before, middle, after = ground[2 * n : 2 * n + 3]
        k1 = rate(state, before)
        k2 = rate(state + 0.5 * dt * k1, middle)
        k3 = rate(state + 0.5 * dt * k2, middle)
        state = state + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + rate(state + dt * k3, after))
        bound = (1.0 - hardening) * frame * limit
        state[3] = min(max(state[3], -bound), bound)
        path[n + 1] = state[0]
    return path
