"""The archive and ensembles on a real Dask cluster with TLS, of which a worker is killed: the same table and bits."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import numpy as np
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from monitor.__main__ import main
from replay.archive import Archive, assess_archive
from replay.simulations.models import ensemble_model, realizations
from replay.workers.cluster import ClusterWorkers
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
_ROLES = ("client", "scheduler", "worker")
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


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[object, dict[str, Path]]]:
    """A scheduler and two workers, processes that talk by TLS alone."""
    files = _certificates(tmp_path_factory.mktemp("tls"))
    security = distributed.Security(
        tls_ca_file=str(files["ca"]),
        require_encryption=True,
        **{
            f"tls_{role}_{part}": str(files[part])
            for role in ("client", "scheduler", "worker")
            for part in ("cert", "key")
        },
    )
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        protocol="tls://",
        security=security,
        dashboard_address=None,
        silence_logs=50,
    ) as running:
        yield running, files


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


def test_a_worker_killed_in_the_middle_leaves_the_same_table(cluster, runs: Path) -> None:
    running, files = cluster
    killed: list[int] = []

    def kill(_: str, done: int, total: int) -> None:
        if done == 2 and not killed:
            killed.append(next(iter(running.workers.values())).pid)
            os.kill(killed[0], signal.SIGKILL)

    own, other = runs.parent / "threads.parquet", runs.parent / "dask.parquet"
    with ThreadWorkers() as threads:
        assess_archive(Archive((runs,), own, GIVEN), threads)
    with ClusterWorkers(running.scheduler_address, **files) as workers:
        assert running.scheduler_address.startswith("tls://")
        result = assess_archive(Archive((runs,), other, GIVEN), workers, kill)
    assert killed
    assert [Path(name).name for name, _ in result.problems] == ["bad.csv"]
    assert own.read_bytes() == other.read_bytes()


def test_the_ensemble_has_the_same_bits(cluster) -> None:
    running, files = cluster
    model = ensemble_model("duffing", 0.2)
    with ClusterWorkers(running.scheduler_address, **files) as workers:
        found = np.hstack(list(realizations(model, 2500, 4, 100, workers)))
    assert found.tobytes() == np.hstack(list(realizations(model, 2500, 4, 100))).tobytes()


def test_without_certificates_and_without_a_scheduler_is_one_line(cluster, runs: Path, tmp_path, capsys) -> None:
    running, files = cluster
    words = ["assess", str(runs), "--out", str(tmp_path / "t.csv"), "--scheduler"]
    tls = [word for name, path in files.items() for word in (f"--tls-{name}", str(path))]
    tls_missing = [*tls[:-1], str(tmp_path / "none.pem")]
    for more, text in (
        ([running.scheduler_address], "cannot be reached"),
        ([running.scheduler_address, *tls_missing], "none.pem: no such file"),
    ):
        assert main([*words, *more]) == 2
        error = capsys.readouterr().err
        assert text in error
        assert error.count("\n") == 1
