"""Records in the layouts of laboratories' files: our own, with a known truth, and real ones where they are here.

Our own are as short, as noisy and as rounded as the real ones, so that a clone tests every reader.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

REAL = Path(__file__).parents[1] / ".." / "shared" / "data"
SHAKER_DELAY = 0.022225  # s: more than a quarter of a period
SHAKER_GAIN = 0.635  # mm/V
SHAKER_FILES = {"Large_LowForcing_16.00Hz": 16.0, "Large_LowForcing_19.00Hz": 19.0, "OnTop_18.80Hz": 18.8}

_SHAKER_RATE = 10_000.0
_SHAKER_COLUMNS = (
    *("time_s", "acc_front_mm_s2", "acc_back_mm_s2", "force_front_N", "force_back_N", "laser_front_mm"),
    *("laser_back_mm", "shaker_front_cmd_V", "shaker_back_cmd_V", "time_mod_2pi"),
)


@dataclass(frozen=True)
class Records:
    """Folders of records.

    Attributes
    ----------
    shaker : CSV of a shaker at one frequency, two periods at 10 kHz, command in V and motion in mm.
    openfresco : recorder text of a virtual hybrid test, whose measured signals equal the commands.
    """

    shaker: Path
    openfresco: Path


def real_records() -> Records | None:
    """Return the records of real rigs, where they are on this machine."""
    return Records(REAL / "bristol_rtht", REAL / "openfresco_vrths") if REAL.is_dir() else None


def own_records(folder: Path) -> Records:
    """Write records of our own."""
    found = Records(folder / "shaker", folder / "openfresco")
    found.shaker.mkdir()
    for seed, (name, frequency) in enumerate(SHAKER_FILES.items()):
        _write_shaker(found.shaker / f"{name}.csv", frequency, np.random.default_rng(seed))
    found.openfresco.mkdir()
    _write_openfresco(found.openfresco)
    return found


def _write_shaker(path: Path, frequency: float, rng: np.random.Generator) -> None:
    """Two periods of a bent tone, with the noise of the lasers and two sides that move nearly alike."""
    t = np.arange(round(2.0 / frequency * _SHAKER_RATE)) / _SHAKER_RATE

    def motion(late: float, gain: float, offset: float) -> np.ndarray:
        turn = 2.0 * np.pi * frequency * (t - late)
        bent = np.sin(turn) + 0.02 * np.sin(3.0 * turn + 0.4)
        return offset + 0.2 * gain * bent + 0.00002 * rng.standard_normal(t.size)

    front, back = motion(SHAKER_DELAY, SHAKER_GAIN, -0.138), motion(SHAKER_DELAY + 1e-4, 0.8 * SHAKER_GAIN, 0.051)
    turn = 2.0 * np.pi * frequency * t
    columns = (
        *(t, 2.7 + 0.1 * np.sin(turn), -0.43 + 0.03 * np.sin(turn), 3.0 * (front + 0.138), 1.5 * (back - 0.051)),
        *(front, back, 0.2 * np.sin(turn), 0.1 * np.sin(turn + 0.3), turn % (2.0 * np.pi)),
    )
    np.savetxt(path, np.column_stack(columns), "%.7g", ",", header=",".join(_SHAKER_COLUMNS), comments="")


def _write_openfresco(folder: Path) -> None:
    """A step of 20/1024 s, times of six figures; a slave that counts its steps."""
    n = 2047
    t = 20.0 / 1024.0 * np.arange(1, n + 1)
    rng = np.random.default_rng(3)
    swept = np.cumsum(2.0 * np.pi * (0.8 + 0.15 * np.cumsum(rng.standard_normal(n)) / np.sqrt(n))) * 20.0 / 1024.0
    motion = t * np.exp(-0.12 * t) * np.sin(swept)
    for half in ("ctrlDsp", "daqDsp"):
        np.savetxt(folder / f"Elmt_{half}_Ref.out", np.column_stack((t, motion, motion)), "%.6g")
        np.savetxt(folder / f"Slave_Elmt_{half}_Ref.out", np.column_stack((np.arange(1, n), motion[1:])), "%.6g")
    (folder / "elapsedTime.txt").write_text("1075 microseconds per iteration\n30168 microseconds per iteration\n")
