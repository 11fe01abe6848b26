"""Mosquitto as a real process: passwords, an authority of certificates made for the test, state that outlives it."""

from __future__ import annotations

import datetime
import ipaddress
import os
import signal
import socket
import subprocess
from pathlib import Path
from time import monotonic, sleep

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.needs import program

PROGRAM = program("mosquitto")


class Authority:
    """Signs certificates, valid for an hour."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name(name)
        self.path = folder / f"{name}.pem"
        alone = x509.BasicConstraints(ca=True, path_length=None)
        self._write(self.path, self._certificate(self._name, self._key, alone))

    def issue(self, common: str, *alternatives: x509.GeneralName) -> tuple[Path, Path]:
        """Return the files of a certificate and of its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate, secret = self._folder / f"{common}.pem", self._folder / f"{common}.key"
        extension = x509.SubjectAlternativeName(alternatives or [x509.DNSName(common)])
        self._write(certificate, self._certificate(_name(common), key, extension))
        form = serialization.PrivateFormat.PKCS8
        secret.write_bytes(key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))
        secret.chmod(0o600)
        return certificate, secret

    def _certificate(self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, extension) -> x509.Certificate:
        now = datetime.datetime.now(datetime.UTC)
        builder = x509.CertificateBuilder(self._name, subject, key.public_key(), x509.random_serial_number())
        builder = builder.not_valid_before(now - datetime.timedelta(minutes=5))
        builder = builder.not_valid_after(now + datetime.timedelta(hours=1))
        return builder.add_extension(extension, critical=False).sign(self._key, hashes.SHA256())

    @staticmethod
    def _write(path: Path, certificate: x509.Certificate) -> None:
        path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def here() -> x509.GeneralName:
    """Return the name of this machine's loopback address."""
    return x509.IPAddress(ipaddress.ip_address("127.0.0.1"))


class Mosquitto:
    """One broker; stopped and started again it has the same port and the same settings."""

    def __init__(self, folder: Path, *lines: str, persistent: bool = False) -> None:
        assert PROGRAM is not None
        with socket.create_server(("127.0.0.1", 0)) as taken:
            self.port = int(taken.getsockname()[1])
        self._folder = folder
        self._settings = folder / "mosquitto.conf"
        # it would otherwise become another user, who cannot read what is here
        common = [f"user {_user()}", f"listener {self.port} 127.0.0.1", "max_queued_messages 0"]
        kept = ["persistence true", f"persistence_location {folder}/", "autosave_interval 1"] if persistent else []
        self._settings.write_text("\n".join([*common, *kept, *(lines or ("allow_anonymous true",))]) + "\n")
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        with (self._folder / "mosquitto.log").open("ab") as log:
            self._process = subprocess.Popen([PROGRAM, "-c", self._settings], stdout=log, stderr=log)
        deadline = monotonic() + 30.0
        while True:
            assert self._process.poll() is None, (self._folder / "mosquitto.log").read_text()
            try:
                socket.create_connection(("127.0.0.1", self.port), 1.0).close()
                return
            except OSError:
                assert monotonic() < deadline
                sleep(0.02)

    def reload(self) -> None:
        """Read passwords and access list again."""
        assert self._process is not None
        self._process.send_signal(signal.SIGHUP)

    def freeze(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGCONT)
            self._process.terminate()
            self._process.wait(30.0)
            self._process = None


def _user() -> str:
    import pwd

    return pwd.getpwuid(os.getuid()).pw_name


def passwords(folder: Path, **users: str) -> Path:
    """Write a file of passwords."""
    path = folder / "passwords"
    path.write_text("".join(f"{name}:{word}\n" for name, word in users.items()))
    path.chmod(0o600)
    changes = program("mosquitto_passwd")
    assert changes is not None
    subprocess.run([changes, "-U", path], check=True, capture_output=True)
    return path
