#!/usr/bin/python3
"""kazoo as a neighbour; see neighbour.lua for the commands.

Its locks are those of docs/neighbours.md, whose Python runs here. There are more kinds: "stock" and
"stock-read" are kazoo's own Lock and ReadLock, and "extra" is that Lock with the extra pattern
"-lock-".
"""

import gc
import logging
import os
import re
import sys
import threading
import time

import kazoo
from kazoo.client import KazooClient
from kazoo.exceptions import LockTimeout
from kazoo.recipe.lock import Lock, ReadLock


def documented_locks():
    """Returns the names that the first block of Python in the documentation defines."""
    with open("docs/neighbours.md") as page:
        source = re.search(r"^```python\n(.*?)^```", page.read(), re.M | re.S).group(1)
    names = {}
    exec(compile(source, "docs/neighbours.md", "exec"), names)
    return names


def extra(client, path, identifier):
    return Lock(client, path, identifier, extra_lock_patterns=["-lock-"])


DOCUMENTED = documented_locks()
KINDS = {
    "mutex": DOCUMENTED["NeighbourLock"],
    "read": DOCUMENTED["NeighbourReadLock"],
    "write": DOCUMENTED["NeighbourWriteLock"],
    "stock": Lock,
    "stock-read": ReadLock,
    "extra": extra,
}


def now():
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def acquire(lock, limit):
    """False if the lock was not acquired within this number of seconds; None waits for ever."""
    try:
        return lock.acquire(blocking=limit != 0, timeout=limit or None)
    except LockTimeout:
        return False


# --- one step at a time ------------------------------------------------------------------


class Hand:
    """A session, with one lock at a time."""

    def __init__(self, hosts, timeout):
        self.client = KazooClient(hosts=hosts, timeout=float(timeout))
        self.client.start(timeout=15)
        self.lock = None
        self.now = "free"
        self.kept = []

    def new_lock(self, kind, path, data="-"):
        return KINDS[kind](self.client, path, None if data == "-" else data)

    def _acquire(self, limit):
        try:
            if acquire(self.lock, limit):
                node = self.client.exists(self.lock.path + "/" + self.lock.node)
                self.now = "held %d" % node.czxid
            else:
                self.now = "timeout"
        except Exception as problem:
            self.now = "failed %r" % problem

    def take(self, kind, path, limit, data):
        self.lock = self.new_lock(kind, path, data)
        self.now = "waiting"
        seconds = None if limit == "-" else float(limit)
        threading.Thread(target=self._acquire, args=(seconds,), daemon=True).start()

    def state(self):
        return self.now

    def release(self):
        self.lock.release()
        self.now = "free"

    def session(self):
        return "%x" % self.client.client_id[0]

    def keep(self, path, count):
        for i in range(int(count)):
            self.kept.append(self.new_lock("stock", "%s/%d" % (path, i)))
            self.kept[-1].acquire()

    def drop(self):
        self.client.stop()


# --- tasks -------------------------------------------------------------------------------


class Task(threading.Thread):
    """Acquires and releases a lock, and has the figures afterwards."""

    def __init__(self, lock, laps, deadline):
        super().__init__(daemon=True)
        self.lock, self.laps, self.deadline = lock, laps, deadline
        self.grants = self.timeouts = 0
        self.begin = self.end = 0.0
        self.problem = ""

    def run(self):
        self.begin = now()
        try:
            for _ in range(self.laps):
                if acquire(self.lock, max(0, self.deadline - now()) if self.deadline else None):
                    self.lock.release()
                    self.grants += 1
                else:
                    self.timeouts += 1
        except Exception as problem:
            self.problem = type(problem).__name__
        self.end = now()


class Commands:
    """The commands that concern the whole process."""

    def __init__(self):
        self.hands = {}
        self.tasks = []
        self.cpu = 0.0  # at the start of the first task

    def connect(self, name, hosts, timeout):
        self.hands[name] = Hand(hosts, timeout)

    def start(self, name, kind, path, laps, count, deadline):
        if not self.tasks:
            self.cpu = time.process_time()
        new_lock = self.hands[name].new_lock
        new = [Task(new_lock(kind, path.replace("#", str(i))), int(laps), float(deadline))
               for i in range(int(count))]
        self.tasks += new
        for task in new:
            task.start()

    def finish(self):
        tasks, self.tasks = self.tasks, []
        for task in tasks:
            task.join()
        first = min((task.begin for task in tasks), default=0)
        last = max((task.end for task in tasks), default=0)
        return "%.6f %.6f %.6f %d %d %s" % (
            last - first, last, time.process_time() - self.cpu,
            sum(task.grants for task in tasks), sum(task.timeouts for task in tasks),
            max((task.problem for task in tasks), default=""))

    def collect(self):
        gc.collect()
        return "0"

    def obey(self, verb, *words):
        if hasattr(self, verb):
            return getattr(self, verb)(*words)
        name, *words = words
        answer = getattr(self.hands[name], verb)(*words)
        if verb == "drop":
            del self.hands[name]
        return answer


def main():
    logging.disable()
    commands = Commands()
    print("ready", os.getpid(), kazoo.__version__, flush=True)
    for line in sys.stdin:
        words = line.split()
        if words[0] == "quit":
            break
        try:
            print("ok", commands.obey(*words) or "", flush=True)
        except Exception as problem:
            print("error: %r" % problem, flush=True)
    for hand in commands.hands.values():
        hand.drop()
    print("ok", flush=True)


main()
