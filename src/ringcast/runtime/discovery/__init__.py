"""Where the others might be: static seeds, a shared directory, DNS, UDP multicast, behind one Protocol."""

from ringcast.runtime.discovery.directory import DirectoryDiscovery
from ringcast.runtime.discovery.dns import DnsDiscovery
from ringcast.runtime.discovery.multicast import MulticastDiscovery
from ringcast.runtime.discovery.protocol import Discovery, NoAnswerYet
from ringcast.runtime.discovery.static import StaticDiscovery

__all__ = ["DirectoryDiscovery", "Discovery", "DnsDiscovery", "MulticastDiscovery", "NoAnswerYet", "StaticDiscovery"]
