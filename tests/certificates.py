"""Throw-away certificates, for tests."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID

from p2pcrawl.overlay.tls import TlsFiles


class Authority:
    """A CA whose files are in ``folder``: ``ca.pem``, and what it issues."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.file = folder / "ca.pem"
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _named(f"CA {os.urandom(4).hex()}")
        authority = x509.BasicConstraints(ca=True, path_length=None)
        made = _builder(self._name, self._name, self._key, days=1).add_extension(authority, critical=True)
        self.file.write_bytes(made.sign(self._key, hashes.SHA256()).public_bytes(Encoding.PEM))

    def files(
        self,
        name: str = "peer",
        *,
        days: float = 1,
        password: bytes = b"",
        only_for: x509.ObjectIdentifier | None = None,
    ) -> TlsFiles:
        """A peer's files; with ``days`` below 0 the certificate has expired. ``only_for`` is its extended key usage."""
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _builder(_named(name), self._name, key, days)
        if only_for is not None:
            builder = builder.add_extension(x509.ExtendedKeyUsage([only_for]), critical=False)
        cert = builder.sign(self._key, hashes.SHA256())
        lock: KeySerializationEncryption = BestAvailableEncryption(password) if password else NoEncryption()
        files = TlsFiles(self.folder / f"{name}.pem", self.folder / f"{name}.key", self.file)
        files.cert.write_bytes(cert.public_bytes(Encoding.PEM))
        files.key.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, lock))
        files.key.chmod(0o600)
        return files


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, days: float
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=10))
        .not_valid_after(now + timedelta(days=days))
    )
