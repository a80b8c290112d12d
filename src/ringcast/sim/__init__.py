"""The deterministic world: the same core on a simulated clock and network, with faults of every kind.

A seed replays a run bit for bit. A public test kit: users test their applications against partitions with it.
"""

from ringcast.sim.application import Application
from ringcast.sim.batch import Asked, Sweeper, Task, run_all
from ringcast.sim.clock import Clock, LocalClock
from ringcast.sim.cluster import Cluster
from ringcast.sim.faults import KIND_CUTS, LINK_CHANGES, MEMBER_FAULTS, PARTITIONS, Fault, Paced
from ringcast.sim.frames import FRAME_KINDS, Act, FrameRule, Names, copy, delay, drop, hold, reorder
from ringcast.sim.kept import Kept
from ringcast.sim.loop import VirtualLoop
from ringcast.sim.network import Link, Network
from ringcast.sim.options import ANY, WORKLOADS, Options, draw
from ringcast.sim.planted import KNOWN, hunt, hunt_all, known, plant, refresh
from ringcast.sim.policies import Policy
from ringcast.sim.process import App, MakeApp, Partition, Process
from ringcast.sim.run import Outcome, run_world, simulate
from ringcast.sim.scenario import play, scenario_of
from ringcast.sim.shrink import shrink
from ringcast.sim.stage import Stage
from ringcast.sim.story import in_words, tell
from ringcast.sim.summary import Summary
from ringcast.sim.verdict import Broke, Diverged, Unsettled, Violated, WorldFailed, differences, violations
from ringcast.sim.workload import Load
from ringcast.sim.world import HARNESS, SimulatedWorld, names_of

__all__ = [
    "ANY",
    "FRAME_KINDS",
    "HARNESS",
    "KIND_CUTS",
    "KNOWN",
    "LINK_CHANGES",
    "MEMBER_FAULTS",
    "PARTITIONS",
    "WORKLOADS",
    "Act",
    "App",
    "Application",
    "Asked",
    "Broke",
    "Clock",
    "Cluster",
    "Diverged",
    "Fault",
    "FrameRule",
    "Kept",
    "Link",
    "Load",
    "LocalClock",
    "MakeApp",
    "Names",
    "Network",
    "Options",
    "Outcome",
    "Paced",
    "Partition",
    "Policy",
    "Process",
    "SimulatedWorld",
    "Stage",
    "Summary",
    "Sweeper",
    "Task",
    "Unsettled",
    "Violated",
    "VirtualLoop",
    "WorldFailed",
    "copy",
    "delay",
    "differences",
    "draw",
    "drop",
    "hold",
    "hunt",
    "hunt_all",
    "in_words",
    "known",
    "names_of",
    "plant",
    "play",
    "refresh",
    "reorder",
    "run_all",
    "run_world",
    "scenario_of",
    "shrink",
    "simulate",
    "tell",
    "violations",
]
