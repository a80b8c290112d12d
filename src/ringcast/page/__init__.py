"""The live page: a real group, a simulated one or a recording, drawn in a browser.

One pure fold from trace events to what is drawn (`Scene`), one shape for the three sources, a small ASGI app around it.
The page draws and computes nothing. It changes nothing in a real group.

Names are loaded when they are first used: the report draws with these components and needs no server.
"""

from typing import TYPE_CHECKING

from ringcast._lazy import loader

if TYPE_CHECKING:
    from ringcast.page.assets import asset, joined_modules
    from ringcast.page.clocks import shifts
    from ringcast.page.live import Live
    from ringcast.page.recorded import Recorded
    from ringcast.page.scene import Scene
    from ringcast.page.serving import serve
    from ringcast.page.simulated import Simulated
    from ringcast.page.source import Source

_HOMES = {
    "assets": ("asset", "joined_modules"),
    "clocks": ("shifts",),
    "live": ("Live",),
    "recorded": ("Recorded",),
    "scene": ("Scene",),
    "serving": ("serve",),
    "simulated": ("Simulated",),
    "source": ("Source",),
}

__all__ = [
    "Live",
    "Recorded",
    "Scene",
    "Simulated",
    "Source",
    "asset",
    "joined_modules",
    "serve",
    "shifts",
]

__getattr__ = loader(__name__, _HOMES)
