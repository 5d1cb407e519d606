"""Each mistake of whoever starts a peer gets one clear line, and exit code 2."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from p2pcrawl.wire.sealed.handshake import LINK_VERSION, MAGIC
from p2pcrawl.wire.sealed.keys import generate_key
from tests.cli.conftest import Run
from tests.cli.peers import LOOPBACK, Cluster


def refusal(code: int, said: str) -> str:
    """The line. What was logged on the way does not count."""
    lines = [line for line in said.splitlines() if line.startswith("p2pcrawl: ")]
    assert (code, len(lines)) == (2, 1), said
    assert "Traceback" not in said and "this is a bug" not in said
    return lines[0]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--role", "slave"], "a slave needs a master: give --join host:port"),
        (["--bind", "nowhere.invalid:1", "--key-file", "good.key"], "cannot listen on nowhere.invalid:1"),
        (["--bind", "127.0.0.1:99999"], "a port is 1 to 65535"),
        (["--bind", "127.0.0.1:x"], "write host:port"),
        (["--bind", "::1:7117"], "write an IPv6 address in brackets"),
        (["--bind", "0.0.0.0:0"], "add --advertise host:port"),
        (["--bind", "127.0.0.1:0", "--advertise", "0.0.0.0:1"], "is nowhere that others could reach"),
        (["--bind", "0.0.0.0:0", "--advertise", "10.0.0.1:1"], "off loopback a cluster needs a key"),
        (["--join", "192.0.2.1:1", "--bind", "127.0.0.1:0"], "p2pcrawl keygen"),
        (["--join", "http://127.0.0.1:1"], "without a scheme"),
        (["--join", ""], "is not an address"),
        (["--api", "127.0.0.1:x"], "write host:port"),
        (["--weight", "17"], "17 is not in the range 1<=x<=16"),
        (["--masters", "0"], "0 is not in the range x>=1"),
        (["--slaves", "-1"], "-1 is not in the range x>=0"),
        (["--role", "king"], "'king' is not one of"),
        (["--cluster", ""], "a cluster's name has 1 to 64"),
        (["--cluster", "x" * 65], "a cluster's name has 1 to 64"),
        (["--key-file", "missing"], "cannot read the key file missing"),
        (["--key-file", "rubbish"], "line 1 of the key file is not a cluster key"),
        (["--tls-cert", "rubbish"], "add --tls-key and --tls-ca"),
        (["--tls-cert", "missing", "--tls-key", "rubbish", "--tls-ca", "rubbish"], "TLS certificate missing: No such"),
        (["--tls-cert", "rubbish", "--tls-key", "rubbish", "--tls-ca", "rubbish"], "rubbish holds no certificate"),
        (["--data", "rubbish"], "it, or what it is in, is a file"),
        (["--logfile", "no/such/folder"], "cannot write the log file"),
        (["surplus"], "unexpected extra argument"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_begins(
    run: Run, tmp_path: Path, arguments: list[str], said: str
) -> None:
    (tmp_path / "rubbish").write_text("rubbish\n")
    (tmp_path / "rubbish").chmod(0o600)
    (tmp_path / "good.key").write_text(generate_key())
    (tmp_path / "good.key").chmod(0o600)
    where = [] if {"--bind", "--join"} & set(arguments) else ["--bind", "127.0.0.1:0"]

    result = run("peer", *where, *arguments)

    assert said in refusal(result.returncode, result.stderr)
    assert result.stdout == ""


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Runs one master."""
    with Cluster(tmp_path_factory.mktemp("running")) as cluster:
        cluster.start("--role", "master", "--slaves", 0, "--data", "node")
        yield cluster


def refused(cluster: Cluster, *arguments: object, env: dict[str, str] | None = None) -> str:
    result = cluster.run("peer", *LOOPBACK, "--slaves", 0, *arguments, env=env)
    assert result.stdout == ""
    return refusal(result.returncode, result.stderr)


@pytest.mark.slow
@pytest.mark.parametrize("role", ["auto", "master", "slave"])
def test_wrong_key_wrong_name_and_copied_identity_are_told_apart(running: Cluster, role: str) -> None:
    joins = ["--join", running.peers[0].address, "--role", role]

    assert "another cluster key" in refused(running, *joins, env={"P2PCRAWL_KEY": generate_key()})
    assert "another cluster than ours, 'mine'" in refused(running, *joins, "--cluster", "mine")
    for other in (("--ring", "two-level"), ("--partition", "majority")):
        assert "--cluster, --ring and --partition must be the same" in refused(running, *joins, *other)
    copy = running.folder / f"copy-{role}"
    copy.mkdir()
    shutil.copy(running.folder / "node" / "identity", copy)
    assert "another process uses our identity" in refused(running, *joins, "--data", copy)


@pytest.mark.slow
def test_folder_of_a_master_of_the_greater_part_is_not_used_by_one_that_goes_on_alone(running: Cluster) -> None:
    folder = running.folder / "voter"
    folder.mkdir()
    (folder / "electorate.json").write_text("{}")

    said = refused(running, "--role", "master", "--data", folder)

    assert "--partition majority: start it with that" in said


@pytest.mark.slow
def test_copied_identity_is_found_out_through_any_member(running: Cluster) -> None:
    other = running.start("--role", "master", "--slaves", 0)
    running.until_agreed(2)
    copy = running.folder / "copy"
    copy.mkdir()
    shutil.copy(running.folder / "node" / "identity", copy)

    assert "another process uses our identity" in refused(running, "--join", other.address, "--data", copy)

    assert other.end(signal.SIGTERM)[0] == 0


@pytest.mark.slow
@pytest.mark.parametrize("role", ["auto", "master", "slave"])
def test_other_protocol_version_is_refused(running: Cluster, role: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=_speak_next_version, args=[server], daemon=True).start()
        address = f"127.0.0.1:{server.getsockname()[1]}"

        assert "another protocol version" in refused(running, "--join", address, "--role", role)


def _speak_next_version(server: socket.socket) -> None:
    try:
        while True:
            connection, _ = server.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(MAGIC + bytes((LINK_VERSION + 1, 2)) + bytes(32))
    except OSError:
        return


@pytest.mark.slow
def test_data_folder_and_ports_in_use_are_told(running: Cluster) -> None:
    peer = running.peers[0]

    folder = refused(running, "--data", "node")
    port = refused(running, "--bind", peer.address)
    api = refused(running, "--api", peer.api)

    assert f"node is in use by process {peer.process.pid}" in folder
    assert f"{peer.address} is in use by another process; choose another with --bind" in port
    assert f"the API cannot listen on {peer.api} (Address already in use)" in api


@pytest.mark.slow
def test_slave_peers_do_not_share_a_data_folder(running: Cluster) -> None:
    joins = ["--join", running.peers[0].address, "--role", "slave", "--data", "helper", "--slaves", 1]
    first = running.start(*joins)

    assert f"helper is in use by process {first.process.pid}" in refused(running, *joins)


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() == 0, reason="root may read and write everything")
def test_folder_without_permission_is_told(run: Run, tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o500)

    result = run("peer", "--bind", "127.0.0.1:0", "--data", "closed/node")

    assert "Permission denied" in refusal(result.returncode, result.stderr)
