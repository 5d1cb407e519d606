"""A plan in a file says exactly what is simulated; what it says wrongly is refused in one line that names the place."""

from __future__ import annotations

from functools import partial
from io import StringIO
from pathlib import Path
from shlex import split

import pytest

from p2pcrawl.model.errors import ConfigurationError
from simulations.__main__ import main
from simulations.play.faults import LAW_KEYS, WORDS
from simulations.whole.outcome import Report
from simulations.whole.plan import MachinePlan
from simulations.whole.plan_file import read_plan
from simulations.whole.simulation import Simulation

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "simulations" / "examples").glob("*.toml"))
SMALL = """
[cluster]
masters = 3
replicas = 2
[web]
pages = 40
hosts = 6
delayed_hosts = 0.0
"""
HEAD = "[cluster]\nmasters = 3\nslaves = 1\n"


def written(folder: Path, text: str) -> Path:
    path = folder / "plan.toml"
    path.write_text(text)
    return path


def ran(folder: Path, faults: str, head: str = SMALL) -> Report:
    return Simulation(read_plan(written(folder, head + faults))).run()


def test_a_plan_says_what_cluster_web_network_and_machines_there_are(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        'seed = 5\nlimit = "10 min"\n[cluster]\nmasters = 4\nslaves = 1\nreplicas = 3\n'
        "[web]\npages = 70\nhosts = 9\nzipf = 2\n"
        '[network]\nloss = 0.1\n[[machine]]\nname = "m2"\nweight = 3\ndisk_delay_s = 0.5\n',
    )

    plan = read_plan(path)

    options = plan.options
    assert (options.seed, options.limit_s, options.masters, options.slaves, options.replicas) == (5, 600.0, 4, 1, 3)
    assert plan.web is not None and (plan.web.pages, plan.web.hosts, plan.web.zipf) == (70, 9, 2.0)
    assert plan.law is not None and plan.law.loss == 0.1
    assert plan.machines == (MachinePlan("m2", weight=3, disk_delay_s=0.5),)
    assert [plan.completed().weight(number) for number in range(4)] == [1, 1, 3, 1]
    assert plan.command == f"python -m simulations run {path} --seed 5"


def test_a_seed_from_the_command_line_comes_before_that_of_the_file(tmp_path: Path) -> None:
    assert read_plan(written(tmp_path, "seed = 5\n"), 8).options.seed == 8


FAULT = '[[fault]]\nat = "1 s"\ndo = '
MISTAKES = {
    "[cluster]\nmaster = 3\n": "[cluster]: master: unknown key; did you mean masters?",
    "[clutser]\nmasters = 3\n": "clutser: unknown key; did you mean cluster?",
    '[cluster]\nmasters = "3"\n': "[cluster]: masters: must be a whole number, not '3'",
    "[cluster]\nmasters = 0\n": "[cluster]: masters, replicas, pages and hosts must be at least 1",
    "[web]\nflaky = 1.5\n": "[web]: flaky must be between 0 and 1",
    "[web]\nmissing = 0.6\nflaky = 0.6\n":
        "[web]: flaky, redirect, missing, failing, forbidden must not be more than 1 together",
    "[network]\nloss = 2\n": "[network]: loss must be between 0 and 1",
    'limit = "soon"\n': "limit: must be a time such as \"30 s\", \"500 ms\", \"2 min\" or \"1 h\", not 'soon'",
    "[machine]\nname = 'm0'\n": "machine: must be written as [[machine]]",
    "[[machine]]\nweight = 2\n": "machine 1: needs name",
    "[[machine]]\nname = 'm7'\n": "machine 1: name: there is no 'm7'; there are m0, m1, m2",
    "[[machine]]\nname = 'm0'\nweight = 99\n": "machine 1: weight must be between 1 and 16",
    "[[machine]]\nname = 'm0'\n[[machine]]\nname = 'm0'\n": "machine 2: name: m0 has a table already",
    FAULT + '"crsh"\nwho = ["m0"]\n': "fault 1: do: there is no 'crsh'; did you mean 'crash'?",
    '[[fault]]\ndo = "crash"\nwho = ["m0"]\n':
        'fault 1 (crash): needs at, such as "30 s", or at_share, such as 0.4, and not both',
    '[[fault]]\nat_share = 40\ndo = "crash"\nwho = ["m0"]\n': "fault 1 (crash): at_share: must be between 0 and 1",
    FAULT + '"crash"\n': 'fault 1 (crash): needs who, such as ["m1"], or some, such as 2 or "10 %", and not both',
    FAULT + '"crash"\nsome = 0\n': 'fault 1 (crash): some: must be a whole number from 1, or a share such as "10 %"',
    FAULT + '"crash"\nsome = true\n':
        'fault 1 (crash): some: must be a whole number from 1, or a share such as "10 %"',
    FAULT + '"wipe"\nwho = ["s0"]\n': "fault 1 (wipe): who: there is no 's0'; there are m0, m1, m2",
    FAULT + '"crash"\nwho = ["m0"]\nfro = "3 s"\n': "fault 1 (crash): fro: unknown key; did you mean for?",
    FAULT + '"bury"\nwho = ["m0"]\nfor = "3 s"\n': "fault 1 (bury): for: bury is not undone: leave it out",
    FAULT + '"split"\nwho = ["m0"]\n': 'fault 1 (split): needs for, such as "20 s": how long it lasts',
    FAULT + '"split"\ngroups = [["m0"], ["m0"]]\nfor = 3\n': "fault 1 (split): groups: m0 is in more than one group",
    FAULT + '"split"\ngroups = ["m0"]\nfor = 3\n':
        'fault 1 (split): groups: must be two lists or more, such as [["m0"], ["m1", "m2"]]',
    FAULT + '"slow-disk"\nwho = ["m0"]\n': "fault 1 (slow-disk): needs delay",
    FAULT + '"power-loss"\nwho = ["m0"]\nunsynced = "gone"\n':
        "fault 1 (power-loss): unsynced: there is no 'gone'; there are drawn, lost",
    FAULT + '"io-error"\nwho = ["m0"]\n': "fault 1 (io-error): needs kind",
    FAULT + '"io-error"\nwho = ["m0"]\nkind = "comit"\n':
        "fault 1 (io-error): kind: there is no 'comit'; did you mean 'commit'?",
    FAULT + '"io-error"\nwho = ["m0"]\nkind = "read"\nnth = 0\n': "fault 1 (io-error): nth: must be at least 1",
    FAULT + '"flip"\nwho = ["m0"]\nfile = "members.json"\n':
        "fault 1 (flip): file: there is no 'members.json'; there are frontier.db, copies.db",
    FAULT + '"drift"\nwho = ["m0"]\nby = 3\n': "fault 1 (drift): by: must be between -0.5 and 0.5: 0.02 is 2 % fast",
    FAULT + '"crash"\nwho = ["m0"]\ntimes = 3\n': "fault 1 (crash): times: must be at least 1, and needs every",
    FAULT + '"crash"\nwho = ["m0"]\nevery = 0\n': "fault 1 (crash): every: must be above 0",
    FAULT + '"crash"\nwho = []\n':
        'fault 1 (crash): needs who, such as ["m1"], or some, such as 2 or "10 %", and not both',
    FAULT + '"split"\ngroups = [[], []]\nfor = 3\n':
        'fault 1 (split): groups: must be two lists or more, such as [["m0"], ["m1", "m2"]]',
    FAULT + '"silence"\nwho = ["m0"]\nunheard_by = []\nfor = 3\n':
        "fault 1 (silence): unheard_by: must name somebody; without it nobody hears them",
    FAULT + '"bad-network"\nlos = 0.1\nfor = 3\n': "fault 1 (bad-network): los: unknown key; did you mean loss?",
    FAULT + '"bad-network"\nfor = 3\n':
        f"fault 1 (bad-network): needs one of {', '.join(LAW_KEYS)}",
    FAULT + '"step-clock"\nwho = ["m0"]\nby = -1e300\n': "fault 1 (step-clock): by: must be a hundred years at most",
    FAULT + '"slow-disk"\nwho = ["m0"]\ndelay = inf\n':
        'fault 1 (slow-disk): delay: must be a time such as "30 s", "500 ms", "2 min" or "1 h", not inf',
    "limit = 0\n": "limit: must be above 0",
    f"limit = {10**400}\n":
        f'limit: must be a time such as "30 s", "500 ms", "2 min" or "1 h", not {10**400}',
    "[web]\nzipf = nan\n": "[web]: zipf: must be a number, not nan",
    "[web]\nzipf = 300\n": "[web]: zipf must be between 0 and 10",
    "[network]\nlatency_s = inf\n": "[network]: latency_s: must be a number, not inf",
    "[cluster]\nmasters = 5000\n": "[cluster]: a cluster has at most 4096 masters",
    "[fault]\n": "fault: must be written as [[fault]]",
}  # fmt: skip


@pytest.mark.parametrize(("text", "told"), MISTAKES.items(), ids=range(len(MISTAKES)))
def test_a_mistake_is_told_in_one_line_with_its_place(text: str, told: str, tmp_path: Path) -> None:
    path = written(tmp_path, text if text.startswith(("[c", "limit")) else HEAD + text)

    with pytest.raises(ConfigurationError) as caught:
        read_plan(path)

    assert str(caught.value) == f"{path}: {told}"


def test_what_is_no_toml_is_refused_with_its_line(tmp_path: Path) -> None:
    path = written(tmp_path, "[cluster]\nmasters 3\n")

    with pytest.raises(ConfigurationError, match=r"plan\.toml: .*line 2"):
        read_plan(path)


@pytest.mark.parametrize("text", [b"\xff\xfe\x00", b"seed = " + b"9" * 5_000, b"a = " + b"[" * 5_000])
def test_what_cannot_be_read_is_refused_in_one_line(text: bytes, tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_bytes(text)

    with pytest.raises(ConfigurationError, match=r"^[^\n]*plan\.toml: [^\n]+$"):
        read_plan(path)


def test_a_worse_network_is_what_the_fault_says_even_where_that_is_what_is_usual(tmp_path: Path) -> None:
    path = written(
        tmp_path, "[network]\nloss = 0.1\n" + FAULT + '"bad-network"\nlatency_s = 0.5\nloss = 0.0\nfor = 3\n'
    )

    faults = read_plan(path).faults

    assert isinstance(faults, partial)
    assert faults.keywords["faults"][0].change == {"latency_s": 0.5, "loss": 0.0}


def test_the_command_of_a_plan_can_be_given_to_a_shell(tmp_path: Path) -> None:
    path = tmp_path / "two words.toml"
    path.touch()

    assert split(read_plan(path).command)[-3:] == [str(path), "--seed", "1"]


def test_a_mistake_in_a_plan_ends_the_command_with_2_and_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, "[cluster]\nmaster = 3\n")

    assert main(["run", str(path)]) == 2

    assert capsys.readouterr() == ("", f"simulations: {path}: [cluster]: master: unknown key; did you mean masters?\n")


def test_flags_of_scenarios_are_refused_beside_a_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, SMALL)

    assert main(["run", str(path), "--masters", "5"]) == 2

    assert capsys.readouterr().err == f"simulations: --masters is for scenarios; {path} says it itself\n"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_can_be_read(path: Path) -> None:
    assert read_plan(path).faults is not None


@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=pytest.mark.soak if path.stem == "outage" else (), id=path.stem) for path in EXAMPLES],
)
def test_an_example_runs_and_nothing_is_amiss(path: Path) -> None:
    report = Simulation(read_plan(path)).run()

    assert not report.violations
    assert "never_came" not in report.figures


@pytest.mark.slow
def test_faults_happen_when_and_to_whom_the_plan_says(tmp_path: Path) -> None:
    report = ran(
        tmp_path,
        '[[fault]]\nat = "4 s"\ndo = "crash"\nwho = ["m1"]\nfor = "3 s"\n'
        '[[fault]]\nat = "8 s"\ndo = "freeze"\nsome = 1\nfor = "2 s"\n',
    )

    began_s = report.series.marks[0][0]
    crash, pause = report.incidents
    assert (crash.what, crash.nodes, crash.began_s) == ("crash", {"m1"}, pytest.approx(began_s + 4.0))
    assert (pause.what, len(pause.nodes), pause.began_s) == ("pause", 1, pytest.approx(began_s + 8.0))
    assert pause.ended_s == pytest.approx(pause.began_s + 2.0)
    down = report.series.absences[0]
    assert (down.name, down.what, down.ended_s - down.began_s) == ("m1", "down", pytest.approx(3.0, abs=1.0))
    assert not report.violations


@pytest.mark.slow
def test_who_dies_while_it_stands_still_stands_still_no_more(tmp_path: Path) -> None:
    report = ran(
        tmp_path,
        '[[fault]]\nat = "2 s"\ndo = "freeze"\nwho = ["m0", "m1"]\nfor = "3 s"\n'
        '[[fault]]\nat = "3 s"\ndo = "crash"\nwho = ["m1"]\nfor = "1 s"\n'
        '[[fault]]\nat = "8 s"\ndo = "freeze"\nwho = ["m2"]\nfor = "3 s"\n'
        '[[fault]]\nat = "9 s"\ndo = "power-loss"\nwho = ["m2"]\nfor = "1 s"\n',
    )

    lasted = [incident.ended_s - incident.began_s for incident in report.incidents if incident.what == "pause"]
    assert lasted == pytest.approx([3.0, 1.0], abs=0.01)


@pytest.mark.slow
def test_a_fault_may_come_again_and_again(tmp_path: Path) -> None:
    report = ran(
        tmp_path, '[[fault]]\nat = "2 s"\ndo = "crash"\nsome = "10 %"\nfor = "1 s"\nevery = "4 s"\ntimes = 3\n'
    )

    moments = [incident.began_s for incident in report.incidents]
    assert [later - moments[0] for later in moments] == pytest.approx([0.0, 4.0, 8.0])
    assert not report.violations


@pytest.mark.slow
def test_a_fault_that_comes_after_the_end_is_reported_as_one_that_never_came(tmp_path: Path) -> None:
    report = ran(tmp_path, '[[fault]]\nat = "1 h"\ndo = "crash"\nwho = ["m1"]\n')

    assert report.figures["never_came"] == [f"{tmp_path / 'plan.toml'}: fault 1 (crash)"]
    assert not report.incidents


@pytest.mark.slow
def test_all_may_leave_at_the_same_moment_and_come_back(tmp_path: Path) -> None:
    """The last one has nobody to hand anything over to."""
    report = ran(tmp_path, '[[fault]]\nat = "2 s"\ndo = "leave"\nsome = "100 %"\nfor = "2 s"\n')

    assert len(report.incidents) > 1
    assert [incident.heirs for incident in report.incidents].count(False) == 1
    assert not report.violations


@pytest.mark.slow
def test_who_left_in_order_is_not_missed_when_it_is_gone_for_good(tmp_path: Path) -> None:
    report = ran(
        tmp_path,
        '[[fault]]\nat = "2 s"\ndo = "leave"\nwho = ["m1"]\nfor = "20 s"\n'
        '[[fault]]\nat = "8 s"\ndo = "bury"\nwho = ["m1"]\n',
    )

    assert [incident.what for incident in report.incidents] == ["leave"]
    assert not report.violations


def fault(do: str, at: str, *how: str) -> str:
    return "\n".join(["[[fault]]", f'at = "{at}"', f'do = "{do}"', *how, ""])


FOR = 'for = "2 s"'
ROUNDS = {
    "clocks and slaves": (
        {"crash": "m0 crashes s1 crashes", "freeze": "m1 pauses", "drift": "m2 clock runs at 1.02",
         "step-clock": "m2 wall clock jumps by -60.0 s", "bury": "m3 loses its disk"},
        fault("crash", "2 s", 'who = ["m0", "s1"]', FOR) + fault("freeze", "7 s", 'who = ["m1"]', FOR)
        + fault("drift", "1 s", 'who = ["m2"]', "by = 0.02") + fault("step-clock", "3 s", 'who = ["m2"]', "by = -60")
        + fault("bury", "12 s", 'who = ["m3"]'),
    ),
    "disks": (
        {"full-disk": "m0 has no room left on its disk", "slow-disk": "m1 its disk takes 0.3 s for everything"},
        fault("full-disk", "2 s", 'who = ["m0"]', FOR)
        + fault("slow-disk", "3 s", 'who = ["m1"]', 'delay = "300 ms"', FOR),
    ),
    "spoilt disks": (
        {"io-error": "m0 its disk refuses a call", "flip": "m1 its disk is spoilt: flip at",
         "tear": "m2 its disk is spoilt: tear at", "lose-file": "m0 its disk is spoilt: copies.db is gone"},
        fault("io-error", "2 s", 'who = ["m0"]', 'kind = "commit"', "nth = 3", "whole = true", FOR)
        + fault("flip", "9 s", 'who = ["m1"]', "whole = true", FOR)
        + fault("tear", "16 s", 'who = ["m2"]', 'file = "frontier.db"', "whole = true", FOR)
        + fault("lose-file", "23 s", 'who = ["m0"]', 'file = "copies.db"', "whole = true", FOR),
    ),
    "losses": (
        {"power-loss": "m0 loses power", "leave": "m3 crashes"},
        fault("power-loss", "1 s", 'who = ["m0"]', FOR)
        + fault("leave", "12 s", 'who = ["m3"]', FOR),
    ),
    "a disk": (
        {"wipe": "m1 loses its disk", "ask": "ask m2"},
        fault("wipe", "2 s", 'who = ["m1"]', FOR) + fault("ask", "3 s", 'who = ["m2"]'),
    ),
    "snapshots": (
        {"take-snapshot": "m1 a snapshot is taken of its disk", "restore-snapshot": "m1 its disk is as it was at"},
        fault("take-snapshot", "2 s", 'who = ["m1"]') + fault("restore-snapshot", "5 s", 'who = ["m1"]', FOR),
    ),
    "network": (
        {"split": "network partition into 2 groups", "silence": "network cut m0 -> m1", "ring": "network cut m0 <-> m2",
         "bad-network": "loss=0.2"},
        fault("split", "1 s", 'who = ["m0"]', FOR) + fault("silence", "2 s", 'who = ["m0"]', 'unheard_by = ["m1"]', FOR)
        + fault("ring", "3 s", FOR) + fault("bad-network", "1 s", "loss = 0.2", FOR),
    ),
    "strain": (
        {"hesitate": "m1 hesitates 2.0% of the time"},
        fault("hesitate", "1 s", 'who = ["m1"]', "share = 0.02", 'longest = "1 s"', FOR),
    ),
    "people": (
        {"submit": "submit m0", "pause-job": "pause-job m1", "retry-job": "retry-job m2", "inject": "inject m0",
         "results": "results m3", "set-host": "set-host m2", "cancel-job": "cancel-job m1",
         "delete-job": "delete-job m3", "set-job": "set-job m0", "restart-job": "restart-job m1",
         "send-letters": "send-letters m2", "refuse-items": ": refuse-items", "take-items": ": take-items"},
        fault("submit", "1 s", 'who = ["m0"]', 'job = "b"', "pages = 4")
        + fault("pause-job", "2 s", 'who = ["m1"]', FOR)
        + fault("retry-job", "3 s", 'who = ["m2"]') + fault("inject", "2 s", 'who = ["m0"]', "pages = 2")
        + fault("results", "5 s", 'who = ["m3"]') + fault("set-host", "1 s", 'who = ["m2"]', "host = 1", FOR)
        + fault("set-job", "2 s", 'who = ["m0"]', "depth = 100") + fault("restart-job", "7 s", 'who = ["m1"]')
        + fault("cancel-job", "4 s", 'who = ["m1"]', 'job = "b"')
        + fault("delete-job", "6 s", 'who = ["m3"]', 'job = "b"')
        + fault("refuse-items", "1 s") + fault("take-items", "4 s") + fault("send-letters", "5 s", 'who = ["m2"]'),
    ),
}  # fmt: skip


def test_every_word_is_in_a_round() -> None:
    assert {word for seen, _ in ROUNDS.values() for word in seen} == set(WORDS)


@pytest.mark.slow
@pytest.mark.parametrize(("seen", "faults"), ROUNDS.values(), ids=ROUNDS)
def test_every_word_does_what_it_says_and_the_crawl_outlives_it(
    seen: dict[str, str], faults: str, tmp_path: Path
) -> None:
    head = "[cluster]\nmasters = 4\nslaves = 1\nreplicas = 3\n[web]\npages = 60\nhosts = 6\ndelayed_hosts = 0.0\n"
    log = StringIO()

    report = Simulation(read_plan(written(tmp_path, head + faults)), narrate_to=log).run()

    happened = " ".join(" ".join(line[16:].split()) for line in log.getvalue().splitlines())
    assert [word for word, text in seen.items() if text not in happened] == []
    assert "never_came" not in report.figures
    assert not report.violations
