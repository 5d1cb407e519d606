"""What an address of parts means, and what is said about one that cannot work."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pyarrow.dataset
import pyarrow.fs
import pytest

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.stores.kinds import SinkPlace, address_of, make_sink, read_sink
from p2pcrawl.stores.sink import Sink, SinkAway
from tests.servers.file_servers import FakeS3
from tests.unit.stores.parts.test_part_sink import pages


def made(typed: str, **place: str) -> Sink:
    return make_sink(address_of(read_sink(typed)), SinkPlace("books", **place))


def read(folder: Path) -> list[int]:
    table = pyarrow.dataset.dataset(folder, format="parquet").to_table()
    return sorted(table["n"].to_pylist())


async def test_parts_lie_in_the_folder_that_the_address_ends_in(tmp_path: Path) -> None:
    sink = made(f"file://{tmp_path}/shop/items.parquet")
    await sink.open(None)
    await sink.write(pages(range(5)))
    await sink.write(pages(range(5, 7)))
    await sink.finish()

    assert len(list((tmp_path / "shop/items.parquet").glob("part-*.parquet"))) == 2
    assert read(tmp_path / "shop/items.parquet") == list(range(7))


@pytest.mark.slow
async def test_parts_in_a_bucket_are_read_by_others(s3: FakeS3) -> None:
    sink = made(s3.address("shop/items.parquet"), writer="a1")
    position = await sink.open(None)
    await sink.write(pages(range(5)))
    await sink.close()
    again = made(s3.address("shop/items.parquet"), writer="a1")
    await again.open(position)
    await again.write(pages(range(7)))
    await again.finish()

    filesystem = pyarrow.fs.S3FileSystem(
        access_key="k", secret_key="s", endpoint_override=f"127.0.0.1:{s3.port}", scheme="http", region="us-east-1"
    )
    table = pyarrow.dataset.dataset("crawls/shop/items.parquet", filesystem=filesystem, format="parquet").to_table()
    assert sorted(table["n"].to_pylist()) == list(range(7))


@pytest.mark.slow
async def test_bucket_that_is_not_there_is_one_line(s3: FakeS3) -> None:
    sink = made(s3.address("items.jsonl").replace("@crawls/", "@crawl-archive/"))

    with pytest.raises(ConfigurationError, match=r"^s3://crawl-archive/items\.jsonl: there is no such bucket$"):
        await sink.open(None)


@pytest.mark.slow
async def test_parts_on_an_ftp_server_are_there_once(ftp: tuple[int, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    port, folder = ftp
    monkeypatch.setenv("P2PCRAWL_SINK_PASSWORD", "secret")
    sink = made(f"ftp://ada@127.0.0.1:{port}/shop/items.parquet", writer="a1")
    position = await sink.open(None)
    await sink.write(pages(range(5)))
    await sink.close()
    again = made(f"ftp://ada@127.0.0.1:{port}/shop/items.parquet", writer="a1")
    await again.open(position)
    await again.write(pages(range(7)))
    await again.finish()
    await again.close()

    assert read(folder / "shop/items.parquet") == list(range(7))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("user", "password", "said"),
    [
        ("ada", "wrong", "the user or the password is wrong"),
        ("bob", "secret", "the user or the password is wrong"),
        ("eve", "secret", "that cannot be written there"),
    ],
)
async def test_server_that_does_not_let_us_write_is_one_line(
    ftp: tuple[int, Path], user: str, password: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("P2PCRAWL_SINK_PASSWORD", password)
    sink = made(f"ftp://{user}@127.0.0.1:{ftp[0]}/items.jsonl")

    with pytest.raises(ConfigurationError, match=rf"^ftp://127\.0\.0\.1:{ftp[0]}/items\.jsonl: {said}"):
        await sink.open(None)


@pytest.mark.parametrize(
    ("status", "code", "said"),
    [
        (403, "SignatureDoesNotMatch", "the secret key is wrong"),
        (403, "InvalidAccessKeyId", "the access key is unknown there"),
        (403, "AccessDenied", "these keys may not do that there"),
        (301, "PermanentRedirect", "the bucket is in another region: say which by ?region="),
    ],
)
async def test_bucket_that_these_keys_do_not_open_is_one_line(status: int, code: str, said: str) -> None:
    body = f"<Error><Code>{code}</Code><Message>m</Message></Error>".encode()
    answer = b"HTTP/1.1 %d no\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % (status, len(body)) + body

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(ConfigurationError) as told:
            await made(FakeS3(port).address("items.jsonl")).open(None)

    assert str(told.value) == f"s3://crawls/items.jsonl: {said}"


async def test_server_that_cannot_be_reached_is_away() -> None:
    with pytest.raises(SinkAway, match="it cannot be reached"):
        await made("ftp://127.0.0.1:9/items.jsonl").open(None)


async def test_bucket_that_cannot_be_reached_is_away() -> None:
    sink = made("s3://key:secret@crawls/items.jsonl?endpoint=http://127.0.0.1:9&region=us-east-1")

    with pytest.raises(SinkAway, match=r"^s3://crawls/items\.jsonl: it cannot be reached$"):
        await sink.open(None)


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("s3://crawls/items", r"does not say how to name the parts: end it in NAME and \.jsonl"),
        ("s3://crawls/items.xml", r"cannot tell the format of the parts"),
        ("s3://crawls/items.parquet.gz", r"cannot tell the format of the parts"),
        ("s3://crawls/.jsonl", r"does not say how to name the parts"),
        ("s3:///items.jsonl", r"no bucket can be called ''"),
        ("s3://cr awls/items.jsonl", r"no bucket can be called 'cr awls'"),
        ("s3://crawls/items.jsonl?mode=upsert", r"nothing in a part can be replaced"),
        ("s3://crawls/items.jsonl?endpoint=127.0.0.1:9000", r"write the endpoint as http://host:port"),
        ("gs://crawls/items.jsonl?region=here", r"part files there know no option \?region="),
        ("s3://crawls/items.jsonl?colour=red", r"part files there know no option \?colour="),
        ("s3://crawls/items.jsonl?beside=colour", r"beside=colour is not told of an item"),
        ("s3://crawls/items.csv?types=price:money", r"boolean, integer, number, text"),
        ("ftp://host:port/items.jsonl", r"names no server"),
        ("file://server/items.jsonl", r"names another machine"),
    ],
)
def test_address_that_cannot_work_is_refused_with_what_to_do(typed: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        made(typed)


@pytest.mark.parametrize("url", ["s3://crawls/items.jsonl", "gs://crawls/items.jsonl", "az://crawls/items.jsonl"])
def test_every_kind_of_bucket_has_its_sink(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "shop")

    assert made(url).limits.bytes == 16 * 1024 * 1024


def test_store_is_part_of_the_address_that_is_shown() -> None:
    typed = "s3://crawls/items.jsonl?endpoint=http://127.0.0.1:9&beside=url"

    assert read_sink(typed).url == "s3://crawls/items.jsonl?endpoint=http://127.0.0.1:9"


async def test_secret_is_in_no_message() -> None:
    typed = "s3://AKIA:topsecret@crawls/items.jsonl?endpoint=http://127.0.0.1:9&region=us-east-1"

    with pytest.raises(SinkAway) as told:
        await made(typed).open(None)

    assert "topsecret" not in f"{told.value!r} {told.value.__cause__!r} {read_sink(typed)!r}"


async def test_manifest_tells_what_a_part_is(tmp_path: Path) -> None:
    sink = made(f"file://{tmp_path}/items.jsonl")
    await sink.open(None)
    await sink.write(pages(range(5)))

    [path] = (tmp_path / "items.jsonl/_manifests").iterdir()
    [part] = json.loads(path.read_text())["parts"]

    assert part["rows"] == 5
    assert (tmp_path / "items.jsonl" / part["name"]).stat().st_size == part["bytes"]
