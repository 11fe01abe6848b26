"""The loops of docs/embedding.md, run as they are printed there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest

from monitor.embedding.c_functions import include_folder
from tests.needs import opensees_environment, require

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "embedding.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def activated():
    """Return the environment of a shell in which this Python's is activated."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return os.environ | {"PYTHONPATH": str(ROOT), "PATH": path}


def test_the_loops_in_python_numba_and_c(tmp_path, monkeypatch, capsys):
    require("cc")
    monkeypatch.chdir(tmp_path)
    Path("controller.c").write_text(blocks("c")[0])
    subprocess.run(["sh", "-e", "-c", blocks("sh")[0]], env=activated(), check=True)
    # one session, as the reader types it; the last block is the loop of OpenSees
    names = {}
    for block in blocks("python")[:-1]:
        exec(compile(block, "docs/embedding.md", "exec"), names)
    python, numba, compensated, c, reliability = capsys.readouterr().out.splitlines()
    assert python == "7.81 ms late"
    assert c == "4096 rows, 7.81 ms late"
    lead, late = map(float, re.findall(r"(-?[\d.]+) ms", numba))
    # of twelve samples, 11.72 ms: the lead of a first-order compensator is tan(omega delay) / omega
    omega = 6.0 * np.pi
    assert lead == pytest.approx(1e3 * np.tan(omega * 12 / 1024) / omega, rel=0.01)
    assert abs(late) < 0.05
    compensated_lead, left = map(float, re.findall(r"([\d.]+) (?:ms|of)", compensated))
    assert compensated_lead == pytest.approx(12000 / 1024, rel=0.01)
    assert left < 7616 / 1000
    # the tolerance is two standard deviations of the amplitude
    assert 0.9 < eval(reliability)["first_passage"] < 1.0


def test_a_program_in_c_embeds_the_interpreter(tmp_path):
    include, libraries = sysconfig.get_path("include"), sysconfig.get_config_var("LIBDIR")
    name = f"python{sysconfig.get_config_var('LDVERSION')}"
    require("cc")
    if not Path(include, "Python.h").exists() or not list(Path(libraries).glob(f"lib{name}.*")):
        pytest.skip("the header and library of Python are not installed (Debian: python3-dev)")
    program = tmp_path / "embed_in_c"
    options = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-O2", f"-I{include}", f"-I{include_folder()}"]
    libraries_of = [f"-L{libraries}", f"-Wl,-rpath,{libraries}", f"-l{name}", "-lm"]
    source = ROOT / "examples" / "embed_in_c.c"
    subprocess.run(["cc", *options, "-o", program, source, *libraries_of], check=True)
    more = {"PYTHONPATH": os.pathsep.join((str(ROOT), sysconfig.get_path("purelib")))}
    done = subprocess.run([program], env=activated() | more, capture_output=True, text=True, timeout=200)
    assert (done.stdout, done.stderr, done.returncode) == ("7.81 ms late\n", "", 0)


def test_a_loop_of_opensees_is_that_of_the_laboratory(tmp_path):
    environment = os.environ | {"PYTHONPATH": str(ROOT)} | opensees_environment()
    script = blocks("python")[-1] + '\nnp.save("displacement.npy", displacement)\n'
    run = [sys.executable, "-c", script]
    done = subprocess.run(run, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    assert "5.86 ms late" in done.stdout
    displacement = np.load(tmp_path / "displacement.npy")
    ours = laboratory(len(displacement))
    assert np.abs(displacement - ours).max() < 1e-11 * np.abs(ours).max()


def laboratory(n):
    """Return the displacements of the page's loop by our own parts."""
    from sim.laboratory.elements import LinearSpring
    from sim.laboratory.loop import HybridLoop
    from sim.laboratory.structure import Structure
    from sim.laboratory.transfer import Delay, TransferChain

    dt, mass, stiffness = 1 / 1024, 1000.0, 3e5
    damping = 2.0 * 0.10 * np.sqrt(stiffness / mass) * mass
    loop = HybridLoop(
        structure=Structure([[mass]], [[damping]], [[stiffness]]),
        specimen=LinearSpring(1e5),
        excitation=500.0 * np.sin(2.0 * np.pi * 2.0 * dt * np.arange(n + 1))[:, None],
        dt=dt,
        duration=n * dt,
        transfer=TransferChain(actuator=(Delay(6 * dt),)),
    )
    return loop.run().command[:, 0]
