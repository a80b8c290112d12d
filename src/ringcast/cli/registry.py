"""Which subcommands there are: name -> (module, one line of help). Those whose module is not there are not listed."""

from importlib.util import find_spec


def _present(commands: dict[str, tuple[str, str]]) -> dict[str, tuple[str, str]]:
    return {name: entry for name, entry in commands.items() if find_spec(entry[0]) is not None}


COMMANDS: dict[str, tuple[str, str]] = _present(
    {
        "demo": ("ringcast.cli.demo", "A tour: a group of real processes, told in words and judged."),
        "node": ("ringcast.cli.node", "Be a member of a group from the shell."),
        "key": ("ringcast.cli.key", "Make and change the key that a group's members share."),
        "simulate": ("ringcast.cli.simulate", "Run simulated groups under faults and judge them."),
        "check": ("ringcast.cli.check", "Judge recordings: did every guarantee hold?"),
        "page": ("ringcast.cli.page", "Look at a group in a browser: real, simulated or recorded."),
        "report": ("ringcast.cli.report", "One self-contained page about a run."),
        "tables": ("ringcast.cli.tables", "What the tables of check --tables hold."),
        "pack": ("ringcast.cli.pack", "This package as a zip for the workers of a Spark cluster."),
        "trace": ("ringcast.cli.trace", "Look into recordings: ls, head, stats, export."),
        "bench": ("ringcast.cli.bench", "Measure: multicast, latency, bus, order, pipeline."),
        "status": ("ringcast.cli.status", "What a running member knows: members, windows, rates."),
        "explain": ("ringcast.cli.explain", "Why something waits, and who is missing, in words."),
        "top": ("ringcast.cli.top", "Watch the members on this machine, live."),
    }
)

BENCH: dict[str, tuple[str, str]] = _present(
    {
        "multicast": ("ringcast.cli.bench_multicast", "Messages per second to each receiver."),
        "latency": ("ringcast.cli.bench_latency", "Time from send to delivery at a given rate."),
        "bus": ("ringcast.cli.bench_bus", "Messages per second on the shared-memory bus."),
        "order": ("ringcast.cli.bench_order", "Messages per second in total order."),
        "recorder": ("ringcast.cli.bench_recorder", "What recording costs at full multicast speed."),
        "pipeline": ("ringcast.cli.bench_pipeline", "Deliveries judged per second, rule by rule."),
    }
)
