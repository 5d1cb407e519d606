"""Certificates: what is signed, what that comes to, and that no forgery is taken for one."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from p2pcrawl.core.control import FINISHED, Control
from p2pcrawl.master.jobs.certificate import Part, certificate_of, flaws, members_digest, signed_body, signed_part
from p2pcrawl.master.jobs.job import job_of, pack_spec, unpack_control, unpack_spec
from p2pcrawl.model.crawl.job import JobId, JobSpec, SpiderRef
from p2pcrawl.wire.sealed.identity import Identity

WHO = [Identity(bytes([n]) * 32) for n in (1, 2, 3)]
IDS = [who.node_id for who in WHO]
SPEC = JobSpec(JobId(7), "small", SpiderRef(urls=("http://a.example/",)))


def counts_of(done: int, queued: int = 0) -> dict[str, Any]:
    job = job_of(SPEC)
    job.counts.update({"discovered": done + queued, "done": done, "pages": done, "items": done, "queued": queued})
    return job.certificate()


def part_of(identity: Identity, present: list[Identity], done: int = 5, **changes: Any) -> Part:
    body = {
        "master": identity.node_id,
        "job": 7,
        "view": "00000000000000aa",
        "members": members_digest([m.node_id for m in present]),
        "missing": [],
        "copies": 2,
        "unsynced": 0,
        "incomplete": [],
        "counts": counts_of(done),
    }
    return signed_part(identity, body | changes)


def certificate(**changes: Any) -> dict[str, Any]:
    made = certificate_of([part_of(who, WHO, done=n, **changes) for n, who in enumerate(WHO, 1)], IDS)
    assert made is not None
    return made


def test_certificate_adds_up_what_its_masters_signed() -> None:
    made = certificate()

    assert made["counts"]["done"] == 6 and made["conserved"] and made["final"]
    assert made["copies"] == {"asked": 2, "kept": 2}
    assert list(flaws(json.loads(json.dumps(made)))) == []


def test_certificate_has_what_masters_that_are_gone_had_counted_each_once_at_its_latest() -> None:
    gone, newer = (
        {"master": "ee" * 20, "life": "11" * 16, "version": n, "figures": {"fetches": n, "statuses:200": n}}
        for n in (3, 4)
    )
    of_second = {"master": IDS[1], "life": "22" * 16, "version": 99, "figures": {"fetches": 99}}
    told = [[gone], [newer, gone], [newer, of_second]]
    parts = [part_of(who, WHO, life="22" * 16, accounts=accounts) for who, accounts in zip(WHO, told, strict=True)]

    made = certificate_of(parts, IDS)

    assert made is not None
    assert (made["counts"]["fetches"], made["counts"]["statuses"]) == (4, {"200": 4})
    assert made["counts"]["done"] == 15
    assert list(flaws(json.loads(json.dumps(made)))) == []


def test_who_is_missing_makes_it_not_final_and_is_named() -> None:
    made = certificate(missing=["ee" * 20])

    assert not made["final"] and made["missing"] == ["ee" * 20]
    assert list(flaws(made)) == []


def test_who_is_missing_is_so_since_the_first_of_those_that_signed_missed_it() -> None:
    gone = "ee" * 20
    parts = [part_of(who, WHO, missing=[gone], since={gone: 1_000 + n}) for n, who in enumerate(WHO)]

    made = certificate_of(parts, IDS)

    assert made is not None and made["since"] == {gone: 1_000}
    assert list(flaws(made)) == []
    assert list(flaws({**made, "since": {gone: 2_000}})) == ["its parts do not come to what it says of since"]


def test_certificate_of_an_older_version_that_says_nothing_of_when_is_sound() -> None:
    made = certificate(missing=["ee" * 20])
    del made["since"]

    assert list(flaws(made)) == []


def test_bucket_that_is_not_whole_makes_it_incomplete() -> None:
    made = certificate(incomplete=[4, 2])

    assert made["incomplete"] == [2, 4] and not made["final"]


@pytest.mark.parametrize(("masters", "unsynced", "kept"), [(3, 0, 2), (1, 0, 1), (3, 9, 1)])
def test_fewer_copies_than_asked_are_told(masters: int, unsynced: int, kept: int) -> None:
    members = WHO[:masters]

    made = certificate_of([part_of(who, members, unsynced=unsynced) for who in members], IDS[:masters])

    assert made is not None and made["copies"] == {"asked": 2, "kept": kept}


def test_no_certificate_without_one_job_in_one_view_of_the_same_members() -> None:
    for change in ({"view": "00000000000000bb"}, {"job": 8}, {"members": members_digest(IDS[:1])}):
        assert certificate_of([part_of(WHO[0], WHO), part_of(WHO[1], WHO, **change)], IDS) is None
    assert certificate_of([part_of(who, WHO) for who in WHO], IDS[:2]) is None
    assert certificate_of([], IDS) is None


def test_part_counts_only_if_the_master_that_it_names_has_signed_it() -> None:
    honest = part_of(WHO[0], WHO)
    forged = {**honest, "body": honest["body"].replace('"done":5', '"done":6')}
    borrowed = part_of(WHO[0], WHO, master=WHO[1].node_id)

    assert signed_body(honest) is not None
    assert signed_body(forged) is None and signed_body(borrowed) is None
    assert certificate_of([honest, forged], IDS) is None


@pytest.mark.parametrize("part", [{}, {"body": "x"}, {"body": "{}", "key": "zz", "signature": ""}, None, 5, []])
def test_rubbish_is_no_part(part: Any) -> None:
    assert signed_body(part) is None
    assert certificate_of([part], IDS) is None


@pytest.mark.parametrize(
    ("change", "flaw"),
    [
        ({"counts": {}}, "counts"),
        ({"final": False}, "final"),
        ({"missing": ["ff" * 20]}, "missing"),
        ({"parts": []}, "nobody"),
        ({"parts": "x"}, "nobody"),
        ({"job": 8}, "job"),
        ({"members": IDS[:2]}, "members"),
        ({"members": None}, "members"),
    ],
)
def test_change_of_the_summary_is_found_out(change: dict[str, Any], flaw: str) -> None:
    assert any(flaw in found for found in flaws(certificate() | change))


def test_part_that_is_left_out_is_missed() -> None:
    made = certificate()
    shorter = certificate_of(made["parts"][:2], IDS)

    assert shorter is not None
    assert any("did not sign" in flaw for flaw in flaws(shorter))


def test_counts_that_do_not_add_up_are_a_flaw() -> None:
    lost = counts_of(5) | {"conserved": False}

    made = certificate_of([part_of(who, WHO, counts=lost) for who in WHO], IDS)

    assert made is not None and any("nowhere" in flaw for flaw in flaws(made))


def test_control_is_stored_with_the_specification() -> None:
    control = Control(9, FINISHED, "because", b"{}")

    stored = pack_spec(SPEC, control)

    assert unpack_spec(stored) == SPEC
    assert unpack_control(stored, FINISHED, "because") == control


def test_specification_of_an_earlier_version_has_the_first_control() -> None:
    assert unpack_control(msgspec.msgpack.encode(SPEC), "paused", "") == Control(0, "paused")
