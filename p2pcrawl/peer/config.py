"""The configuration of a peer: what it is told when it is started, checked and completed."""

from __future__ import annotations

import ipaddress
import logging
import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from p2pcrawl.model.choosing.signature_form import AGENT_FORM, is_agent
from p2pcrawl.model.cluster.node import API_PORT, DEFAULT_PORT, WEIGHT_MAX, Address, format_address, parse_address
from p2pcrawl.model.cluster.placement import GroupPlacement, RingName
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.model.timings import TIMINGS
from p2pcrawl.overlay.tls import TlsContexts, TlsFiles
from p2pcrawl.private.secrets import make_secret, read_secret
from p2pcrawl.stores.warc.place import WarcPlace
from p2pcrawl.wire.sealed.keys import DEFAULT_CLUSTER, KEY_FILE_MAX, KEY_VARIABLE, KeyRing, cluster_bytes, generate_key

log = logging.getLogger(__name__)

KEY_FILE = "cluster.key"
API_PORTS = 20
"""So many ports are tried for the API before any that is free is taken."""
ANY_HOST = {"0.0.0.0", "::"}


class Role(StrEnum):
    """The role that a peer wants."""

    AUTO = "auto"
    """A master while there are too few, else a slave of the least loaded group."""
    MASTER = "master"
    SLAVE = "slave"


class Partition(StrEnum):
    """The choice between going on and being sure, when masters cannot reach each other."""

    AVAILABLE = "available"
    """All parts go on; a host may be asked by one owner in each."""
    MAJORITY = "majority"
    """Only the part with more than half of the masters goes on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerConfig:
    """The configuration of a peer. :meth:`resolved` fills in what was left out."""

    bind: str = ""
    """HOST:PORT to listen on, UDP and TCP. Empty: loopback, or the address that routes to ``join``."""
    advertise: str = ""
    """HOST:PORT that others reach this peer at, if it is not what it binds to."""
    join: tuple[str, ...] = ()
    api: str = ""
    """HOST:PORT of the HTTP API. Empty: loopback, and the port that it had last, 7180, or the next one that is free."""
    data: Path | None = None
    slaves: int | None = None
    role: Role = Role.AUTO
    masters: int = 3
    """``auto`` peers become masters while fewer than this live."""
    copies: int = 2
    partition: Partition = Partition.AVAILABLE
    """What the smaller part of a divided cluster does."""
    weight: int = 1
    """Capacity in coarse steps, 1 to 16; the share of the ring follows it."""
    ring: RingName = RingName.RENDEZVOUS
    """How the masters share out what there is to crawl. All peers of a cluster have the same."""
    placement: GroupPlacement = GroupPlacement.BOUNDED
    """Which slave of its group this peer gives a host to, as a master."""
    cluster: str = DEFAULT_CLUSTER
    key_file: Path | None = None
    warc: WarcPlace | None = None
    """Where the raw pages are kept that this peer's slaves fetch."""
    bot_keys: tuple[Path, ...] = ()
    """Keys that requests are signed with, whose directory the API serves."""
    bot_agent: str = ""
    """The origin at which that directory is reached from outside, as https://bot.example."""
    tls_cert: Path | None = None
    """This peer's certificate, for TLS on all links; together with ``tls_key`` and ``tls_ca``."""
    tls_key: Path | None = None
    tls_ca: Path | None = None
    tls: TlsContexts | None = None
    """Ready-made contexts instead of the three files, for a master."""

    def validate(self) -> None:
        """Raises ConfigurationError for what cannot work, the times that this program goes by among it."""
        TIMINGS.validate()
        self._check_name()
        self._check_addresses()
        self._check_part()
        self._check_tls()
        if bool(self.bot_keys) != bool(self.bot_agent):
            raise ConfigurationError("--bot-key and --bot-agent, where its directory is reached, need each other")
        if self.bot_agent and not is_agent(self.bot_agent):
            raise ConfigurationError(f"--bot-agent is {AGENT_FORM}, not {self.bot_agent!r}")

    def _check_name(self) -> None:
        try:
            cluster_bytes(self.realm)
        except ValueError as error:
            raise ConfigurationError(str(error)) from error
        if any(self.cluster.endswith(_of_ring(ring)) for ring in RingName):
            raise ConfigurationError(f"choose the ring with --ring, not by the cluster's name: {self.cluster!r}")
        if self.cluster.endswith(_OF_MAJORITY):
            raise ConfigurationError(f"say --partition majority, not by the cluster's name: {self.cluster!r}")

    def _check_addresses(self) -> None:
        for address in (*self.join, *([self.advertise] if self.advertise else [])):
            parse_address(address, DEFAULT_PORT)
        for address in (self.bind, self.api):
            if address:
                _bound(address)

    def _check_part(self) -> None:
        if not 1 <= self.weight <= WEIGHT_MAX:
            raise ConfigurationError(f"a peer's weight is 1 to {WEIGHT_MAX}, not {self.weight}")
        if self.weight != 1 and not self.ring.weighted:
            raise ConfigurationError(f"--ring {self.ring} knows no weights: leave out --weight {self.weight}")
        if self.slaves is not None and self.slaves < 0:
            raise ConfigurationError(f"the number of slaves must not be negative: {self.slaves}")
        if self.role is Role.SLAVE and not self.join:
            raise ConfigurationError("a slave needs a master: give --join host:port")
        if self.masters < 1 or self.copies < 1:
            raise ConfigurationError("masters and copies must be at least 1")

    def _check_tls(self) -> None:
        files = {"--tls-cert": self.tls_cert, "--tls-key": self.tls_key, "--tls-ca": self.tls_ca}
        missing = [option for option, path in files.items() if path is None]
        if missing and len(missing) < len(files):
            raise ConfigurationError(f"TLS needs --tls-cert, --tls-key and --tls-ca: add {' and '.join(missing)}")
        if self.tls is not None and self.tls_files is not None:
            raise ConfigurationError("give TLS either as contexts or as files")
        if self.tls is not None and self.role is not Role.MASTER:
            raise ConfigurationError(
                "TLS contexts cannot be handed to slave processes of another master: give tls_cert, tls_key and tls_ca "
                "instead, or role='master'"
            )

    @property
    def realm(self) -> str:
        """The cluster's name as it is bound into everything sealed.

        It tells the ring, and what the smaller part of a divided cluster does, where these are not the default: two who
        would not agree on owners, or on who may grant, are of different clusters.
        """
        ring = "" if self.ring is RingName.RENDEZVOUS else _of_ring(self.ring)
        return self.cluster + ring + (_OF_MAJORITY if self.partition is Partition.MAJORITY else "")

    def listen_on(self) -> tuple[str, int]:
        """Returns where to bind: as told, else loopback, else the address of ours that routes to whom we join."""
        if self.bind:
            return _bound(self.bind)
        hosts = [parse_address(address, DEFAULT_PORT)[0] for address in self.join]
        far = [host for host in hosts if not is_loopback(host)]
        return (_route_to(far[0]) if far else "127.0.0.1"), DEFAULT_PORT

    def reached_at(self) -> Address | None:
        """Returns where others reach this peer, with an IP address in place of a name; None: where it is bound."""
        if not self.advertise:
            return None
        host, port = parse_address(self.advertise, DEFAULT_PORT)
        found = _addresses_of(host)
        if not found or host in ANY_HOST:
            raise ConfigurationError(f"--advertise {self.advertise} is nowhere that others could reach this peer")
        return format_address(found[0], port)

    def contacts(self) -> list[Address]:
        """Returns the addresses to join through, with IP addresses in place of names; without those that do not
        resolve.
        """
        found = []
        for text in self.join:
            host, port = parse_address(text, DEFAULT_PORT)
            for ip in _addresses_of(host):
                found.append(format_address(ip, port))
        return found

    @property
    def tls_files(self) -> TlsFiles | None:
        if self.tls_cert is None or self.tls_key is None or self.tls_ca is None:
            return None
        return TlsFiles(self.tls_cert, self.tls_key, self.tls_ca)

    def tls_contexts(self) -> TlsContexts | None:
        """Loads the TLS contexts; None without TLS. Raises ConfigurationError for files that cannot be used."""
        return self.tls_files.load() if self.tls_files else self.tls

    def api_on(self, last: int | None = None) -> tuple[str, Sequence[int]]:
        """Returns where the API listens: a host, and the ports that are tried, one after the other. ``last``: the one
        that it had at an earlier start.
        """
        if self.api:
            host, port = _bound(self.api)
            return host, [port]
        return "127.0.0.1", [*([last] if last else []), *range(API_PORT, API_PORT + API_PORTS), 0]


CHOICES: Final[Mapping[str, type[StrEnum]]] = {
    "role": Role,
    "partition": Partition,
    "ring": RingName,
    "placement": GroupPlacement,
}


def chosen(name: str, value: str) -> StrEnum:
    """Reads one of the choices that a field has from text. Raises ConfigurationError naming them all."""
    choices = [choice.value for choice in CHOICES[name]]
    if value not in choices:
        raise ConfigurationError(f"a peer's {name} is {', '.join(choices[:-1])} or {choices[-1]}, not {value!r}")
    return CHOICES[name](value)


def key_ring(config: PeerConfig, *, off_loopback: bool) -> KeyRing:
    """Reads the cluster's keys: from the file that was named, the environment, or the user's config folder.

    On loopback alone a peer may do without: then the user's own key is made, readable by nobody else. Raises
    ConfigurationError naming ``keygen`` where there is no key and must be one.
    """
    text = read_keys(config)
    if text is not None:
        return KeyRing.parse(text)
    if off_loopback:
        raise ConfigurationError(
            "off loopback a cluster needs a key: make one with `p2pcrawl keygen`, copy it to each machine, and "
            f"name it with --key-file or in {KEY_VARIABLE}"
        )
    default = config_folder() / KEY_FILE
    try:
        make_secret(default, f"{generate_key()}\n".encode())
    except OSError as error:
        raise ConfigurationError(f"cannot write the key file {default}: {error.strerror}") from error
    return KeyRing.parse(read_key_file(default))


def read_keys(config: PeerConfig) -> str | None:
    """Reads the text of the cluster's keys from where they are kept; None when there are none anywhere."""
    if config.key_file is None and (text := os.environ.get(KEY_VARIABLE)):
        return text
    try:
        return read_key_file(config.key_file or config_folder() / KEY_FILE)
    except FileNotFoundError as error:
        if config.key_file is None:
            return None
        raise ConfigurationError(f"cannot read the key file {config.key_file}: {error.strerror}") from error


def read_key_file(path: Path) -> str:
    """Reads a file of cluster keys that nobody else can use. Raises FileNotFoundError, ConfigurationError."""
    try:
        content = read_secret(path, "key file", KEY_FILE_MAX, lambda content: _check_keys(content, path), named=True)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise ConfigurationError(f"cannot read the key file {path}: {error.strerror}") from error
    return content.decode()


def _check_keys(content: bytes, path: Path) -> None:
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"the key file {path} is no text") from error
    KeyRing.parse(text)


def config_folder() -> Path:
    base = os.environ.get("XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config") / "p2pcrawl"


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


_OF_MAJORITY = " (majority)"


def _of_ring(ring: RingName) -> str:
    return f" ({ring} ring)"


def _bound(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if port == "0" and host:
        return host.strip("[]"), 0
    return parse_address(text, DEFAULT_PORT)


def _route_to(host: str) -> str:
    """Returns the address of this machine that packets to ``host`` would come from. Nothing is sent."""
    for ip in _addresses_of(host):
        family = socket.AF_INET6 if ":" in ip else socket.AF_INET
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            try:
                probe.connect((ip, 9))
            except OSError:
                continue
            return str(probe.getsockname()[0])
    raise ConfigurationError(f"no route to {host}; give --bind host:port")


def _addresses_of(host: str) -> Sequence[str]:
    try:
        infos = socket.getaddrinfo(host, None, type=socket.SOCK_DGRAM)
    except OSError:
        return []
    return list(dict.fromkeys(str(info[4][0]) for info in infos))
