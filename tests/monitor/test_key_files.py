"""Keys in files: made for their owner alone, refused where others could have had them."""

from __future__ import annotations

import errno
import itertools
import os
import stat
from pathlib import Path

import pytest
import zmq
from zmq.utils import z85

from monitor.commands import keys as command
from monitor.transport.zeromq import allow_list
from monitor.transport.zeromq.allow_list import AllowList, KeyFolder
from monitor.transport.zeromq.key_files import (
    KeyFileError,
    client_keys,
    keys_of,
    read_public,
    read_secret,
    service_keys,
)

pytestmark = pytest.mark.skipif(os.name != "posix", reason="permissions are told otherwise there")


@pytest.fixture
def folder(tmp_path) -> KeyFolder:
    folder = KeyFolder(tmp_path / "keys")
    assert folder.prepare()
    return folder


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_secret_files_are_for_their_owner_alone_whatever_the_umask_says(tmp_path, umask):
    before = os.umask(umask)
    try:
        folder = KeyFolder(tmp_path / "keys")
        folder.prepare()
        handed = folder.client("desk")
    finally:
        os.umask(before)
    assert mode(folder.secret) == mode(handed / "desk.secret") == 0o600
    for each in (tmp_path / "keys", tmp_path / "keys" / "clients", handed):
        assert mode(each) == 0o700
    assert mode(folder.public) == 0o644


def test_a_secret_file_is_never_wider_than_its_owner_not_even_at_first(folder, monkeypatch):
    opened = []
    real = os.open

    def watched(path, flags, mode=0o777, **more):
        opened.append((Path(path).name, flags, mode))
        return real(path, flags, mode, **more)

    monkeypatch.setattr(os, "open", watched)
    folder.client("desk")
    made = {name: (flags, mode) for name, flags, mode in opened if flags & os.O_CREAT}
    assert made["desk.secret"][1] == 0o600
    assert all(flags & os.O_EXCL for flags, _ in made.values())


def test_the_pairs_are_pairs(folder):
    handed = folder.client("desk")
    own, client = service_keys(folder.secret.parent), client_keys(handed)
    for keys in (own, client):
        # the definition: the public key is the secret times the base point
        assert zmq.curve_public(keys.secret) == keys.public
        assert len(z85.decode(keys.public)) == 32
    assert own.public == read_public(folder.public) == client.peer
    assert folder.listed() == {client.public: "desk"}
    assert own.secret.decode() not in repr(own)
    # the file by its name, the service's own folder, and none
    assert client_keys(handed / "desk.secret") == client
    assert client_keys(folder.secret.parent) == keys_of(str(folder.secret.parent))
    assert keys_of("") is None


def test_nothing_is_overwritten(folder):
    handed = folder.client("desk")
    before = {path: path.read_bytes() for path in folder.secret.parent.rglob("*") if path.is_file()}
    assert not folder.prepare()
    for again in (lambda: folder.client("desk"), lambda: folder.admit("desk", folder.public)):
        with pytest.raises(KeyFileError, match="on the list already"):
            again()
    folder.remove("desk")
    assert not handed.exists()
    assert folder.listed() == {}
    folder.client("desk")
    after = {path: path.read_bytes() for path in before}
    changed = {path.name for path in before if after[path] != before[path]}
    assert changed == {"desk.public", "desk.secret"}


def test_a_client_that_made_its_own_key_is_admitted(folder, tmp_path):
    other = KeyFolder(tmp_path / "other")
    other.prepare()
    folder.admit("other", other.public)
    assert folder.listed() == {read_public(other.public): "other"}
    with pytest.raises(KeyFileError, match=r"nobody is not on the list of .*; on it: other"):
        folder.remove("nobody")


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".hidden", "service", "a b", "x" * 65, "é", "-x", "a\n"])
def test_a_name_that_would_be_another_file_is_refused(folder, name):
    for use in (folder.client, folder.remove):
        with pytest.raises(KeyFileError, match="cannot name a client"):
            use(name)


@pytest.mark.parametrize("bits", [0o640, 0o604, 0o660, 0o602, 0o610])
def test_a_loose_secret_is_refused_with_the_remedy(folder, bits):
    folder.secret.chmod(bits)
    with pytest.raises(KeyFileError) as caught:
        service_keys(folder.secret.parent)
    assert str(caught.value).endswith(f"chmod 600 {folder.secret}")
    assert "\n" not in str(caught.value)
    folder.secret.chmod(0o400)
    assert service_keys(folder.secret.parent)


def test_a_full_disk_leaves_no_half_of_a_key(folder, monkeypatch):
    before = {path for path in folder.secret.parent.rglob("*") if path.is_file()}
    for fails_at in range(3):
        count = itertools.count()

        def full(_, fails_at=fails_at, count=count):
            if next(count) == fails_at:
                raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(
            KeyFileError, match=r"desk.*cannot be written: No space|service\.public cannot be written"
        ):
            folder.client("desk")
        assert {path for path in folder.secret.parent.rglob("*") if path.is_file()} == before
    folder.client("desk")


def test_half_a_pair_says_what_to_do(folder):
    folder.public.unlink()
    with pytest.raises(KeyFileError, match=r"service\.secret exists without .*service\.public: restore that, or"):
        folder.prepare()


def test_what_is_no_file_of_ones_own_is_refused(folder, tmp_path, monkeypatch):
    link = tmp_path / "link.secret"
    link.symlink_to(folder.secret)
    with pytest.raises(KeyFileError, match="symbolic link"):
        read_secret(link)
    pipe = tmp_path / "pipe.secret"
    os.mkfifo(pipe, 0o600)
    with pytest.raises(KeyFileError, match="not a file"):
        read_secret(pipe)
    with pytest.raises(KeyFileError, match="No such file"):
        read_secret(tmp_path / "none.secret")
    stranger = os.geteuid() + 1
    os.chown(folder.secret, stranger, -1) if os.geteuid() == 0 else monkeypatch.setattr(
        os, "geteuid", lambda: stranger
    )
    with pytest.raises(KeyFileError, match=r"belongs to another user.*chown"):
        read_secret(folder.secret)


@pytest.mark.parametrize("content", [b"", b"x" * 39, b"x" * 41, b"~" * 40, b"#" * 40, b"\xff" * 40, b"a b" * 20])
def test_what_is_no_key_is_refused(folder, content):
    folder.secret.write_bytes(content)
    with pytest.raises(KeyFileError, match="contains no key"):
        service_keys(folder.secret.parent)


def test_a_folder_says_what_it_lacks(folder, tmp_path):
    with pytest.raises(KeyFileError, match="synchroscope keys"):
        service_keys(tmp_path / "nowhere")
    with pytest.raises(KeyFileError, match=r"no file ending in \.secret"):
        client_keys(tmp_path)
    handed = folder.client("desk")
    (handed / "other.secret").write_bytes(b"")
    with pytest.raises(KeyFileError, match=r"desk\.secret, other\.secret.*name the one"):
        client_keys(handed)


def test_the_list_is_read_whenever_it_has_changed(folder):
    clients = folder.secret.parent / "clients"
    own = read_public(folder.public)
    allowed = AllowList(clients, {own: "service"}, clock=itertools.count().__next__)
    keys = {name: client_keys(folder.client(name)).public for name in ("a", "b")} | {"own": own}

    def names() -> list[str | None]:
        # as a handshake brings them
        return [allowed.name_of(z85.decode(keys[name])) for name in ("own", "a", "b")]

    assert names() == ["service", "a", "b"]
    folder.remove("a")
    assert names() == ["service", None, "b"]
    # another key in the same file
    (clients / "b.public").write_bytes(keys["a"])
    assert names() == ["service", "b", None]


def test_strangers_do_not_make_it_look_at_every_one_of_them(folder, monkeypatch):
    now = [0.0]
    clients = folder.secret.parent / "clients"
    desk = z85.decode(client_keys(folder.client("desk")).public)
    looks = []
    monkeypatch.setattr(allow_list, "check_folder", looks.append)
    allowed = AllowList(clients, clock=lambda: now[0])
    for _ in range(1000):
        assert allowed.name_of(bytes(32)) is None
        now[0] += 0.001
    assert len(looks) <= 5
    assert allowed.name_of(desk) == "desk"
    folder.remove("desk")
    now[0] += 0.25
    assert allowed.name_of(desk) is None


def test_what_could_not_be_read_once_is_read_again(folder, monkeypatch):
    clients = folder.secret.parent / "clients"
    desk = z85.decode(client_keys(folder.client("desk")).public)
    allowed = AllowList(clients, clock=itertools.count().__next__)
    with monkeypatch.context() as busy:

        def fail(*_):
            raise OSError(errno.EMFILE, "Too many open files")

        busy.setattr(os, "open", fail)
        assert allowed.name_of(desk) is None
    assert allowed.name_of(desk) == "desk"


def test_a_list_that_is_too_long_or_has_files_of_other_names_says_so(folder, monkeypatch):
    monkeypatch.setattr(allow_list, "_MAX_FILES", 2)
    clients = folder.secret.parent / "clients"
    said: list[str] = []
    for name in ("a", "c"):
        folder.client(name)
    # no UTF-8
    Path(os.fsdecode(bytes(clients / "b") + b"\xff.public")).write_bytes(zmq.curve_keypair()[0])
    assert set(AllowList(clients, report=said.append).names.values()) == {"a"}
    assert any("more than 2 keys" in text for text in said)
    assert any("cannot name a client" in text for text in said)


def test_a_list_that_others_can_write_lets_nobody_in(folder):
    clients = folder.secret.parent / "clients"
    keys = {name: client_keys(folder.client(name)).public for name in ("a", "b", "c")}
    said: list[str] = []
    allowed = AllowList(clients, report=said.append, clock=itertools.count().__next__)
    keys = {name: z85.decode(key) for name, key in keys.items()}
    (clients / "a.public").chmod(0o666)
    (clients / "b.public").rename(clients.parent / "elsewhere")
    (clients / "b.public").symlink_to(clients.parent / "elsewhere")
    (clients / "d.public").write_bytes(b"no key")
    assert [allowed.name_of(keys[name]) for name in ("a", "b", "c")] == [None, None, "c"]
    assert allowed.names == allowed.names
    assert len(said) == 3 and any("chmod go-w" in text for text in said)
    clients.chmod(0o777)
    assert allowed.name_of(keys["c"]) is None
    assert "no client is accepted" in said[-1] and "chmod go-w" in said[-1]
    clients.chmod(0o700)
    assert allowed.name_of(keys["c"]) == "c"
    clients.rename(clients.parent / "gone")
    assert allowed.name_of(keys["c"]) is None


def test_what_is_left_to_hand_over_goes_with_its_client(folder):
    handed = folder.client("desk")
    folder.remove("desk")
    assert not handed.exists() and handed.parent.exists()


def test_the_command(tmp_path, capsys):
    import argparse

    parser = argparse.ArgumentParser()
    command.add_arguments(parser)

    def run(*words):
        assert command.run(parser.parse_args([str(tmp_path / "keys"), *words])) == 0
        return capsys.readouterr().out

    assert "hand-over/desk" in run("--client", "desk")
    assert "nothing was changed" in run()
    assert run("--list").startswith("desk\t")
    other = tmp_path / "other.public"
    other.write_bytes(zmq.curve_keypair()[0])
    assert [line.split("\t")[0] for line in run("--admit", f"x={other}", "--list").splitlines()] == [
        "x is admitted",
        "desk",
        "x",
    ]
    assert "desk is no longer admitted" in run("--remove", "desk")
    assert run("--list") == f"x\t{other.read_text()}\n"
    with pytest.raises(ValueError, match="NAME=FILE"):
        run("--admit", "x")
