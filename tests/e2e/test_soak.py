"""Everything that may happen to the processes, again and again under load; nothing is lost, altered or leaked.

INFERD_SOAK_SECONDS says for how long (default 600), INFERD_SOAK_SEED with which accidents (default 1)."""
import json
import os
import pathlib
import random
import signal
import threading
import time

import pytest
from conftest import smollm2
from daemon import Daemon, kill, wait_for
from load import Load

SECONDS = float(os.environ.get("INFERD_SOAK_SECONDS", 600))
SEED = int(os.environ.get("INFERD_SOAK_SEED", 1))
SWAP_EVERY = 20


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def resident_mib(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) >> 10
    return 0


class Accidents:
    """One after the other until the time is up; remembers when gateways were killed."""

    def __init__(self, daemon, load, paths):
        self.daemon, self.load, self.paths = daemon, load, paths
        self.random = random.Random(SEED)
        self.gateway_kills, self.counts = [], {}
        self.good_config = json.loads(daemon.config_path.read_text())

    def run(self, until):
        next_swap = time.monotonic() + SWAP_EVERY / 4
        while time.monotonic() < until:
            if time.monotonic() >= next_swap:
                next_swap += SWAP_EVERY
                self.swap()
            else:
                self.random.choice([self.kill_worker, self.kill_worker, self.kill_gateway, self.good_reload, self.bad_reload, self.restart_gateway])()
            # A request is blamed for two deaths without progress in between: let them get on.
            have = self.load.done()
            wait_for(lambda have=have: self.load.done() >= have + 2 * self.load.clients, 120, "answers")

    def count(self, what):
        self.counts[what] = self.counts.get(what, 0) + 1

    def worker(self):
        ready = [worker for worker in self.daemon.status()["workers"] if worker["state"] == "READY"]
        return ready[-1]["pid"] if ready else None

    def swap(self):
        self.paths.reverse()
        result = self.daemon.inferctl("swap", "smollm2", str(self.paths[0]))
        assert result.returncode == 0, result.stderr
        self.count("swaps")

    def kill_worker(self):
        pid = wait_for(self.worker, 60, "a ready worker")
        os.kill(pid, signal.SIGKILL)
        wait_for(lambda: self.worker() not in (None, pid), 60, "the new worker")
        self.count("worker kills")

    def kill_gateway(self):
        pid = self.daemon.status()["gateway"]["pid"]
        self.gateway_kills.append(kill(pid))
        wait_for(lambda: self.daemon.status()["gateway"]["state"] == "READY" and self.daemon.status()["gateway"]["pid"] != pid, 60, "the new gateway")
        self.count("gateway kills")

    def restart_gateway(self):
        assert self.daemon.inferctl("restart", "gateway").returncode == 0
        self.count("gateway restarts")

    def good_reload(self):
        config = dict(self.good_config)
        config["models"] = [{**config["models"][0], "path": str(self.paths[0]), "aliases": ["default", f"alias{self.random.randrange(5)}"]}]
        self.daemon.config_path.write_text(json.dumps(config))
        result = self.daemon.inferctl("reload")
        assert result.returncode == 0, result.stderr
        self.count("good reloads")

    def bad_reload(self):
        good = self.daemon.config_path.read_text()
        missing = json.loads(good)
        missing["models"][0]["path"] = "/nowhere.gguf"
        self.daemon.config_path.write_text(self.random.choice(["models: [", "models: [{name: a}]", json.dumps(missing)]))
        result = self.daemon.inferctl("reload")
        assert result.returncode != 0
        self.daemon.config_path.write_text(good)
        self.count("bad reloads")


@pytest.mark.long
def test_soak(tmp_path, model_path):
    paths = [tmp_path / "a.gguf", tmp_path / "b.gguf"]
    for path in paths:
        path.symlink_to(model_path)
    settings = {"supervisor": {"restart": {"first_delay": "10ms", "max_delay": "100ms", "max": 100000}, "drain": "20s"}}
    with Daemon(tmp_path, [smollm2(str(paths[0]))], settings) as daemon:
        supervisor = daemon.process.pid
        with Load(daemon.http_port, "smollm2", clients=16) as load:
            wait_for(lambda: load.done() >= 16, 120, "the first answers")
            before = (descriptors(supervisor), resident_mib(supervisor))
            accidents = Accidents(daemon, load, paths)
            accidents.run(time.monotonic() + SECONDS)
        print(f"\nsoak of {SECONDS:.0f} s, seed {SEED}: {load.good} good, {len(load.failed)} failed, {len(load.altered)} altered; {accidents.counts}")
        assert not load.altered, load.altered[0]
        lost = load.lost_otherwise(accidents.gateway_kills)
        assert not lost, (lost[:3], accidents.gateway_kills)
        assert len(load.failed) <= load.clients * len(accidents.gateway_kills)
        # Nothing is left behind: processes, sockets, descriptors, memory.
        wait_for(lambda: {name: len(pids) for name, pids in daemon.children().items()} == {"inferd-gateway": 1, "inferd-worker": 1}, 60,
                 lambda: f"one process of each kind: {daemon.children()}")
        [worker] = daemon.status()["workers"]
        assert [f"unix:{path}" for path in (tmp_path / "run/w").iterdir()] == [worker["address"]]
        wait_for(lambda: descriptors(supervisor) <= before[0] + 2, 30, lambda: f"{descriptors(supervisor)} descriptors, {before[0]} before")
        print(f"supervisor: {before[0]} -> {descriptors(supervisor)} descriptors, {before[1]} -> {resident_mib(supervisor)} MiB")
        assert resident_mib(supervisor) <= before[1] + 16
        assert threading.active_count() < 8
