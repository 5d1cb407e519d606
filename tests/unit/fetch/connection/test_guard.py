"""The guard's verdict on addresses, in every spelling."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from p2pcrawl.fetch.connection.guard import Blocked, Networks, is_private, opened_by

PUBLIC = ["8.8.8.8", "93.184.216.34", "2606:4700:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1"]
PRIVATE = {
    "127.0.0.1": "127.0.0.1",
    "127.255.255.254": "127.255.255.254",
    "::1": "::1",
    "10.1.2.3": "10.1.2.3",
    "172.16.0.1": "172.16.0.1",
    "172.31.255.255": "172.31.255.255",
    "192.168.1.1": "192.168.1.1",
    "fd12:3456::1": "fd12:3456::1",
    "::ffff:127.0.0.1": "127.0.0.1",
    "::ffff:7f00:1": "127.0.0.1",
    "64:ff9b::10.0.0.1": "10.0.0.1",
    "2002:c0a8:101::1": "192.168.1.1",
    "::127.0.0.1": "127.0.0.1",
}
NEVER = [
    "169.254.169.254",
    "169.254.1.1",
    "100.100.100.200",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "224.0.0.1",
    "239.255.255.255",
    "ff02::1",
    "0.0.0.0",
    "0.1.2.3",
    "::",
    "255.255.255.255",
    "240.0.0.1",
    "192.0.2.1",
    "198.18.0.1",
    "2001:db8::1",
    "2001::1",
    "64:ff9b:1::1",
    "100::1",
    "4000::1",
    "::ffff:169.254.169.254",
    "64:ff9b::169.254.169.254",
    "2002:a9fe:a9fe::",
    "::169.254.169.254",
]


@pytest.mark.parametrize("ip", PUBLIC)
def test_public_addresses_pass_and_open_nothing(ip):
    Networks().check(ip)

    assert opened_by(url_of(ip)) == "" and not is_private(ip)


@pytest.mark.parametrize(("ip", "host"), PRIVATE.items())
def test_a_private_address_passes_where_a_start_url_names_it(ip, host):
    networks = Networks()

    with pytest.raises(Blocked):
        networks.check(ip)
    assert opened_by(url_of(ip)) == host and is_private(ip)

    networks.open(host)
    networks.check(ip)


@pytest.mark.parametrize("ip", NEVER)
def test_some_addresses_pass_for_nobody(ip):
    networks = Networks([ip], ["0.0.0.0/0", "::/0"])

    for each in (networks, Networks([ip], True)):
        with pytest.raises(Blocked):
            each.check(ip)
    assert opened_by(url_of(ip)) == ""


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://127.0.0.1:8000/a", "127.0.0.1"),
        ("https://user:word@127.0.0.1/", "127.0.0.1"),
        ("http://127.1/", "127.0.0.1"),
        ("http://2130706433/", "127.0.0.1"),
        ("http://0x7f.1/", "127.0.0.1"),
        ("http://0177.0.0.1/", "127.0.0.1"),
        ("http://127.0.0.1./", "127.0.0.1"),
        ("http://[::ffff:7f00:1]/", "127.0.0.1"),
        ("http://[::1]:8000/", "::1"),
        ("http://LOCALHOST./", "localhost"),
        ("http://shop.localhost:81/", "shop.localhost"),
        ("http://localhost.evil.example/", ""),
        ("http://127.0.0.1.evil.example/", ""),
        ("http://notlocalhost/", ""),
        ("http://intranet/", ""),
        ("http://8.8.8.8/", ""),
        ("http://169.254.169.254/", ""),
        ("http://100.64.0.1/", ""),
        ("http://0.0.0.0/", ""),
        ("p2pcrawl://start.localhost/7", ""),
    ],
)
def test_what_a_start_url_opens_is_read_from_it_alone(url, host):
    assert opened_by(url) == host


def test_a_name_opens_nothing_by_what_it_resolves_to():
    """Whoever answers for a name must not let the crawl in, not even to what the user's start URLs have opened."""
    networks = Networks(["127.0.0.1", "10.0.0.5"])

    for ip in ("127.0.0.1", "10.0.0.5", "10.0.0.6"):
        with pytest.raises(Blocked, match=r"evil\.example leads to"):
            networks.check(ip, host="evil.example")


def test_a_start_url_opens_its_own_host_and_no_neighbour():
    networks = Networks(["10.1.2.3", "127.0.0.1", "shop.localhost"])

    networks.check("10.1.2.3", host="10.1.2.3", port=8080)
    networks.check("127.0.0.1", host="127.1")
    networks.check("127.0.0.1", host="Shop.localhost.")
    for ip, host in [
        ("10.1.2.4", "10.1.2.4"),
        ("127.0.0.2", "127.0.0.2"),
        ("::1", "::1"),
        ("127.0.0.1", "localhost"),
        ("127.0.0.1", "admin.localhost"),
        ("fd00::1", "fd00::1"),
    ]:
        with pytest.raises(Blocked):
            networks.check(ip, host=host)


def test_a_name_of_this_machine_leads_nowhere_else():
    networks = Networks(["localhost"])

    networks.check("127.0.0.1", host="localhost")
    networks.check("::1", host="localhost")
    for ip in ("10.0.0.1", "192.168.0.1", "fd00::1"):
        with pytest.raises(Blocked):
            networks.check(ip, host="localhost")


def test_the_user_allows_names_addresses_and_networks():
    networks = Networks((), ["intranet.example", "*.corp.example", "10.0.0.7", "192.168.0.0/16", "fd00::/8"])

    networks.check("10.9.9.9", host="intranet.example")
    networks.check("127.0.0.1", host="wiki.corp.example")
    networks.check("10.0.0.7", host="anything.example")
    networks.check("192.168.3.4")
    networks.check("fd00::1")
    for ip, host in [
        ("10.9.9.9", "corp.example"),
        ("10.9.9.9", "sub.intranet.example"),
        ("10.0.0.8", "10.0.0.8"),
        ("100.64.0.1", "intranet.example"),
        ("169.254.169.254", "intranet.example"),
    ]:
        with pytest.raises(Blocked):
            networks.check(ip, host=host)


def test_shared_addresses_are_opened_by_the_user_only():
    with pytest.raises(Blocked):
        Networks(["100.64.0.1"]).check("100.64.0.1")

    Networks((), True).check("100.64.0.1")
    Networks((), ["100.64.0.0/10"]).check("100.64.0.1")


@pytest.mark.parametrize("ip", ["127.0.0.1", "127.9.9.9", "::ffff:127.0.0.1", "::1"])
@pytest.mark.parametrize("bound", ["127.0.0.1", "0.0.0.0", "::1", "::"])
def test_a_peers_port_is_closed_on_every_loopback_address(ip, bound):
    networks = Networks([], True, closed={(bound, 8000)})

    with pytest.raises(Blocked, match="peer"):
        networks.check(ip, port=8000)
    networks.check(ip, port=8001)


def test_a_peers_public_port_is_closed_there_only():
    networks = Networks(closed={("8.8.8.8", 8000)})

    with pytest.raises(Blocked):
        networks.check("::ffff:8.8.8.8", port=8000)
    networks.check("8.8.4.4", port=8000)


def test_ports_of_peers_are_as_they_were_told_last():
    networks = Networks([], True, closed={("127.0.0.1", 8000)})

    networks.close({("127.0.0.1", 8001)})

    networks.check("127.0.0.1", port=8000)
    with pytest.raises(Blocked):
        networks.check("127.0.0.1", port=8001)


@pytest.mark.parametrize("text", ["", "localhost", "1.2.3", "2130706433", "1.2.3.4.5", "::g"])
def test_what_is_no_address_is_refused(text):
    with pytest.raises(Blocked):
        Networks((), True).check(text)


def url_of(ip: str) -> str:
    return f"http://[{ip}]/" if ":" in ip else f"http://{ip}/"


@given(st.ip_addresses(v=4))
def test_ipv6_spellings_are_judged_as_the_ipv4_address_inside(address: IPv4Address):
    networks = Networks((), ["127.0.0.0/8"])
    number = int(address)
    spellings = [
        IPv6Address((0xFFFF << 32) | number),
        IPv6Address((0x64FF9B << 96) | number),
        IPv6Address((0x2002 << 112) | (number << 80)),
    ]

    def verdict(ip: str) -> bool:
        try:
            networks.check(ip)
        except Blocked:
            return False
        return True

    assert {verdict(str(spelling)) for spelling in spellings} == {verdict(str(address))}


@given(st.ip_addresses())
def test_no_address_is_public_that_the_standard_library_calls_private(address):
    try:
        Networks().check(str(address))
    except Blocked:
        return
    inner = getattr(address, "ipv4_mapped", None) or getattr(address, "sixtofour", None)
    if inner is None and address.version == 6 and int(address) >> 32 == 0x64FF9B << 64:
        inner = IPv4Address(int(address) & 0xFFFFFFFF)
    judged = inner or address
    assert judged.is_global
    assert not judged.is_multicast
