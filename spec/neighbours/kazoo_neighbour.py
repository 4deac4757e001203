#!/usr/bin/python3
"""kazoo as a neighbour; see neighbour.lua for the commands.

Its locks are those of docs/neighbours.md, whose Python runs here. There are two more kinds:
"stock" is kazoo's own Lock, and "extra" is that Lock with the extra pattern "-lock-".
"""

import re
import sys
import threading

import kazoo
from kazoo.client import KazooClient
from kazoo.exceptions import LockTimeout
from kazoo.recipe.lock import Lock

SESSION_TIMEOUT = 20


def documented_locks():
    """Returns the names that the first block of Python in the documentation defines."""
    with open("docs/neighbours.md") as page:
        source = re.search(r"^```python\n(.*?)^```", page.read(), re.M | re.S).group(1)
    names = {}
    exec(compile(source, "docs/neighbours.md", "exec"), names)
    return names


LOCKS = documented_locks()


def make_lock(client, kind, path, identifier):
    if kind == "stock":
        return Lock(client, path, identifier)
    if kind == "extra":
        return Lock(client, path, identifier, extra_lock_patterns=["-lock-"])
    name = {"mutex": "NeighbourLock", "read": "NeighbourReadLock", "write": "NeighbourWriteLock"}
    return LOCKS[name[kind]](client, path, identifier)


def connect(hosts):
    client = KazooClient(hosts=hosts, timeout=SESSION_TIMEOUT)
    client.start(timeout=15)
    return client


def session(client):
    return "%x" % client.client_id[0]


def token(client, lock):
    return client.exists(lock.path + "/" + lock.node).czxid


def acquire(lock, limit):
    """False if the lock was not acquired within this number of seconds; None waits for ever."""
    try:
        return lock.acquire(blocking=limit != 0, timeout=limit or None)
    except LockTimeout:
        return False


# --- one step at a time ------------------------------------------------------------------


class Hand:
    """A session, with one lock at a time."""

    def __init__(self, hosts):
        self.client = connect(hosts)
        self.lock = None
        self.now = "free"

    def _acquire(self, limit):
        try:
            if acquire(self.lock, limit):
                self.now = "held %d" % token(self.client, self.lock)
            else:
                self.now = "timeout"
        except Exception as problem:
            self.now = "failed %r" % problem

    def take(self, kind, path, limit, data):
        self.lock = make_lock(self.client, kind, path, data)
        self.now = "waiting"
        seconds = None if limit == "-" else float(limit)
        threading.Thread(target=self._acquire, args=(seconds,), daemon=True).start()

    def state(self):
        return self.now

    def release(self):
        self.lock.release()
        self.now = "free"

    def session(self):
        return session(self.client)

    def drop(self):
        self.client.stop()


def commands(hosts):
    hands = {}
    print("ready", kazoo.__version__, flush=True)
    for line in sys.stdin:
        verb, *words = line.split()
        if verb == "quit":
            break
        try:
            name, *words = words
            if name not in hands:
                hands[name] = Hand(hosts)
            print("ok", getattr(hands[name], verb)(*words) or "", flush=True)
            if verb == "drop":
                del hands[name]
        except Exception as problem:
            print("error: %r" % problem, flush=True)
    for hand in hands.values():
        hand.drop()
    print("ok", flush=True)


commands(sys.argv[1])
