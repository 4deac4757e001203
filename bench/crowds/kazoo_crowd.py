#!/usr/bin/python3
"""The process of a crowd that has kazoo; bench/harness/crowd.lua says which commands it obeys.

    kazoo_crowd.py PROXY SERVER
"""

import gc
import logging
import os
import sys
import threading
import time

import kazoo
from kazoo.client import KazooClient
from kazoo.exceptions import LockTimeout
from kazoo.recipe.lock import Lock, ReadLock

TIMEOUT = 30  # seconds, of the sessions
PATIENCE = 120  # seconds
KINDS = {"mutex": Lock, "free": Lock, "try": Lock, "read": ReadLock}

PROXY, SERVER = sys.argv[1:3]


def now():
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def connect(hosts, timeout):
    client = KazooClient(hosts=hosts, timeout=timeout)
    client.start(timeout=15)
    return client


class Crowd:
    def __init__(self):
        self.sessions = [connect(PROXY, TIMEOUT)]  # number 0 is the first holder's
        self.cyclers = {}  # sessions, by WHERE
        self.kept = []
        self.tasks = []
        self.problems = []
        self.last = 0.0  # when the latest task ended
        self.kind = self.path = self.laps = self.held = self.spare = None

    def _start(self, *call):
        def run():
            try:
                call[0](*call[1:])
                self.last = max(self.last, now())
            except Exception as problem:
                self.problems.append(problem)

        self.tasks.append(threading.Thread(target=run, daemon=True))
        self.tasks[-1].start()

    def _finish(self):
        count = len(self.tasks)
        for thread in self.tasks:
            thread.join()
        self.tasks = []
        if self.problems:
            raise self.problems.pop()
        return count

    def _session(self, i):
        """The sessions in turn, except number 0."""
        return self.sessions[i % (len(self.sessions) - 1) + 1]

    def _be_served(self, lock):
        for _ in range(self.laps):
            lock.acquire(timeout=PATIENCE)
            lock.release()

    def open(self, count):
        while len(self.sessions) <= int(count):
            self.sessions.append(connect(PROXY, TIMEOUT))

    def line(self, kind, path, laps):
        self.kind, self.path, self.laps = KINDS[kind], path, int(laps)

    def hold(self):
        self.held = self.kind(self.sessions[0], self.path)
        self.held.acquire(timeout=PATIENCE)

    def join(self, first, count, _):
        for i in range(int(count)):
            session = self._session(int(first) - 1 + i)
            self._start(self._be_served, self.kind(session, self.path))

    def release(self):
        self.held.release()

    def serve(self):
        served = self._finish()
        return "%.6f %d 0 0" % (self.last, served)

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
            self.kept.append(Lock(self._session(i), "%s/%d" % (path, i)))
            self.kept[-1].acquire()

    def collect(self):
        gc.collect()
        return 0

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
    print("ready", os.getpid(), kazoo.__version__, flush=True)
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
