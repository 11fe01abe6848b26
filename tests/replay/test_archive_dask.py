"""Archives and ensembles by a Dask scheduler and workers as they are typed, with TLS; a worker is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from time import sleep

import numpy as np
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from monitor.__main__ import main
from replay.archive import Archive, assess_archive
from replay.workers import ClusterWorkers
from tests.mistakes import refusal_of
from tests.replay.worker_tasks import ThreadWorkers

distributed = pytest.importorskip("distributed")

pytestmark = [
    pytest.mark.usefixtures("warm_kernels"),
    # of Dask and tornado themselves, when a worker is killed and at the end
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning:distributed"),
]
ROOT = Path(__file__).parents[2]
GIVEN = {"window": 1.0, "measures": ("fdb", "paei")}


def _certificates(folder: Path) -> dict[str, Path]:
    """Write an authority's certificate, and one signed by it for 127.0.0.1 with its key."""
    now = datetime.now(UTC)

    def build(name: str, issuer: str, key, signer, *, authority: bool) -> x509.Certificate:
        return (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
            .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
            .sign(signer, hashes.SHA256())
        )

    authority, own = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    pem = serialization.Encoding.PEM
    files = {name: folder / f"{name}.pem" for name in ("ca", "cert", "key")}
    files["ca"].write_bytes(build("lab", "lab", authority, authority, authority=True).public_bytes(pem))
    files["cert"].write_bytes(build("rig", "lab", own, authority, authority=False).public_bytes(pem))
    plain = serialization.NoEncryption()
    files["key"].write_bytes(own.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))
    return files


@dataclass(frozen=True)
class Cluster:
    """Address of the scheduler, PEM files, and the processes of the workers."""

    address: str
    files: dict[str, Path]
    workers: list[int]

    @property
    def words(self) -> list[str]:
        tls = [word for name, path in self.files.items() for word in (f"--tls-{name}", str(path))]
        return ["--scheduler", self.address, *tls]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """``dask scheduler`` and ``dask worker``, which talk by TLS alone."""
    folder = tmp_path_factory.mktemp("cluster")
    files = _certificates(folder)
    tls = ["--tls-ca-file", str(files["ca"]), "--tls-cert", str(files["cert"]), "--tls-key", str(files["key"])]
    about = folder / "scheduler.json"
    running: list[subprocess.Popen[bytes]] = []

    def start(*words: str) -> None:
        with (folder / words[0]).open("wb") as log:
            command = [sys.executable, "-m", "dask", *words, "--no-dashboard", *tls]
            running.append(subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log, start_new_session=True))

    try:
        own = ["--protocol", "tls", "--host", "127.0.0.1", "--port", "0"]
        start("scheduler", *own, "--scheduler-file", str(about))
        while not about.is_file() or not about.read_text().endswith("}"):
            assert running[0].poll() is None, (folder / "scheduler").read_text()
            sleep(0.05)
        address = json.loads(about.read_text())["address"]
        start("worker", address, "--nthreads", "1", "--nworkers", "2", "--local-directory", str(folder))
        security = distributed.Security(
            tls_ca_file=str(files["ca"]), tls_client_cert=str(files["cert"]), tls_client_key=str(files["key"])
        )
        with distributed.Client(address, security=security, timeout=60, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=60)
            workers = list(client.run(os.getpid).values())
        yield Cluster(address, files, workers)
    finally:
        for process in reversed(running):
            process.terminate()
            process.wait()


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    folder = tmp_path / "runs"
    folder.mkdir()
    t = np.arange(2500) / 500.0
    for number in range(12):
        late = 0.001 * number
        table = np.column_stack([t, np.sin(8 * np.pi * t), np.sin(8 * np.pi * (t - late))])
        np.savetxt(folder / f"r{number:02}.csv", table, delimiter=",", header="t [s],command,measured", comments="")
    (folder / "bad.csv").write_text("no numbers\n")
    return folder


def test_a_worker_killed_in_the_middle_leaves_the_same_table(cluster: Cluster, runs: Path) -> None:
    killed: list[int] = []

    def kill(_: str, done: int, total: int) -> None:
        if done == 2 and not killed:
            killed.append(cluster.workers[0])
            os.kill(killed[0], signal.SIGKILL)

    own, other = runs.parent / "threads.parquet", runs.parent / "dask.parquet"
    with ThreadWorkers() as threads:
        assess_archive(Archive((runs,), own, GIVEN), threads)
    with ClusterWorkers(cluster.address, **cluster.files) as workers:
        assert cluster.address.startswith("tls://")
        result = assess_archive(Archive((runs,), other, GIVEN), workers, kill)
    assert killed
    assert [Path(name).name for name, _ in result.problems] == ["bad.csv"]
    assert own.read_bytes() == other.read_bytes()


def test_the_commands_as_typed_write_the_same_bytes(cluster: Cluster, runs: Path, tmp_path: Path) -> None:
    one, many = tmp_path / "one.h5", tmp_path / "many.h5"
    words = ["simulate", "beam", "--realizations", "2500", "--seed", "4", "--out"]
    # as the workers of a cluster have it
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    for path, more in ((one, []), (many, cluster.words)):
        command = [sys.executable, "-m", "monitor", *words, str(path), *more]
        run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)
        assert (run.returncode, run.stdout) == (0, "")
        *before, last = run.stderr.splitlines()
        assert last == f"2500 realizations of deflection at midspan [m], 251 instants, in {path}"
        # told where it takes more than two seconds
        assert before in ([], ["simulating beam; kernels are compiled once, which takes a minute or two"])
    assert one.read_bytes() == many.read_bytes()
    one, many = tmp_path / "one.parquet", tmp_path / "many.parquet"
    words = ["assess", str(runs), "--window", "1", "--measures", "fdb,paei", "--out"]
    with ThreadWorkers() as threads:
        assess_archive(Archive((runs,), one, GIVEN), threads)
    assert main([*words, str(many), *cluster.words]) == 2
    assert one.read_bytes() == many.read_bytes()


def test_without_certificates_and_without_a_scheduler_is_one_line(
    cluster: Cluster, runs: Path, tmp_path, capsys
) -> None:
    words = ["assess", str(runs), "--out", str(tmp_path / "t.csv")]
    for more, text in (
        (cluster.words[:2], "cannot be reached"),
        ([*cluster.words[:-1], str(tmp_path / "none.pem")], "none.pem: no such file"),
    ):
        assert text in refusal_of(capsys, *words, *more)
