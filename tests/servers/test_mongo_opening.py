"""What is said in one line, before anything is fetched, when a collection cannot be written; and when it may pass."""

from __future__ import annotations

import re
import socket

import dns.asyncresolver
import dns.name
import dns.resolver
import dns.rrset
import pytest

from benchmarks.sinks.mongod import PASSWORD, USER, Mongod, free_port
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.stores.sink import SinkAway
from tests.certificates import Authority

from .conftest import mongo_sink, opened, page

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
    pytest.mark.usefixtures("forgotten_sockets"),
]


@pytest.fixture(params=["motor", "pymongo"])
def driver(request):
    return f"driver={request.param}"


async def refusal(sink, kind=ConfigurationError):
    with pytest.raises(kind) as caught:
        await sink.open(None)
    await sink.close()
    said = str(caught.value)
    assert len(said.splitlines()) == 1 and len(said) < 500
    return said


async def test_wrong_password_is_told_with_where_users_are_looked_for(shop, driver):
    wrong = shop.sink(driver, password="p/ss:w@rd")
    elsewhere = mongo_sink(f"mongodb://{USER}@{shop.host}/{shop.name}.books?{driver}", PASSWORD)

    said = await refusal(wrong)
    of_another_database = await refusal(elsewhere)

    assert f"refuses user {USER}: Authentication failed" in said and "p/ss" not in said
    assert f"of database {shop.name} (if of another: ?authSource=admin)" in of_another_database
    assert "p/ss" not in of_another_database and "p%2Fss" not in of_another_database


async def test_user_of_the_database_itself_needs_no_further_word(shop, driver):
    shop.client[shop.name].command("createUser", "ada", pwd="secret", roles=["readWrite"])
    sink = shop.sink(driver, user="ada", password="secret")

    async with opened(sink):
        await sink.write([page(1, {"n": 1})])

    assert len(shop.documents()) == 1


@pytest.mark.parametrize("role", ["read", None])
async def test_user_who_may_not_write_is_told_so_and_leaves_nothing_behind(shop, driver, role):
    roles = [role] if role else []
    shop.client[shop.name].command("createUser", "ada", pwd="secret", roles=roles)

    said = await refusal(shop.sink(driver, user="ada", password="secret"))

    assert "ada may not write there: not authorized on" in said
    assert shop.client[shop.name].list_collection_names() == []


async def test_nobody_is_told_that_a_user_is_wanted(shop, driver):
    said = await refusal(mongo_sink(f"mongodb://{shop.host}/{shop.name}.books?{driver}"))

    assert re.search("nobody may not write there: .*authentication", said)


async def test_user_who_may_write_and_make_no_indexes_is_enough(shop):
    actions = ["find", "insert", "update", "remove"]
    resources = [{"db": shop.name, "collection": name} for name in ("books", "books.visits")]
    privileges = [{"resource": each, "actions": actions} for each in resources]
    shop.client[shop.name].command("createRole", "writer", privileges=privileges, roles=[])
    shop.client[shop.name].command("createUser", "ada", pwd="secret", roles=["writer"])
    sink = shop.sink(user="ada", password="secret")

    async with opened(sink):
        await sink.write([page(1, {"n": 1}), page(2, {"n": 2}, visit=1)])

    assert len(shop.documents()) == 2
    shop.client[shop.name].command("dropRole", "writer")


async def test_view_is_no_collection_to_write(shop):
    shop.client[shop.name].create_collection("books", viewOn="other", pipeline=[])

    said = await refusal(shop.sink())

    assert "view" in said


async def test_unknown_host_is_a_mistake(driver):
    said = await refusal(mongo_sink(f"mongodb://nowhere.invalid/shop.books?{driver}&serverSelectionTimeoutMS=300"))

    assert "there is no host of that name: nowhere.invalid:27017" in said


async def test_server_that_is_not_there_may_come(driver):
    port = free_port()
    sink = mongo_sink(f"mongodb://127.0.0.1:{port}/shop.books?{driver}&serverSelectionTimeoutMS=300")

    said = await refusal(sink, SinkAway)

    assert re.fullmatch(rf"MongoDB at 127.0.0.1:{port}: 127.0.0.1:{port}: \[Errno 111\] Connect.*", said)
    with pytest.raises(SinkAway, match="it is not open"):
        await sink.write([page(1, {"n": 1})])


async def test_set_without_a_primary_may_get_one(can_start_mongod, driver):
    with Mongod("--replSet", "never-initiated") as server:
        url = f"mongodb://{server.host}/shop.books?{driver}&replicaSet=never-initiated&serverSelectionTimeoutMS=300"

        said = await refusal(mongo_sink(url), SinkAway)

    assert server.host in said


async def test_rights_that_are_taken_away_are_waited_for(shop):
    database = shop.client[shop.name]
    database.command("createUser", "ada", pwd="secret", roles=["readWrite"])
    sink = shop.sink(user="ada", password="secret")

    async with opened(sink):
        await sink.write([page(1, {"n": 1})])
        database.command("revokeRolesFromUser", "ada", roles=["readWrite"])
        with pytest.raises(SinkAway, match="not authorized"):
            await sink.write([page(2, {"n": 2})])
        database.command("grantRolesToUser", "ada", roles=["readWrite"])
        await sink.write([page(2, {"n": 2})])

    assert len(shop.documents()) == 2


class FakeNames:
    """A name server that knows one cluster, ``cluster.shop.example``, whose one host is the server of the tests."""

    def __init__(self, port: int) -> None:
        self._port = port

    def resolve(self, name: str, kind: str, **_: object) -> dns.rrset.RRset:
        if kind == "TXT":
            raise dns.resolver.NoAnswer
        if name != "_mongodb._tcp.cluster.shop.example":
            raise dns.resolver.NXDOMAIN(qnames=[dns.name.from_text(name)], responses={})
        return dns.rrset.from_text(name, 60, "IN", kind, f"0 0 {self._port} a.shop.example.")

    async def resolve_later(self, name: str, kind: str, **more: object) -> dns.rrset.RRset:
        return self.resolve(name, kind, **more)


@pytest.fixture
def names(shop, monkeypatch):
    found = FakeNames(int(shop.host.rpartition(":")[2]))
    ask = socket.getaddrinfo
    monkeypatch.setattr(dns.resolver, "resolve", found.resolve)
    monkeypatch.setattr(dns.asyncresolver, "resolve", found.resolve_later)
    monkeypatch.setattr(
        socket,
        "getaddrinfo",
        lambda host, *more, **most: ask({"a.shop.example": "127.0.0.1"}.get(host, host), *more, **most),
    )


async def test_cluster_is_found_by_its_name(shop, names, driver):
    options = f"{driver}&authSource=admin&tls=false"
    sink = mongo_sink(f"mongodb+srv://{USER}@cluster.shop.example/{shop.name}.books?{options}", PASSWORD)

    async with opened(sink):
        await sink.write([page(1, {"n": 1})])

    assert len(shop.documents()) == 1


async def test_cluster_of_an_unknown_name_is_a_mistake(shop, names, driver):
    said = await refusal(mongo_sink(f"mongodb+srv://nowhere.shop.example/{shop.name}.books?{driver}"))

    assert "there is no host of that name" in said


async def test_server_is_reached_over_tls_and_only_if_its_certificate_can_be_trusted(
    can_start_mongod, tmp_path, driver
):
    ours, others = Authority(tmp_path / "ours"), Authority(tmp_path / "others")
    files = ours.files("mongod")
    both = tmp_path / "both.pem"
    both.write_bytes(files.cert.read_bytes() + files.key.read_bytes())
    asked = ("--tlsMode", "preferTLS", "--tlsCertificateKeyFile", both, "--tlsCAFile", ours.file)
    with Mongod(*map(str, asked), "--tlsAllowConnectionsWithoutCertificates") as server:
        options = f"{driver}&tls=true&tlsAllowInvalidHostnames=true&serverSelectionTimeoutMS=500&tlsCAFile="
        sink = mongo_sink(f"mongodb://{server.host}/shop.books?{options}{ours.file}")

        async with opened(sink):
            written = await sink.write([page(1, {"n": 1})])
        said = await refusal(mongo_sink(f"mongodb://{server.host}/shop.books?{options}{others.file}"), SinkAway)

    assert written.refused == ()
    assert "certificate verify failed" in said
