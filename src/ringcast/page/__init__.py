"""The live page: a real group, a simulated one or a recording, drawn in a browser.

One pure fold from trace events to what is drawn (`Scene`), one shape for the three sources, a small ASGI app around it.
The page draws and computes nothing. It changes nothing in a real group.
"""

from ringcast.page.live import Live
from ringcast.page.recorded import Recorded
from ringcast.page.scene import Scene
from ringcast.page.serving import serve
from ringcast.page.simulated import Simulated
from ringcast.page.source import Source

__all__ = ["Live", "Recorded", "Scene", "Simulated", "Source", "serve"]
