"""The cache of compiled kernels: a change in any file that a kernel is made of compiles it again."""

from pathlib import Path

from sim.kernels import cache_key
from sim.models import chain_kernel


def test_a_change_in_a_file_that_a_kernel_imports_changes_its_key(tmp_path):
    package = tmp_path / "sim" / "room"
    package.mkdir(parents=True)
    texts = {
        "kernel.py": "from sim.room.steps import (\n    step,\n)\n",
        "steps.py": "import numpy\nfrom sim.room.forces import force\n",
        "forces.py": "WEIGHT = 1.0\n",
        "other.py": "from sim.room.kernel import advance\n",
    }
    for name, text in texts.items():
        (package / name).write_text(text)
    keys = [cache_key(package / "kernel.py", tmp_path)]
    assert cache_key(package / "kernel.py", tmp_path) == keys[0]
    for name in ("forces.py", "steps.py", "kernel.py"):
        (package / name).write_text(texts[name] + "# changed\n")
        keys.append(cache_key(package / "kernel.py", tmp_path))
    assert len(set(keys)) == len(keys)
    (package / "other.py").write_text("")
    assert cache_key(package / "kernel.py", tmp_path) == keys[-1]


def test_kernels_are_cached_in_the_folder_of_their_key():
    key = cache_key(Path(chain_kernel.__file__))
    assert f"synchroscope-kernels-{key}" in chain_kernel.advance_chain.stats.cache_path
