"""`--discover`: ways to find members, as one text each.

dns://ringcast.default.svc:7001     all addresses of a name (a headless service)
srv://_ringcast._udp.example.org    SRV records
dir:///shared/members               a directory that all can write
multicast://10.0.0.5                UDP multicast, through the interface that has this address
"""

from __future__ import annotations

from ringcast.errors import ConfigError
from ringcast.runtime import DirectoryDiscovery, Discovery, DnsDiscovery, MulticastDiscovery
from ringcast.transport import split_host_port


def discovery_of(text: str) -> Discovery:
    kind, found, rest = text.partition("://")
    if found and rest:
        match kind:
            case "dns":
                return DnsDiscovery(*split_host_port(rest))
            case "srv":
                return DnsDiscovery(rest)
            case "dir":
                return DirectoryDiscovery(rest)
            case "multicast":
                return MulticastDiscovery(interface=rest)
    raise ConfigError(f"--discover {text!r} must be dns://NAME:PORT, srv://NAME, dir://PATH or multicast://INTERFACE")
