"""How fast it goes, by samples of what was."""

from __future__ import annotations

from p2pcrawl.peer.watching.pace_record import KEPT, JobWork, PaceRecord, PaceSample, cpu_shares, job_speeds, speeds


def sample(at: float, pages: int = 0, **jobs: JobWork) -> PaceSample:
    return PaceSample(at, {"pages": pages}, {int(name[1:]): work for name, work in jobs.items()}, {0: at / 4})


def test_sample_before_now_is_the_newest_that_is_old_enough() -> None:
    record = PaceRecord()
    for at in (0.0, 10.0, 20.0):
        record.add(sample(at))

    found = record.before(25.0, 10.0)

    assert found is not None and found.at == 10.0


def test_oldest_sample_does_where_none_is_old_enough() -> None:
    record = PaceRecord()
    record.add(sample(20.0))

    found = record.before(25.0, 10.0)

    assert found is not None and found.at == 20.0
    assert record.before(20.0, 10.0) is None


def test_record_is_bounded() -> None:
    record = PaceRecord()
    for step in range(10 * KEPT):
        record.add(sample(10.0 * step))

    oldest = record.before(100_000.0, 100_000.0)

    assert oldest is not None and oldest.at == 10.0 * 9 * KEPT


def test_speed_is_what_came_in_between() -> None:
    assert speeds(sample(0.0, 100), sample(20.0, 140), "pages", "items") == [2.0, 0.0]
    assert speeds(None, sample(20.0, 140), "pages") == [0.0]


def test_job_that_is_new_began_with_nothing() -> None:
    now = sample(10.0, j7=JobWork(pages=20, ended=30, discovered=50))

    assert job_speeds(sample(0.0), now, 7) == (2.0, 3.0, 5.0)
    assert job_speeds(sample(0.0), now, 8) == (0.0, 0.0, 0.0)


def test_process_that_is_new_has_no_share_of_the_cpu_yet() -> None:
    before = PaceSample(0.0, {}, {}, {0: 1.0, 3: 100.0})
    now = PaceSample(10.0, {}, {}, {0: 6.0, 3: 90.0, 4: 50.0})

    assert cpu_shares(before, now) == {0: 0.5, 3: 0.0, 4: 0.0}
