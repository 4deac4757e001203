#!/usr/bin/python3
"""The process of a crowd that has kazoo; bench/contended/crowd.lua says which commands it obeys.

    kazoo_crowd.py PROXY SERVER
"""

import gc
import logging
import re
import socket
import sys
import threading
import time

import kazoo
from kazoo.client import KazooClient
from kazoo.exceptions import LockTimeout
from kazoo.recipe.lock import Lock, ReadLock, WriteLock

TIMEOUT = 30  # seconds, of the sessions
PATIENCE = 120  # seconds
KINDS = {"mutex": Lock, "write": WriteLock, "free": Lock, "try": Lock, "read": ReadLock}

PROXY, SERVER = sys.argv[1:3]


def now():
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def connect(hosts, timeout):
    client = KazooClient(hosts=hosts, timeout=timeout)
    client.start(timeout=15)
    return client


def nodes():
    """How many ephemeral nodes the server has. A waiter that has made one has its place."""
    host, port = SERVER.split(":")
    with socket.create_connection((host, int(port))) as server:
        server.sendall(b"mntr")
        answer = server.makefile().read()
    return int(re.search(r"zk_ephemerals_count\t(\d+)", answer).group(1))


class Crowd:
    def __init__(self):
        self.sessions = [connect(PROXY, TIMEOUT)]  # number 0 is the first holder's
        self.cyclers = {}  # sessions, by WHERE
        self.kept = []
        self.waiters = []
        self.problems = []
        self.last = 0.0  # when the latest waiter was served
        self.kind = self.path = self.laps = self.held = self.spare = None

    def _start(self, *call):
        def run():
            try:
                call[0](*call[1:])
                self.last = max(self.last, now())
            except Exception as problem:
                self.problems.append(problem)

        self.waiters.append(threading.Thread(target=run, daemon=True))
        self.waiters[-1].start()

    def _finish(self):
        for thread in self.waiters:
            thread.join()
        self.waiters = []
        if self.problems:
            raise self.problems.pop()

    def _lock(self, number):
        return KINDS[self.kind](self.sessions[number], self.path)

    def _be_served(self, lock):
        for _ in range(self.laps):
            lock.acquire(timeout=PATIENCE)
            lock.release()

    def open(self, count):
        while len(self.sessions) <= int(count):
            self.sessions.append(connect(PROXY, TIMEOUT))

    def line(self, kind, path, laps):
        self.kind, self.path, self.laps = kind, path, int(laps)

    def hold(self):
        self.held = self._lock(0)
        self.held.acquire(timeout=PATIENCE)

    def join(self, number):
        before, deadline = nodes(), now() + PATIENCE
        self._start(self._be_served, self._lock(int(number)))
        while nodes() <= before:
            if now() > deadline:
                raise RuntimeError("it made no node")
            time.sleep(0.002)

    def release(self):
        self.held.release()

    def serve(self):
        self._finish()
        return "%.6f" % self.last

    def _cycle(self, lock, kind, count):
        for _ in range(count):
            if kind != "try":
                lock.acquire()
                lock.release()
            elif lock.acquire(blocking=False):
                raise RuntimeError("it was granted")

    def cycles(self, where, kind, path, count, tasks):
        count, tasks = int(count), int(tasks)
        if where not in self.cyclers:
            self.cyclers[where] = connect(PROXY if where == "proxy" else SERVER, TIMEOUT)
        client, holder = self.cyclers[where], None
        if kind != "free":
            holder = KINDS[kind](self.sessions[0], path)
            holder.acquire()
        locks = [KINDS[kind](client, path + "/%d" % i if tasks > 1 else path)
                 for i in range(tasks)]
        begin, cpu = now(), time.process_time()
        if tasks == 1:
            self._cycle(locks[0], kind, count)
        else:
            for lock in locks:
                self._start(self._cycle, lock, kind, count)
            self._finish()
        seconds, cpu = now() - begin, time.process_time() - cpu
        if holder:
            holder.release()
        return "%.6f %.6f" % (seconds, cpu)

    def keep(self, path, count):
        for i in range(int(count)):
            client = self.sessions[i % (len(self.sessions) - 1) + 1]
            self.kept.append(Lock(client, "%s/%d" % (path, i)))
            self.kept[-1].acquire()

    def memory(self):
        gc.collect()
        with open("/proc/self/status") as status:
            return 1024 * int(re.search(r"VmRSS:\s+(\d+) kB", status.read()).group(1))

    def connect(self, timeout):
        self.spare = connect(SERVER, float(timeout))

    def wait(self, path, seconds):
        begin = now()
        try:
            Lock(self.spare, path).acquire(timeout=float(seconds))
            what = "granted"
        except LockTimeout:
            what = "timeout"
        except Exception as problem:
            what = type(problem).__name__
        took = now() - begin
        threading.Thread(target=self.spare.stop, daemon=True).start()
        return "%.6f %s" % (took, what)


def main():
    logging.disable()
    crowd = Crowd()
    print("ready", kazoo.__version__, flush=True)
    for line in sys.stdin:
        verb, *words = line.split()
        if verb == "quit":
            break
        try:
            answer = getattr(crowd, verb)(*words)
            print("ok", "" if answer is None else answer, flush=True)
        except Exception as problem:
            print("error: %r" % problem, flush=True)
    for client in crowd.sessions + list(crowd.cyclers.values()):
        client.stop()
    print("ok", flush=True)


main()
