"""Keys and sealed frames: who does not hold the group's key can neither read, forge nor replay. Knows no network.

`cryptography` does all that is cryptographic; nothing here is a primitive of our own. It is imported when the first
key is used, so a group on loopback without a key does not pay for it.
"""

from ringcast.security.certificate import check_private_key, names_in
from ringcast.security.key_file import KEY_FILE_VARIABLE, KeySource, check_owner, read_keyring, write_keyring
from ringcast.security.keyring import Key, Keyring, new_key
from ringcast.security.seal import NOT_SEALED, OTHER_VERSION, OVERHEAD, REASONS, UNKNOWN_KEY, Seal, is_sealed

__all__ = [
    "KEY_FILE_VARIABLE",
    "NOT_SEALED",
    "OTHER_VERSION",
    "OVERHEAD",
    "REASONS",
    "UNKNOWN_KEY",
    "Key",
    "KeySource",
    "Keyring",
    "Seal",
    "check_owner",
    "check_private_key",
    "is_sealed",
    "names_in",
    "new_key",
    "read_keyring",
    "write_keyring",
]
