#!/usr/bin/python3
"""The client of bench/roll.lua that has kazoo, like client.lua.

    kazoo_client.py HOSTS TIMEOUT SECONDS
"""

import logging
import sys
import time

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException
from kazoo.handlers.threading import KazooTimeoutError

TRY = 1  # seconds, of an acquire
PAUSE = 0.05  # seconds

logging.disable(logging.CRITICAL)
client = KazooClient(hosts=sys.argv[1], timeout=float(sys.argv[2]))
client.start(timeout=15)
held = client.Lock("/roll/kazoo-held", "me")
held.acquire(timeout=20)
node = "%s/%s" % ("/roll/kazoo-held", held.node)
other, session = client.Lock("/roll/kazoo", "me"), client.client_id[0]
print("ready", flush=True)

last, gap, count = time.monotonic(), 0.0, 0
over = last + float(sys.argv[3])
while time.monotonic() < over:
    got = False
    try:
        got = other.acquire(timeout=TRY)
    except (KazooException, KazooTimeoutError, RuntimeError):
        other = client.Lock("/roll/kazoo", "me")  # a lock that failed in between is not used again
    gap = max(gap, time.monotonic() - last)
    try:
        if got:
            other.release()
            count, last = count + 1, time.monotonic()
    except (KazooException, KazooTimeoutError):
        other = client.Lock("/roll/kazoo", "me")
    time.sleep(PAUSE)
print("%.2f %d %s %s" % (gap, count, "held" if client.exists(node) else "lost",
                         "same" if client.client_id[0] == session else "another"))
