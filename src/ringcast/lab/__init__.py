"""Real members as processes under remote control: what the demo, the benchmarks and the integration tests stand on."""

from ringcast.lab import namespace
from ringcast.lab.company import Company
from ringcast.lab.harness import Harness
from ringcast.lab.network import Network
from ringcast.lab.pattern import Pattern
from ringcast.lab.ping import percentiles_us
from ringcast.lab.stage import Puppet, PuppetError, Stage, free_ports
from ringcast.lab.subsets import disagreement
from ringcast.lab.tally import END, Tally
from ringcast.lab.transports import make_transport

__all__ = [
    "END",
    "Company",
    "Harness",
    "Network",
    "Pattern",
    "Puppet",
    "PuppetError",
    "Stage",
    "Tally",
    "disagreement",
    "free_ports",
    "make_transport",
    "namespace",
    "percentiles_us",
]
