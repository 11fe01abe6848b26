"""The cases of the paper on tracking indicators, as a rig would have recorded them."""

from __future__ import annotations

from functools import partial

from replay.formats.base import ArrayRecording, Recording
from replay.simulations.entry import PAPER_CASES, Simulation

# each case of the tracking paper: s that it lasts, and what the measured signal does in it
_CASES = {
    "i": (6.0, "leads by 15 ms and is 33 % too large"),
    "ii-a": (10.0, "linear frame at 50 kN, 5 ms late and 10 % too large"),
    "ii-b": (10.0, "linear frame at 100 kN, 5 ms late and 10 % too large"),
    "iii": (10.0, "yielding frame, 5 ms late, 10 % too large, from 5 s on 25 % too small"),
    "iv": (30.0, "earthquake, 2 ms late"),
    "v": (20.0, "leads by 24 ms and is 100 % too large, under noise"),
    "vi": (10.0, "leads by 29 ms and is 20 % too small, while the motion grows"),
    "vii": (30.0, "earthquake, leads, is late from 16 to 21 s, leads again"),
}


def _case(name: str, lasts: float, duration: float, seed: int) -> Recording:
    from replay.studies.tracking.cases import case_recording
    from sim.tracking_cases import tracking_case

    if duration > lasts:
        raise ValueError(f"simulation duration {duration:g} s: case ({name}) lasts {lasts:g} s")
    whole = case_recording(tracking_case(name, seed=seed))
    return ArrayRecording(whole.stream, whole.samples[: round(duration * whole.stream.sample_rate)])


SIMULATIONS = tuple(
    Simulation(f"case-{name}", summary, lasts, partial(_case, name, lasts), PAPER_CASES, faulty=True)
    for name, (lasts, summary) in _CASES.items()
)
