"""A crawl on its way into the cluster: what to crawl, with which code, settings and arguments."""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import re
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from p2pcrawl.core.board_versions import check_boards
from p2pcrawl.model.boards.job_board import FROM_START, JobBoard
from p2pcrawl.model.choosing.ranked_settings import RankedSettings
from p2pcrawl.model.crawl.job import JobSpec, SpiderRef
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.crawl.sink_spec import SinkSpec
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.peer.answers.called_jobs import check_label
from p2pcrawl.spiders.boards.joint_spider import read_named
from p2pcrawl.spiders.boards.shared_settings import shared_settings
from p2pcrawl.spiders.finding.answered_names import scrapy_names_installed
from p2pcrawl.spiders.loading.boards_together import boards_together
from p2pcrawl.spiders.loading.chosen import merged_settings
from p2pcrawl.spiders.loading.load import load_spider, parse_target, reference_of
from p2pcrawl.spiders.loading.trial import try_spider
from p2pcrawl.spiders.page.typed_urls import checked_url
from p2pcrawl.spiders.spider import Spider
from p2pcrawl.spiders.travelling.bundle import unpack_files
from p2pcrawl.spiders.travelling.departure import travelling_spider
from p2pcrawl.stores.address import scheme_of, shows_password
from p2pcrawl.stores.feeds.feed_sinks import feed_sinks
from p2pcrawl.stores.kinds import is_local, read_sink

CODE_MAX = 4 * 1024 * 1024
NAME_MAX = 200
_FILE = re.compile(r"[^/\\\0]{1,200}\.(?:py|toml)")


@dataclass(frozen=True, slots=True)
class Submission:
    """Plain data; the code of a spider's file travels with it."""

    name: str
    urls: list[str] = field(default_factory=list)
    file: str = ""
    code: str = ""
    module: str = ""
    module_digest: str = ""
    qualname: str = ""
    arguments: dict[str, str] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    label: str = ""
    """The name of the job, if it is to have one."""
    project: str = ""
    """The files of its project, packed, in base64; ``file`` is the spider's among them."""
    sinks: list[SinkSpec] = field(default_factory=list)
    """With their passwords: a submission is only ever said to peers, and never written down."""
    boards: dict[str, str] = field(default_factory=dict)
    """The texts of its boards by their names, where it has several; ``code`` is that of the first."""

    def plain(self) -> dict[str, Any]:
        """Returns it as JSON can hold it, with the passwords of its sinks."""
        held = {name: getattr(self, name) for name in self.__slots__ if name != "boards" or self.boards}
        return {**held, "sinks": [asdict(sink) for sink in self.sinks]}

    @classmethod
    def read(cls, data: dict[str, Any]) -> Submission:
        """Raises ConfigurationError for what is none, or whose settings cannot work."""
        unknown = set(data) - set(cls.__slots__)
        if unknown:
            raise ConfigurationError(f"a submission has no field {sorted(unknown)[0]!r}")
        kinds = {"urls": list, "arguments": dict, "settings": dict, "sinks": list, "boards": dict}
        for name, value in data.items():
            if not isinstance(value, kinds.get(name, str)):
                raise ConfigurationError(f"field {name!r} of a submission must be a {kinds.get(name, str).__name__}")
        for name in ("urls", "arguments", "boards"):
            held = data.get(name, ())
            if not all(isinstance(each, str) for each in (held.values() if isinstance(held, dict) else held)):
                raise ConfigurationError(f"field {name!r} of a submission holds texts only")
        if not data.get("name") or not any(data.get(name) for name in ("urls", "code", "module", "project")):
            raise ConfigurationError("a submission names a spider: urls, code, project or module")
        if len(data["name"]) > NAME_MAX:
            raise ConfigurationError(f"the name of a spider has at most {NAME_MAX} characters")
        if data.get("code") and (
            not _FILE.fullmatch(data.get("file", "")) or len(data["code"].encode(errors="surrogatepass")) > CODE_MAX
        ):
            raise ConfigurationError(
                f"the code of a submission is a .py or .toml file of at most {CODE_MAX} bytes, and named so"
            )
        if data.get("project") and data.get("file") not in unpack_files(_packed(data["project"])):
            raise ConfigurationError("the file of a submission is one of its project")
        if data.get("label"):
            check_label(data["label"])
        for url in data.get("urls", ()):
            checked_url(url)
        _check_texts(data.get("boards", {}))
        if Settings().updated(data.get("settings", {})).feeds:
            raise ConfigurationError("FEEDS are read where a job is submitted: name its outputs as the field 'sinks'")
        return cls(**{**data, "sinks": _sinks_of(data.get("sinks", []))})

    def spec(self) -> JobSpec:
        """Returns the job, before it has a number."""
        from p2pcrawl.model.crawl.job import JobId

        ref = SpiderRef(self.file, self.module, self.qualname, tuple(self.urls))
        return JobSpec(
            JobId(0),
            self.name,
            ref,
            dict(self.arguments),
            dict(self.settings),
            (),
            self.code,
            self.module_digest,
            tuple(SinkSpec(sink.url, sink.options) for sink in self.sinks),
            label=self.label,
            project=_packed(self.project),
            boards=_versions(self.boards),
        )


async def check_code(submission: Submission) -> None:
    """Raises ConfigurationError, with the line, for a spider's file that does not compile. What it imports and does is
    tried by nobody but slaves.
    """
    if not submission.file.endswith(".py"):
        return
    files = unpack_files(_packed(submission.project)) if submission.project else {}
    code = files.get(submission.file, submission.code.encode(errors="surrogatepass"))
    if code:
        # Of the 4 MB that it may have it takes seconds.
        await asyncio.to_thread(_compiled, code, submission.file)


def _compiled(code: bytes, file: str) -> None:
    try:
        compile(code, file, "exec", dont_inherit=True)
    except SyntaxError as error:
        raise ConfigurationError(f"{file}, line {error.lineno or 0}: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise ConfigurationError(f"{file} cannot be compiled: {str(error) or type(error).__name__}") from None


def urls_of(arguments: Mapping[str, Any]) -> list[str]:
    """Reads the URLs of a call that puts some into a job, normalised. Raises ConfigurationError, naming the one."""
    urls = arguments.get("urls")
    if not isinstance(urls, list) or not urls:
        raise ConfigurationError("name the URLs that are to be put into the job, as a list: urls")
    return [checked_url(url) for url in urls]


def changes_of(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Reads the settings of a call that changes some. Raises ConfigurationError."""
    settings = arguments.get("settings")
    if not isinstance(settings, dict):
        raise ConfigurationError("name the settings that are to be changed, with their values: settings")
    return settings


def flag_of(arguments: Mapping[str, Any], name: str) -> bool:
    """Reads what a call may ask for besides, if it does. Raises ConfigurationError for what is neither true nor false:
    the text ``false`` would count as true.
    """
    value = arguments.get(name, False)
    if not isinstance(value, bool):
        raise ConfigurationError(f"{name} is true or false in the JSON of the call's body, not {value!r:.80}")
    return value


def _check_texts(texts: Mapping[str, str]) -> None:
    """Raises ConfigurationError for boards that cannot be in one job."""
    if texts:
        check_boards(_versions(texts))
        shared_settings([read_named(name, text) for name, text in texts.items()])


def _versions(texts: Mapping[str, str]) -> dict[str, JobBoard]:
    return {name: JobBoard(FROM_START, text) for name, text in sorted(texts.items())}


def _packed(project: str) -> bytes:
    try:
        return b64decode(project, validate=True)
    except ValueError as error:
        raise ConfigurationError(f"the project of a submission is not in base64: {error}") from None


def _sinks_of(data: list[Any]) -> list[SinkSpec]:
    try:
        sinks = msgspec.convert(data, list[SinkSpec])
    except msgspec.ValidationError as error:
        # It names the field and the types, and nothing that was in them.
        raise ConfigurationError(f"the outputs of a submission cannot be read: {error}") from None
    if local := [sink.url for sink in sinks if is_local(sink.url)]:
        raise ConfigurationError(local_refusal(local[0]))
    if any(shows_password(sink.url) for sink in sinks):
        raise ConfigurationError("the password of an output is told as its secret, not in its address")
    return sinks


def local_refusal(path: str) -> str:
    """Says why the masters of a cluster write into no file of one machine, and what to type instead."""
    stay = "" if scheme_of(path) else f"stay with --wait -o {path}, or "
    return (
        f"{path} is a file, and the masters of a cluster write into no file: {stay}fetch the "
        f"items later with `p2pcrawl results JOB -o {path}`"
    )


def submission_asked_for(
    target: type[Spider] | str,
    settings: Mapping[str, Any] | None,
    arguments: Mapping[str, str] | None,
    output: str | Sequence[str],
    name: str,
) -> Submission:
    """Makes a submission as a program asks for it: with the addresses of one sink or several as ``output``."""
    sinks = [read_sink(typed) for typed in ([output] if isinstance(output, str) else output)]
    return submission_of(target, Settings(), dict(settings or {}), dict(arguments or {}), sinks, name)


def submission_of(
    target: type[Spider] | str | Sequence[str],
    base: Settings | RankedSettings,
    overrides: dict[str, Any],
    arguments: dict[str, str],
    sinks: Sequence[SinkSpec] = (),
    label: str = "",
) -> Submission:
    """Makes a submission from what a user gives, with a ``label`` if the job is to be called so;
    ``sinks`` take the place of the spider's own FEEDS. Raises ConfigurationError, one line, for what cannot work.
    """
    texts: dict[str, str] = {}
    if isinstance(target, str):
        ref = parse_target(target)
        cls = load_spider(ref)
    elif not isinstance(target, type):
        ref, cls, texts = boards_together(target)
    else:
        found = reference_of(target)
        if found is None:
            raise ConfigurationError(
                f"spider {target.__name__} cannot be found by other processes: define it at the top of a module"
            )
        ref, cls = found, target
    settings = merged_settings(base, cls, overrides)
    own_feeds = all(name.lower() != "feeds" for name in overrides)
    if settings.feeds and not (sinks and own_feeds):
        sinks = [*sinks, *_feeds_of(settings.feeds, str(cls.name), arguments)]
    settings = replace(settings, feeds={}, scrapy_names=settings.scrapy_names or scrapy_names_installed())
    settings = try_spider(cls, arguments, settings)
    travels = travelling_spider(ref, settings.differences())
    return Submission(
        str(cls.name),
        list(ref.urls),
        travels.file,
        travels.code,
        travels.module,
        module_digest(travels.module) if travels.module else "",
        ref.qualname,
        arguments,
        travels.settings,
        label,
        b64encode(travels.packed).decode(),
        list(sinks),
        texts,
    )


def _feeds_of(feeds: Mapping[str, Any], spider: str, arguments: Mapping[str, str]) -> list[SinkSpec]:
    found = feed_sinks(feeds, spider, arguments, datetime.now(UTC))
    if local := [sink.url for sink in found if is_local(sink.url)]:
        raise ConfigurationError(f"FEEDS: {local_refusal(local[0])}; -s FEEDS={{}} leaves the spider's feeds out")
    return found


def module_digest(name: str) -> str:
    """Returns the digest of a module's source as this process would import it; "" when it cannot be found."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return ""
    if spec is None or not spec.origin:
        return ""
    try:
        return hashlib.sha256(Path(spec.origin).read_bytes()).hexdigest()
    except OSError:
        return ""
