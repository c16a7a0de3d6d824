"""What an attack costs the processes of a running daemon, and whether a normal client was answered beside it.

    with Neighbour(daemon) as neighbour:
        costs = {name: Meter(pid) for name, pid in processes(daemon).items()}
        ... attack ...
    neighbour.answered, neighbour.slowest_seconds
    costs["gateway"].read()          # (MiB beyond what it had, seconds of processor time)
"""
import http.client
import json
import os
import re
import threading
import time

TICKS = os.sysconf("SC_CLK_TCK")


def processes(daemon):
    status = daemon.status()
    return {"supervisor": status["pid"], "gateway": status["gateway"]["pid"], "worker": status["workers"][0]["pid"]}


class Meter:
    """Of one process, from now on."""

    def __init__(self, pid):
        self.pid = pid
        with open(f"/proc/{pid}/clear_refs", "w") as file:
            file.write("5")  # the peak begins anew
        self.memory, self.seconds = self._resident("VmRSS"), self._seconds()

    def _resident(self, field):
        with open(f"/proc/{self.pid}/status") as status:
            return int(re.search(field + r":\s+(\d+) kB", status.read()).group(1)) >> 10

    def _seconds(self):
        with open(f"/proc/{self.pid}/stat") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def read(self):
        return max(0, self._resident("VmHWM") - self.memory), self._seconds() - self.seconds


class Neighbour:
    """Asks for health and for a token, one request at a time, until the end of the block; then once more."""

    def __init__(self, daemon, key=None):
        self.daemon = daemon
        self.headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {key}"} if key else {})}
        self.answered, self.slowest_seconds, self.faults = 0, 0.0, []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()

    def _run(self):
        while not self.faults:
            ending = self._stop.is_set()
            self._ask("GET", "/health")
            self._ask("POST", "/v1/completions", {"model": "smollm2", "prompt": "One, two,", "max_tokens": 1})
            if ending: return
            self._stop.wait(0.2)

    def _ask(self, method, path, body=None):
        begin = time.monotonic()
        try:
            connection = http.client.HTTPConnection("127.0.0.1", self.daemon.http_port, timeout=120)
            connection.request(method, path, json.dumps(body) if body else None, self.headers)
            status = connection.getresponse().status
            connection.close()
        except OSError as error:
            status = repr(error)
        if status == 200: self.answered += 1
        else: self.faults.append(f"the other client got {status} for {path}")
        self.slowest_seconds = max(self.slowest_seconds, time.monotonic() - begin)
