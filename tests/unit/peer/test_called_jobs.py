"""Which job is meant, as people call it."""

from __future__ import annotations

import pytest

from p2pcrawl.core.control import CANCELLED, DELETED, FINISHED, RUNNING, Control
from p2pcrawl.master.jobs.job import Job, JobId, SpiderRef, job_of
from p2pcrawl.model.crawl.job import JobSpec
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.peer.answers.called_jobs import check_label, job_called


def job(number: int, spider: str = "quotes", label: str = "", at: int = 0, state: str = RUNNING) -> Job:
    spec = JobSpec(JobId(number), spider, SpiderRef(file="a.py", qualname="A"), label=label, submitted=at)
    return job_of(spec, Control(state=state))


def called(text: str, *jobs: Job) -> int:
    return job_called(jobs, text).id


def test_job_is_called_by_its_number() -> None:
    assert called("123456789", job(123456789), job(1234)) == 123456789


def test_number_counts_before_one_that_begins_so() -> None:
    assert called("1234", job(123456789), job(1234)) == 1234


def test_job_is_called_by_the_beginning_of_its_number() -> None:
    assert called("12345", job(123456789), job(999999999)) == 123456789


def test_beginning_that_two_numbers_have_names_both() -> None:
    with pytest.raises(ConfigurationError, match=r"one of 2 jobs: 12346 \(finished\), 12345 \(running\)"):
        called("1234", job(12345), job(12346, at=1, state=FINISHED))


def test_few_digits_are_no_beginning() -> None:
    with pytest.raises(ConfigurationError, match="there is no job 123;"):
        called("123", job(123456789))


def test_job_is_called_by_its_label_and_of_those_that_had_it_the_newest_is_meant() -> None:
    jobs = [job(1, label="news", at=1, state=FINISHED), job(2, label="news", at=3), job(3, label="newspaper", at=2)]

    assert called("news", *jobs) == 2


def test_beginning_of_a_label_means_no_job() -> None:
    with pytest.raises(ConfigurationError, match="there is no job new;"):
        called("new", job(1, label="news"), job(2, label="old"))


def test_label_of_a_deleted_job_does_not_mean_another_one() -> None:
    jobs = [job(1, label="news", state=DELETED), job(2, label="news-2024", state=FINISHED)]

    with pytest.raises(ConfigurationError, match="job news was deleted"):
        called("news", *jobs)


def test_empty_text_means_no_job_though_one_has_no_label() -> None:
    with pytest.raises(ConfigurationError, match="no job is named"):
        called("", job(1, state=FINISHED))


def test_label_counts_before_a_spider_that_is_called_so() -> None:
    assert called("news", job(1, spider="news", at=5), job(2, label="news")) == 2


def test_job_without_a_label_is_called_by_its_spider_if_it_is_the_only_one() -> None:
    assert called("quotes", job(1), job(2, spider="books")) == 1

    with pytest.raises(ConfigurationError, match="one of 2 jobs"):
        called("quotes", job(1), job(2, state=CANCELLED))


def test_last_job_is_the_one_that_was_submitted_last() -> None:
    assert called("last", job(9, at=1), job(1, at=2), job(5, at=0)) == 1


def test_no_job_yet_is_told_with_how_to_make_one() -> None:
    with pytest.raises(ConfigurationError, match="p2pcrawl submit"):
        called("last")


@pytest.mark.parametrize("text", ["-1", "nobody", "9" * 5000, "\udc80"])
def test_what_no_job_is_called_is_one_short_line(text: str) -> None:
    with pytest.raises(ConfigurationError, match="there is no job") as caught:
        called(text, job(1, label="news"))

    assert len(str(caught.value)) < 150


@pytest.mark.parametrize("label", ["1news", "last", "a b", "a/b", "", "x" * 65, "é"])
def test_what_could_not_be_typed_or_told_apart_is_no_label(label: str) -> None:
    with pytest.raises(ConfigurationError, match="a job cannot be called"):
        check_label(label)


def test_label_is_a_word() -> None:
    for label in ("news", "news-2026.11", "_x"):
        check_label(label)
