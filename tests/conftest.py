"""What holds for every test: repeatable examples, and an honest list of what did not run (tests/needs/plugin.py).

RINGCAST_HYPOTHESIS=deep draws new examples, many more of them; the default draws the same ones every time.
"""

import os
import signal

from hypothesis import HealthCheck, settings

pytest_plugins = ("needs.plugin", "pytester")

# No deadline and no health check on speed: how fast the machine is today must not decide a test.
_UNHURRIED = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}

settings.register_profile("repeatable", derandomize=True, database=None, **_UNHURRIED)
settings.register_profile("deep", max_examples=5000, print_blob=True, **_UNHURRIED)
os.environ["RINGCAST_RECORD_CONTENTS"] = "1"  # so that G1 and G5 judge what messages carried
settings.load_profile(os.environ.get("RINGCAST_HYPOTHESIS", "repeatable"))

# A shell starts background jobs with SIGINT ignored, and children inherit that: Ctrl-C is a part of what is tested.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
