#!/usr/bin/python3
"""kazoo as a neighbour; see neighbour.lua for the commands and for what the loop does.

Its locks are those that docs/neighbours.md gives: the Python in there is what runs here.
Kinds besides: "stock" is kazoo's own Lock, "extra" the same that also sees "-lock-".
"""

import os
import random
import re
import sys
import threading
import time
import traceback

from kazoo.client import KazooClient
from kazoo.exceptions import LockTimeout
from kazoo.recipe.lock import Lock

SESSION_TIMEOUT = 20


def documented_locks():
    """What the first block of Python in the documentation defines."""
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
    """False if it was not had within so many seconds; None waits for ever."""
    try:
        return lock.acquire(blocking=limit != 0, timeout=limit or None)
    except LockTimeout:
        return False


# --- one step at a time ------------------------------------------------------------------


class Hand:
    """One session, with one lock at a time."""

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
    print("ready", flush=True)
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


# --- the loop ----------------------------------------------------------------------------


def now():
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class History:
    """What this process did and saw; see spec/torture/history.lua."""

    def __init__(self, path, process):
        self.file = open(path, "a", buffering=1)
        self.process = process
        self.mutex = threading.Lock()

    def record(self, at, claim, event, **fields):
        line = "%.6f\t%s\t%s\t%s" % (at, self.process, claim, event)
        for name, value in fields.items():
            text = str(value).replace("%", "%25").replace("\t", "%09").replace("\n", "%0A")
            line += "\t%s=%s" % (name, text)
        with self.mutex:
            self.file.write(line + "\n")


class Counter:
    """The protected counter; see counter.lua."""

    def __init__(self, path):
        self.path = path

    def read(self):
        """The words of the last line."""
        with open(self.path, "rb") as file:
            file.seek(max(0, os.path.getsize(self.path) - 512))
            return file.read().decode().split("\n")[-2].split()

    def write(self, read, element, its_token):
        line = "%d %s %s %d\n" % (int(read[0]) + 1, element, read[1], its_token)
        with open(self.path, "ab", buffering=0) as file:
            file.write(line.encode())


class Loop:
    def __init__(self, process, hosts, folder, seed, workers, mutexes, rwlocks):
        self.process, self.hosts, self.folder = process, hosts, folder
        self.workers = int(workers)
        self.mutexes, self.rwlocks = mutexes.split(","), rwlocks.split(",")
        self.random = random.Random(int(seed))
        self.history = History(folder + "/history/" + process, process)
        self.claims = 0
        self.mutex = threading.Lock()
        self.client = None

    def new_claim(self):
        with self.mutex:
            self.claims += 1
            return "%s-%d" % (self.process, self.claims)

    def work(self, claim, path, its_token):
        """Adds to the counter."""
        counter = Counter(self.folder + "/store/" + path.replace("/", "_"))
        read = counter.read()
        time.sleep(self.random.uniform(0, 0.004))
        counter.write(read, claim, its_token)
        self.history.record(now(), claim, "wrote", element=claim, read=read[1], token=its_token,
                            accepted="true")

    def cycle(self):
        claim = self.new_claim()
        path = self.random.choice(self.mutexes + self.rwlocks)
        # No readers: those of kazoo before 2.9 wait also for writers behind them (kazoo-649).
        kind = "mutex" if path in self.mutexes else "write"
        limit = self.random.choice([0, 0.03] + [None] * 18)
        lock = make_lock(self.client, kind, path, self.process + "\n" + claim)
        begun = now()
        self.history.record(begun, claim, "invoked", path=path, kind=kind,
                            way="acquire" if limit is None else "try")
        if not acquire(lock, limit):
            self.history.record(now(), claim, "failed", code="timeout", begun=begun)
            return
        at, its_token = now(), token(self.client, lock)
        self.history.record(at, claim, "granted", token=its_token, state="held", begun=begun)
        self.work(claim, path, its_token)
        begun = now()
        lock.release()
        self.history.record(now(), claim, "released", result="ok", begun=begun)

    def worker(self):
        try:
            while not os.path.exists(self.folder + "/calm"):
                self.cycle()
                time.sleep(self.random.uniform(0, 0.01))
        except BaseException:
            traceback.print_exc()
            os._exit(1)  # without its last event: the checker misses it

    def run(self):
        self.client = connect(self.hosts)
        self.history.record(now(), "-", "connected", session=session(self.client),
                            timeout=SESSION_TIMEOUT)
        threads = [threading.Thread(target=self.worker, daemon=True) for _ in range(self.workers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.history.record(now(), "-", "closing", session=session(self.client))
        self.client.stop()
        self.history.record(now(), "-", "ended")


if sys.argv[1] == "loop":
    Loop(*sys.argv[2:]).run()
else:
    commands(sys.argv[1])
