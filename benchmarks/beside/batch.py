"""`bench multicast`'s single or batch form of either checkout; run by ../beside_commit.py."""

from __future__ import annotations

import asyncio
import json
import sys

from ringcast.bench.multicast import Shape, measure

form, senders, size, seconds, way, record = json.loads(sys.argv[1])
transport = "tcp" if way == "tcp" else "udp"
shape = Shape(4, senders, size, seconds, transport, ip_multicast=way == "udp", record=record)
print(json.dumps(asyncio.run(measure(shape, form))), flush=True)
