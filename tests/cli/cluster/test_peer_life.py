"""How a peer begins, leaves and is found; roles; keys that change while it runs; peers in a script."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import ENDS_S, environment, until
from tests.cli.peers import Cluster, asked, ends_within, gone

pytestmark = pytest.mark.slow


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with Cluster(tmp_path) as cluster:
        yield cluster


def states(api: str) -> dict[str, str]:
    return {m["id"]: m["state"] for m in asked(api, "status")["members"]}


@pytest.mark.parametrize(("signal_number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_first_signal_leaves_in_order(cluster: Cluster, signal_number: int, code: int) -> None:
    first = cluster.start("--slaves", 0)
    second = cluster.start("--slaves", 0)
    cluster.until_agreed(2)

    assert second.end(signal_number) == (code, ""), second.log

    assert "leaving the cluster" in second.log
    until(lambda: states(first.api)[second.ready["id"]] == "left", "it is known to have left")
    assert "Traceback" not in first.log + second.log, first.log + second.log


def test_second_signal_stops_at_once(cluster: Cluster) -> None:
    peer = cluster.start("--slaves", 1)
    # Stopped, it finds both signals when it goes on.
    for number in (signal.SIGSTOP, signal.SIGTERM, signal.SIGINT, signal.SIGCONT):
        peer.process.send_signal(number)

    code, _ = peer.end()

    assert code in (1, 130)
    assert "stopping at once" in peer.log


def test_peer_that_still_looks_for_a_master_can_be_stopped(cluster: Cluster) -> None:
    process, said = cluster.begin("--role", "slave", "--join", "127.0.0.1:9", "--join", "nowhere.invalid")
    until(lambda: "no master answers at 127.0.0.1:9, nowhere.invalid" in said.read_text(), "it says so")

    process.send_signal(signal.SIGTERM)

    assert process.communicate(timeout=ENDS_S)[0] == ""
    assert process.returncode == 0


def test_unreachable_join_is_said_and_tried_until_somebody_is_there(cluster: Cluster) -> None:
    first = cluster.start("--slaves", 0, "--data", "first", "--role", "master")
    assert first.end(signal.SIGTERM)[0] == 0
    second = cluster.start("--slaves", 0, "--role", "master", "--join", first.address)
    assert f"nobody answers at {first.address} yet" in second.log

    cluster.start(
        "--slaves", 0, "--data", "first", "--role", "master", "--bind", first.address, "--join", first.address
    )

    cluster.until_agreed(2)


def test_drain_lets_a_peer_leave(cluster: Cluster) -> None:
    peer = cluster.start("--slaves", 0, "--data", "node")

    result = cluster.run("drain")

    assert result.returncode == 0, result.stderr
    assert peer.end()[0] == 0
    assert "no peer runs on this machine" in cluster.run("status").stderr


def test_the_one_peer_here_is_found_and_one_that_was_killed_is_not(cluster: Cluster) -> None:
    killed = cluster.start("--slaves", 0)
    assert cluster.told("status")["peer"]["api"] == killed.api
    killed.end(signal.SIGKILL)
    other = cluster.start("--slaves", 0, "--join", "127.0.0.1:9", "--role", "master")

    assert cluster.told("status")["peer"]["api"] == other.api


def test_no_peer_is_said_so(cluster: Cluster) -> None:
    nobody, wrong = cluster.run("status"), cluster.run("status", "--peer", "127.0.0.1:9")

    assert nobody.returncode == 2 and "start one with `p2pcrawl peer`" in nobody.stderr
    assert wrong.returncode == 1 and "no peer answers at 127.0.0.1:9" in wrong.stderr


def test_introduction_for_people_tells_how_to_join_and_submit(cluster: Cluster, start: Any) -> None:
    process = start("peer", "--bind", "127.0.0.1:0", "--slaves", 0)

    line = process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    rest, _ = process.communicate(timeout=ENDS_S)

    assert line.startswith("master at 127.0.0.1:") and "p2pcrawl peer --join 127.0.0.1:" in line
    assert "p2pcrawl submit TARGET --peer 127.0.0.1:" in line
    assert rest == ""


def test_slave_peer_helps_a_master_and_passes_questions_on(cluster: Cluster, site: Any) -> None:
    master = cluster.start("--slaves", 0, "--role", "master")
    slave = cluster.start("--slaves", 1, "--role", "slave", "--data", "helping")
    assert slave.ready["role"] == "slave" and slave.address == master.address
    until(lambda: _sessions(master.api) == 2, "the slave's process works for the master")

    end = cluster.told("submit", site["start"], "-s", "DEPTH_LIMIT=1", "--wait", "--peer", slave.api, "-o", "out.csv")

    assert end["state"] == "finished" and end["pages"] > 0
    owners = [cluster.told("owner", site["start"], "--peer", peer.api) for peer in (master, slave)]
    assert owners[0] == owners[1]
    assert cluster.told("status", "--peer", slave.api)["peer"]["role"] == "slave"
    assert len((cluster.folder / "out.csv").read_text().splitlines()) == end["items"] + 1
    assert slave.end(signal.SIGTERM) == (0, "")


def _sessions(api: str) -> int:
    return len(asked(api, "status")["here"]["slaves"])


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_processes_of_a_killed_slave_peer_end_with_it(cluster: Cluster) -> None:
    master = cluster.start("--slaves", 0, "--role", "master")
    slave = cluster.start("--slaves", 2, "--role", "slave")
    until(lambda: _sessions(master.api) == 3, "two processes work for the master")
    told = cluster.told("status", "--peer", master.api)["here"]["slaves"]
    pids = [s["pid"] for s in told if s["pid"] != master.process.pid]

    slave.end(signal.SIGKILL)

    until(lambda: all(gone(pid) for pid in pids), "they are gone")


def test_auto_peers_become_masters_while_there_are_too_few(cluster: Cluster) -> None:
    roles = []
    for _ in range(3):
        roles.append(cluster.start("--masters", 2, "--slaves", 0 if len(roles) < 2 else 1).ready["role"])
        cluster.until_agreed(min(2, len(roles)))

    assert roles == ["master", "master", "slave"]


def test_keys_change_while_peers_run(cluster: Cluster) -> None:
    keys = cluster.folder / "cluster.key"
    assert cluster.run("keygen", "-o", keys).returncode == 0
    assert keys.stat().st_mode & 0o777 == 0o600
    first = cluster.start("--slaves", 0, "--key-file", keys, "--data", "first")
    second = cluster.start("--slaves", 0, "--key-file", keys, "--role", "master")
    old = keys.read_text()

    for count, step in enumerate(["--add", "--use", "--remove"], 1):
        result = cluster.run("keygen", "-o", keys, step)
        assert result.returncode == 0 and f"step {count} of 3" in result.stderr
        for peer in (first, second):
            peer.process.send_signal(signal.SIGHUP)
            until(lambda peer=peer, count=count: peer.log.count("cluster keys:") == count, "the file was read")  # type: ignore[misc]

    assert len(keys.read_text().split()) == 1 and keys.read_text() != old
    third = cluster.start("--slaves", 0, "--key-file", keys, "--role", "master")
    cluster.until_agreed(3)
    (cluster.folder / "old.key").write_text(old)
    (cluster.folder / "old.key").chmod(0o600)
    process, said = cluster.begin("--key-file", "old.key", "--join", first.address)
    assert process.wait(ENDS_S) == 2 and "another cluster key" in said.read_text()
    assert third.end(signal.SIGTERM)[0] == 0


def test_bad_key_file_on_reload_changes_nothing(cluster: Cluster) -> None:
    keys = cluster.folder / "cluster.key"
    cluster.run("keygen", "-o", keys)
    peer = cluster.start("--slaves", 0, "--key-file", keys)
    keys.write_text("rubbish\n")

    peer.process.send_signal(signal.SIGHUP)

    until(lambda: "the keys stay as they were" in peer.log, "it says so")
    assert cluster.start("--slaves", 0, "--join", "127.0.0.1:9", "--role", "master").process.poll() is None
    assert peer.end(signal.SIGTERM)[0] == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--add"], "--add needs the key file"),
        (["-o", "missing", "--add"], "cannot read the key file missing"),
        (["-o", "rubbish", "--add"], "line 1 of the key file is not a cluster key"),
        (["-o", "one.key"], "is there already"),
        (["-o", "one.key", "--use"], "has one key only"),
        (["-o", "one.key", "--remove"], "has one key only"),
        (["-o", "no/folder/x.key"], "there is no folder"),
    ],
)
def test_keygen_refuses_in_one_line(cluster: Cluster, arguments: list[str], said: str) -> None:
    (cluster.folder / "rubbish").write_text("rubbish\n")
    cluster.run("keygen", "-o", "one.key")
    before = (cluster.folder / "one.key").read_text()

    result = cluster.run("keygen", *arguments)

    assert (result.returncode, result.stdout) == (2, "")
    assert said in result.stderr and result.stderr.count("\n") == 1
    assert (cluster.folder / "one.key").read_text() == before


def test_printed_key_works_from_the_environment(cluster: Cluster) -> None:
    key = cluster.run("keygen").stdout.strip()
    cluster.start("--slaves", 0, env={"P2PCRAWL_KEY": key})

    process, said = cluster.begin("--join", cluster.peers[0].address)

    assert process.wait(ENDS_S) == 2 and "another cluster key" in said.read_text()
    assert cluster.start("--slaves", 0, env={"P2PCRAWL_KEY": key}).ready["role"] == "master"


SCRIPT = """
import asyncio, json, sys
from p2pcrawl import Peer, Spider

class Few(Spider):
    custom_settings = {"DEPTH_LIMIT": 1, "ALLOW_PRIVATE_NETWORKS": "127.0.0.0/8"}
    def parse(self, response):
        yield {"url": response.url}
        yield response.follow_all()

async def main(start):
    async with (
        Peer(bind="127.0.0.1:0", slaves=0, role="master") as one,
        Peer(bind="127.0.0.1:0", join=[one.address], slaves=0, role="master") as two,
    ):
        while len((await one.ask("status", {}))["members"]) < 2:
            await asyncio.sleep(0.01)
        job = await two.submit(Few, arguments={"start_urls": start})
        end = await job.wait()
        urls = [item["url"] async for item in job.items()]
        print(json.dumps({"pages": end["pages"], "masters": len(end["masters"]), "urls": urls}))

if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
"""


def test_two_peers_on_the_loop_of_a_script(tmp_path: Path, site: Any) -> None:
    (tmp_path / "few.py").write_text(SCRIPT)

    done = subprocess.run(
        [sys.executable, "few.py", site["start"]],
        cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True, timeout=ENDS_S,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert len(told["urls"]) == len(set(told["urls"])) == told["pages"] > 1
    assert told["masters"] == 2
    assert os.listdir(tmp_path / "state" / "p2pcrawl" / "peers") == []


def test_stopping_does_not_wait_for_slow_pages(cluster: Cluster, site: Any) -> None:
    """A page that never ends must not hold up an ordered leave."""
    (cluster.folder / "sleeper.py").write_text(
        "import asyncio, pathlib\nfrom p2pcrawl import Spider\nclass Sleeper(Spider):\n"
        "    async def parse(self, response):\n        pathlib.Path(self.mark).touch()\n"
        "        await asyncio.sleep(3600)\n"
    )
    peer = cluster.start("--slaves", 1)
    mark = cluster.folder / "asleep"
    cluster.told("submit", "sleeper.py", "-a", f"start_urls={site['start']}", "-a", f"mark={mark}")
    until(mark.exists, "the callback sleeps")

    peer.process.send_signal(signal.SIGTERM)

    assert ends_within(peer.process, ENDS_S / 2)
    assert peer.end()[0] == 0
