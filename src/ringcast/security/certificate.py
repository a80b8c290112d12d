"""A member's own certificate: for whom it is, and that nobody else can read its private key."""

from __future__ import annotations

import os
from pathlib import Path

from ringcast.errors import ConfigError
from ringcast.security.key_file import check_owner


def names_in(certificate: Path) -> tuple[str, ...]:
    """The alternative names of hosts; the common name only of a certificate without alternative names."""
    from cryptography import x509

    try:
        found = x509.load_pem_x509_certificate(certificate.read_bytes())
    except OSError as error:
        raise ConfigError(f"cannot read the certificate {certificate}: {error.strerror or error}") from None
    except ValueError:
        raise ConfigError(f"{certificate} is not a certificate in PEM form") from None
    try:
        extension = found.extensions.get_extension_for_class(x509.SubjectAlternativeName)
        return tuple(dict.fromkeys(extension.value.get_values_for_type(x509.DNSName)))
    except x509.ExtensionNotFound:
        pass
    common = [str(part.value) for part in found.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)]
    return tuple(dict.fromkeys(common))


def check_private_key(path: Path) -> None:
    """ConfigError if others can read it."""
    try:
        check_owner(path, os.stat(path))
    except OSError as error:
        raise ConfigError(f"cannot read the private key {path}: {error.strerror or error}") from None
