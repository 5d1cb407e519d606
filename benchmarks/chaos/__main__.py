"""The campaign: rounds of random faults against real peers, until its time is over.

python -m benchmarks.chaos --minutes 60               # rounds 1, 2, ... of a seed of its own
python -m benchmarks.chaos --seed 7 --round 4         # the draws of that round once more
python -m benchmarks.chaos --seed 7 --json > chaos.json
python -m benchmarks.chaos --keep DIR                 # logs, data and evidence of every round stay in DIR

Each round is a cluster of three to five masters with real processes, disks and sinks, on loopback or in network
namespaces. What was fetched and when is judged by the site's own log, what came of it by the outputs and the disks.
The exit code is 1 when a law was broken, 130 after Ctrl-C. What this machine cannot do is said, and left out.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path

from benchmarks.chaos.disks import keep_mounts_to_ourselves, why_no_disk
from benchmarks.chaos.draws import DrawnRound, draw_round
from benchmarks.chaos.evidence import plain_evidence
from benchmarks.chaos.judge import Broken, verdict
from benchmarks.chaos.links import why_no_loss
from benchmarks.chaos.report import Campaign, PlayedRound, commit_here, figures
from benchmarks.chaos.rounds import play
from benchmarks.kit.divisible import BRIDGE, why_not

ROUND_S = 300.0
"""No round begins with less time than this left, unless none has been played."""


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.chaos", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=60.0, help="how long it may take; 60")
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    parser.add_argument("--round", type=int, help="only this one")
    parser.add_argument("--rounds", type=int, default=10_000, help="as many at most")
    parser.add_argument("--small", action="store_true", help="rounds of a minute: three masters on loopback")
    parser.add_argument("--keep", type=Path, help="a folder for the logs, data and evidence of every round")
    parser.add_argument("--json", action="store_true", help="the report as one object on standard output")
    o = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    keep_mounts_to_ourselves()
    campaign = Campaign(o.seed, commit_here(), _lacking())
    for what, why in campaign.lacking.items():
        _say(f"NOT TRIED HERE: {what}: {why}")
    began_s = time.monotonic()
    interrupted = False
    try:
        for number in [o.round] if o.round is not None else range(1, o.rounds + 1):
            left_s = o.minutes * 60 - (time.monotonic() - began_s)
            if campaign.rounds and left_s < (60.0 if o.small else ROUND_S):
                break
            campaign.rounds.append(_play(draw_round(o.seed, number, small=o.small), o.keep, campaign.lacking))
    except KeyboardInterrupt:
        interrupted = True
        _say("interrupted: everything is ended")
    campaign.seconds = time.monotonic() - began_s
    print(json.dumps(campaign.plain()) if o.json else campaign.table(), flush=True)
    if o.json:
        _say(campaign.table())
    return 130 if interrupted else int(campaign.broken > 0)


def _play(drawn: DrawnRound, keep: Path | None, lacking: dict[str, str]) -> PlayedRound:
    """Plays a round in a folder of its own, which stays when something is amiss or it was asked to."""
    _say(f"\nround {drawn.number} of seed {drawn.seed}: {drawn}")
    folder = Path(tempfile.mkdtemp(prefix="p2pcrawl-chaos-")) if keep is None else keep / f"round-{drawn.number}"
    folder.mkdir(parents=True, exist_ok=True)
    began_s, broken = time.monotonic(), []
    try:
        evidence, said = play(drawn, folder, lambda line: _say(f"  {line}"), lacking)
        (folder / "evidence.json").write_text(json.dumps(plain_evidence(evidence)))
        broken = verdict(evidence)
        played = figures(drawn, time.monotonic() - began_s, evidence, said, broken)
    except Exception as error:
        # One round that could not be played is told, and is not the end of an hour's campaign.
        traceback.print_exc()
        broken = [Broken("played", f"{type(error).__name__}: {' '.join(str(error).split())[:500]}")]
        played = PlayedRound(drawn, time.monotonic() - began_s, 0, 0, {}, "not played", 0, 0, [], broken)
    except BaseException:
        if keep is None:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    for law, what in broken:
        _say(f"  BROKEN {law}: {what}")
    if keep is None and not broken:
        shutil.rmtree(folder, ignore_errors=True)
    elif broken:
        small = " --small" if drawn.small else ""
        _say(f"  all of it is in {folder}; again: --seed {drawn.seed} --round {drawn.number}{small}")
    return played


def _lacking() -> dict[str, str]:
    """Finds out what this machine cannot do."""
    found = {kind: why for kind in ("tmpfs", "ext4") if (why := why_no_disk(kind))}
    if why := why_not():
        found["namespaces"] = why
    elif os.path.exists(f"/sys/class/net/{BRIDGE}"):
        found["namespaces"] = f"there is a {BRIDGE} already, of another run or of one that was killed"
    elif why := why_no_loss():
        found["lossy"] = why
    return found


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
