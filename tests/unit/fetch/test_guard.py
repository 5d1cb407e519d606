"""The guard's verdict on addresses, in every spelling."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from p2pcrawl.fetch.guard import Blocked, Networks

PUBLIC = ["8.8.8.8", "93.184.216.34", "2606:4700:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1"]
PRIVATE = {
    "127.0.0.1": "127.0.0.0/8",
    "127.255.255.254": "127.0.0.0/8",
    "::1": "::1/128",
    "10.1.2.3": "10.0.0.0/8",
    "172.16.0.1": "172.16.0.0/12",
    "172.31.255.255": "172.16.0.0/12",
    "192.168.1.1": "192.168.0.0/16",
    "fd12:3456::1": "fc00::/7",
    "::ffff:127.0.0.1": "127.0.0.0/8",
    "::ffff:7f00:1": "127.0.0.0/8",
    "64:ff9b::10.0.0.1": "10.0.0.0/8",
    "2002:c0a8:101::1": "192.168.0.0/16",
    "::127.0.0.1": "127.0.0.0/8",
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

    assert Networks().opened_by(ip) is None


@pytest.mark.parametrize(("ip", "network"), PRIVATE.items())
def test_private_addresses_pass_for_a_seed_which_opens_their_network(ip, network):
    networks = Networks()

    with pytest.raises(Blocked):
        networks.check(ip)
    networks.check(ip, seed=True)
    assert networks.opened_by(ip) == network

    networks.open(network)
    networks.check(ip)


@pytest.mark.parametrize("ip", NEVER)
def test_some_addresses_pass_for_nobody(ip):
    networks = Networks(["0.0.0.0/0", "::/0"], allow_private=True)

    with pytest.raises(Blocked):
        networks.check(ip, seed=True)
    assert networks.opened_by(ip) is None


def test_a_network_that_a_seed_opened_opens_no_other():
    networks = Networks(["127.0.0.0/8"])

    for ip in ("10.0.0.1", "192.168.0.1", "::1", "fd00::1"):
        with pytest.raises(Blocked):
            networks.check(ip)


def test_shared_addresses_are_opened_by_the_user_only():
    with pytest.raises(Blocked):
        Networks().check("100.64.0.1", seed=True)
    assert Networks().opened_by("100.64.0.1") is None

    Networks(allow_private=True).check("100.64.0.1")
    Networks(["100.64.0.0/10"]).check("100.64.0.1")


@pytest.mark.parametrize("ip", ["127.0.0.1", "127.9.9.9", "::ffff:127.0.0.1", "::1"])
def test_a_peers_own_port_is_closed_on_every_loopback_address(ip):
    networks = Networks(allow_private=True, closed={("127.0.0.1", 8000)})

    with pytest.raises(Blocked, match="peer"):
        networks.check(ip, seed=True, port=8000)
    networks.check(ip, port=8001)


def test_a_peers_public_port_is_closed_there_only():
    networks = Networks(closed={("8.8.8.8", 8000)})

    with pytest.raises(Blocked):
        networks.check("::ffff:8.8.8.8", port=8000)
    networks.check("8.8.4.4", port=8000)


@pytest.mark.parametrize("text", ["", "localhost", "1.2.3", "2130706433", "1.2.3.4.5", "::g"])
def test_what_is_no_address_is_refused(text):
    with pytest.raises(Blocked):
        Networks(allow_private=True).check(text, seed=True)


@given(st.ip_addresses(v=4))
def test_ipv6_spellings_are_judged_as_the_ipv4_address_inside(address: IPv4Address):
    networks = Networks(["127.0.0.0/8"])
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
