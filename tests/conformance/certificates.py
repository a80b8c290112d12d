"""Authorities and certificates for tests, made with the library that the product uses."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec


class Authority:
    """Signs certificates; its files lie in `directory`."""

    def __init__(self, directory: Path, name: str = "authority") -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._directory = directory
        self._signed: dict[str, int] = {}
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        self.path = directory / f"{name}.pem"
        basic = x509.BasicConstraints(ca=True, path_length=None)
        signed = self._begin(self._name, self._key).add_extension(basic, critical=True).sign(self._key, hashes.SHA256())
        self.path.write_bytes(signed.public_bytes(serialization.Encoding.PEM))

    def files_for(self, name: str, common_name: str = "") -> dict[str, str]:
        """What `join` takes: a certificate for this name, its private key, and this authority."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, common_name or name)])
        signed = (
            self._begin(subject, key)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        self._signed[name] = signed.serial_number
        certificate, private = self._directory / f"{name}.crt", self._directory / f"{name}.key"
        certificate.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
        form = serialization.PrivateFormat.PKCS8
        private.write_bytes(key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))
        private.chmod(0o600)
        return {"certificate": str(certificate), "private_key": str(private), "authority": str(self.path)}

    def revoke(self, name: str) -> None:
        """Put the last certificate for this name into the list that stands in the authority's file."""
        now = datetime.now(UTC)
        entry = x509.RevokedCertificateBuilder().serial_number(self._signed[name]).revocation_date(now).build()
        made = x509.CertificateRevocationListBuilder().issuer_name(self._name).last_update(now - timedelta(days=1))
        signed = (
            made.next_update(now + timedelta(days=1)).add_revoked_certificate(entry).sign(self._key, hashes.SHA256())
        )
        with self.path.open("ab") as file:
            file.write(signed.public_bytes(serialization.Encoding.PEM))

    def _begin(self, subject: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=1))
        )
