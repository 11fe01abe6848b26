"""`python -m docs.specimen`: how far the specimen's values are from the truth, as a table in docs/indicators.md."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from scipy.signal import lfilter

from benchmarks.known_pairs import known_pairs
from monitor.indicators.specimen import SpecimenIndicator
from monitor.messages.blocks import Samples
from sim.laboratory.elements import BoucWenSpring, Dashpot, ElastoplasticSpring, LinearSpring, ParallelElements
from sim.laboratory.parts import Element

PAGE = Path(__file__).parent / "indicators.md"
BEGIN, END = "<!-- specimen: begin -->\n", "<!-- specimen: end -->\n"
RATE, WINDOW, PAIRS = 1024.0, 2.0, 80
INSTANTS = (3.1, 4.4, 5.95)  # s
MOTIONS = ("tone", "five tones", "chirp", "decay", "earthquake, one mode", "earthquake, two modes", "band noise")
NAMES = (
    "stiffness",
    "damping",
    "tangent",
    "loop_stiffness",
    "loop_energy",
    "energy_total",
)
# of the rms of force and displacement, drawn evenly in the logarithm
FORCE_NOISE, DISPLACEMENT_NOISE = (1e-3, 5e-2), (1e-3, 1e-2)
MEMORY = 0.99  # of the noise, a sample


def specimens(reach: float) -> dict[str, Element]:
    """Return the specimens, for a motion whose largest displacement is this."""
    yields = {"stiffness": 2.5, "yield_displacement": 0.4 * reach, "hardening": 0.1}
    return {
        "viscous": ParallelElements((LinearSpring(2.5), Dashpot(0.03))),
        "elastoplastic": ElastoplasticSpring(**yields),
        "Bouc-Wen": BoucWenSpring(**yields),
    }


def follow(command: Samples, measured: Samples, force: Samples) -> dict[str, tuple[Samples, Samples]]:
    """Return values and deviations at the instants by name, each (n_instants, n_pairs)."""
    indicator = SpecimenIndicator(RATE, WINDOW, n_pairs=command.shape[1])
    rows = indicator.update_block(command, measured, force)[[round(instant * RATE) for instant in INSTANTS]]
    at = {name: indicator.value_type._fields.index(name) for name in NAMES}
    return {name: (rows[..., i], rows[..., i + 1]) for name, i in at.items()}


def noise(rng: np.random.Generator, shape: tuple[int, ...]) -> Samples:
    """Return noise of rms one with a memory."""
    white = rng.standard_normal((shape[0] + 2000, *shape[1:]))
    return np.asarray(lfilter([np.sqrt(1.0 - MEMORY**2)], [1.0, -MEMORY], white, axis=0)[2000:])


def line(specimen: str, motion: str) -> str:
    """Return a row of the table."""
    pairs, rng = known_pairs(motion, PAIRS, 0, RATE), np.random.default_rng(1)
    command, x = (np.stack([getattr(pair, name) for pair in pairs], axis=1) for name in ("clean_command", "clean"))
    v = np.gradient(x, 1.0 / RATE, axis=0)
    force = np.empty_like(x)
    for i in range(PAIRS):
        running = specimens(float(np.abs(x[:, i]).max()))[specimen].begin(1.0 / RATE, (1,))
        force[:, i] = [running.force(x[t, i : i + 1], v[t, i : i + 1])[0] for t in range(len(x))]
    levels = [np.exp(rng.uniform(*np.log(each), size=PAIRS)) for each in (FORCE_NOISE, DISPLACEMENT_NOISE)]
    noisy = [
        clean + level * clean.std(axis=0) * noise(rng, x.shape)
        for clean, level in zip((force, x), levels, strict=True)
    ]
    truth, found = follow(command, x, force), follow(command, noisy[1], noisy[0])
    cells = []
    for name in NAMES:
        (value, sd), known = found[name], truth[name][0]
        valid = np.isfinite(value) & np.isfinite(known)
        error = np.abs(value - known)[valid] / sd[valid]
        few = "" if valid.mean() > 0.95 else f", {100.0 * valid.mean():.0f} % valid"
        cells.append(f"{share(error < 1.0)}/{share(error < 2.0)}{few}" if valid.mean() > 0.2 else "no value")
    return f"| {specimen} | {motion} | {' | '.join(cells)} |"


def share(within: Samples) -> str:
    """Return a share as ``.68``."""
    value = float(np.mean(within))
    return "1.0" if value > 0.995 else f"{value:.2f}".removeprefix("0")


def main() -> int:
    """Replace the table between the two marks."""
    lines = [f"| specimen | motion | {' | '.join(name.replace('_', ' ') for name in NAMES)} |"]
    lines.append("|---" * (len(NAMES) + 2) + "|")
    lines += [line("viscous", motion) for motion in MOTIONS]
    lines += [line(of, each) for of in ("elastoplastic", "Bouc-Wen") for each in ("tone", "earthquake, two modes")]
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(before + BEGIN + "\n".join(lines) + "\n" + END + after, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
