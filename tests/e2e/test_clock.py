"""Somebody sets the machine's clock while the daemon serves: its processes see a wall clock that the test moves."""
import os
import pathlib
import signal
import struct
import subprocess
import threading

import pytest
from conftest import smollm2
from daemon import Daemon, wait_for
from load import Load, ask
from test_process_faults import quick, tiny_path, wait_for_answers, wait_for_new, worker_of  # noqa: F401  (tiny_path is a fixture)

HOUR = 3600


@pytest.fixture(scope="session")
def wall_clock(tmp_path_factory):
    """(environment, set_ahead): set_ahead(seconds) sets the clock of all that runs with the environment."""
    folder = tmp_path_factory.mktemp("clock")
    library = folder / "wall_clock.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, pathlib.Path(__file__).with_name("wall_clock.c"), "-ldl"], check=True)
    file = folder / "ahead"
    file.write_bytes(struct.pack("<q", 0))

    def set_ahead(seconds):
        with open(file, "r+b") as ahead:  # in place: the programs have it mapped
            ahead.write(struct.pack("<q", seconds * 10**9))

    return {"LD_PRELOAD": str(library), "INFERD_TEST_CLOCK": str(file)}, set_ahead


def test_a_clock_that_jumps_by_an_hour_disturbs_nothing(tmp_path, model_path, tiny_path, wall_clock):  # noqa: F811
    environment, set_ahead = wall_clock
    set_ahead(0)
    models = [smollm2(model_path), {"name": "tiny", "path": tiny_path, "context": 64, "kv_cache": {"bytes": "16MiB"}, "idle_unload": "1s"}]
    with Daemon(tmp_path, models, quick(watchdog="2s", drain="20s"), environment=environment) as daemon:
        with Load(daemon.http_port, "smollm2", clients=8) as load:
            for ahead in (HOUR, -HOUR, 0):
                wait_for_answers(load, 4)
                before = worker_of(daemon, "smollm2")
                assert daemon.post("/v1/completions", {"model": "tiny", "prompt": [1, 5], "max_tokens": 1})[0] == 200
                set_ahead(ahead)
                wait_for_answers(load, 8)
                # The watchdog kills nobody, an idle model goes at its time, a swap and a restart take no longer.
                wait_for(lambda: worker_of(daemon, "tiny")["state"] == "UNLOADED", 60, "the idle model's end")
                assert worker_of(daemon, "smollm2")["pid"] == before["pid"] and worker_of(daemon, "smollm2")["restarts"] == 0
                assert daemon.inferctl("swap", "smollm2").returncode == 0
                assert daemon.inferctl("restart", "gateway").returncode == 0
        load.check(least=24)
        pid = worker_of(daemon, "smollm2")["pid"]
        set_ahead(-HOUR)
        os.kill(pid, signal.SIGKILL)
        wait_for_new(daemon, "smollm2", pid)
        assert daemon.get("/metrics")[0] == 200
        # A drain that has begun keeps its deadline.
        answers = []
        body = {"model": "smollm2", "prompt": "Count:", "max_tokens": 40, "temperature": 0, "ignore_eos": True, "stream": True}
        running = threading.Thread(target=lambda: answers.append(ask(daemon.http_port, "/v1/completions", body)))
        running.start()
        wait_for(lambda: 'inferd_requests_running{model="smollm2"' in daemon.get("/metrics")[1], 60, "a running request")
        daemon.process.send_signal(signal.SIGTERM)
        set_ahead(-2 * HOUR)
        assert daemon.process.wait(60) == 0
        running.join()
        assert answers[0].error is None, answers[0].error


def test_a_drain_ends_at_its_deadline_though_the_clock_is_set_back(tmp_path, model_path, wall_clock):
    environment, set_ahead = wall_clock
    set_ahead(0)
    with Daemon(tmp_path, [smollm2(model_path)], quick(drain="1s"), environment=environment) as daemon:
        answers = []
        body = {"model": "smollm2", "prompt": "Count:", "max_tokens": 2000, "temperature": 0, "ignore_eos": True, "stream": True}
        running = threading.Thread(target=lambda: answers.append(ask(daemon.http_port, "/v1/completions", body)))
        running.start()
        wait_for(lambda: any(line.startswith("inferd_requests_running{") and line.endswith(" 1") for line in daemon.get("/metrics")[1].splitlines()), 60, "a running request")
        daemon.process.send_signal(signal.SIGTERM)
        wait_for(lambda: '"draining"' in daemon.get("/ready")[1], 60, "the drain")
        set_ahead(-HOUR)
        assert daemon.process.wait(60) == 0
        running.join()
        assert answers[0].error is not None and "shutting down" in str(answers[0].error), answers[0].error
