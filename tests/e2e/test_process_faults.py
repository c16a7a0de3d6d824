"""Each fault of processes under load, judged by what clients received: every answer whole and the same as undisturbed."""
import json
import os
import signal
import socket
import subprocess
import threading

import pytest
from conftest import smollm2
from daemon import BIN, Daemon, kill, samples, wait_for
from load import Load, ask

TINY_PROMPT = {"model": "tiny", "prompt": [1, 5, 9], "max_tokens": 8, "temperature": 0}


@pytest.fixture(scope="session")
def tiny_path():
    folder = os.environ.get("INFERD_TEST_ARCHS", os.path.expanduser("~/.cache/inferd/archs"))
    path = os.path.join(folder, "llama.gguf")
    if not os.path.exists(path):
        pytest.skip(f"no small model at {path}: tests/run.sh makes them")
    return path


def quick(**supervisor):
    return {"supervisor": {"restart": {"first_delay": "10ms", "max_delay": "100ms", "max": 1000}, **supervisor}}


@pytest.fixture
def two_models(tmp_path, model_path, tiny_path):
    models = [smollm2(model_path), {"name": "tiny", "path": tiny_path, "context": 64, "kv_cache": {"bytes": "16MiB"}}]
    with Daemon(tmp_path, models, quick(watchdog="2s", drain="30s")) as daemon:
        yield daemon


def worker_of(daemon, model):
    """The newest version."""
    return [worker for worker in daemon.status()["workers"] if worker["model"] == model][-1]


def wait_for_answers(load, count):
    have = load.done()
    wait_for(lambda: load.done() >= have + count, 120, "answers")


def wait_for_new(daemon, model, pid):
    def ready():
        worker = worker_of(daemon, model)
        return worker["state"] == "READY" and worker["pid"] != pid
    wait_for(ready, 60, "the new worker")


def metric(daemon, name):
    """Sum over all labels."""
    return sum(value for series, value in samples(daemon).items() if series.startswith(name))


def test_killed_workers_lose_and_alter_nothing(two_models):
    tiny = two_models.post("/v1/completions", TINY_PROMPT)[1]["choices"]
    tiny_pid = worker_of(two_models, "tiny")["pid"]
    with Load(two_models.http_port, "smollm2") as load:
        for _ in range(3):
            # A request is blamed for two deaths without a token in between: let all get on.
            wait_for_answers(load, 2 * load.clients)
            pid = worker_of(two_models, "smollm2")["pid"]
            os.kill(pid, signal.SIGKILL)
            assert two_models.post("/v1/completions", TINY_PROMPT)[1]["choices"] == tiny
            wait_for_new(two_models, "smollm2", pid)
        wait_for_answers(load, 8)
    load.check(least=32)
    worker = worker_of(two_models, "smollm2")
    assert worker["restarts"] == 3 and worker["last_exit"] == "signal" and worker["exits"] == {"signal": 3}
    assert worker_of(two_models, "tiny")["pid"] == tiny_pid
    assert metric(two_models, "inferd_requests_resumed_total") > 0
    assert metric(two_models, 'inferd_worker_exits_total{model="smollm2",version="1",cause="signal"}') == 3


def test_a_stopped_worker_is_replaced_and_its_requests_go_on(two_models):
    with Load(two_models.http_port, "smollm2") as load:
        wait_for_answers(load, 4)
        pid = worker_of(two_models, "smollm2")["pid"]
        os.kill(pid, signal.SIGSTOP)
        wait_for_new(two_models, "smollm2", pid)
        wait_for_answers(load, 8)
    load.check(least=12)
    assert worker_of(two_models, "smollm2")["last_exit"] == "watchdog"


def test_swaps_under_load_are_seen_by_nobody(two_models, tmp_path, model_path):
    other = tmp_path / "same.gguf"
    os.link(model_path, other) if os.stat(model_path).st_dev == os.stat(tmp_path).st_dev else other.symlink_to(model_path)
    with Load(two_models.http_port, "smollm2") as load:
        for path in (other, model_path, other):
            wait_for_answers(load, 4)
            result = two_models.inferctl("swap", "smollm2", str(path))
            assert result.returncode == 0, result.stderr
        wait_for_answers(load, 4)
    load.check(least=16)
    assert worker_of(two_models, "smollm2")["version"] == 4


def test_a_swap_to_a_bad_file_leaves_the_old_version(two_models, tmp_path, model_path, tiny_path):
    corrupt = tmp_path / "corrupt.gguf"
    with open(model_path, "rb") as model:
        corrupt.write_bytes(model.read(1 << 20))
    before = worker_of(two_models, "smollm2")
    with Load(two_models.http_port, "smollm2", clients=8) as load:
        for path, words in [(tmp_path / "missing.gguf", "missing.gguf"), (corrupt, "corrupt.gguf"), (tiny_path, "tokenizer differs")]:
            result = two_models.inferctl("swap", "smollm2", str(path))
            assert result.returncode == 1 and words in result.stderr, result.stderr
        config = two_models.config_path.read_text()
        two_models.config_path.write_text(config.replace(str(model_path), str(corrupt)))
        result = two_models.inferctl("reload")
        assert result.returncode == 1 and "corrupt.gguf" in result.stderr
        two_models.config_path.write_text(config)
        wait_for_answers(load, 8)
    load.check()
    after = worker_of(two_models, "smollm2")
    assert (after["pid"], after["version"]) == (before["pid"], before["version"])
    assert metric(two_models, 'inferd_reloads_total{model="",result="failed"}') == 1
    assert any("corrupt.gguf" in json.dumps(line) for line in two_models.log_lines())


@pytest.mark.parametrize("keep_connections", [False, True])
def test_a_gateway_that_is_replaced_loses_nothing(two_models, keep_connections):
    with Load(two_models.http_port, "smollm2", keep_connections=keep_connections) as load:
        for _ in range(2):
            wait_for_answers(load, 8)
            result = two_models.inferctl("restart", "gateway")
            assert result.returncode == 0, result.stderr
        wait_for_answers(load, 16)
    load.check(least=32)
    wait_for(lambda: len(two_models.children()["inferd-gateway"]) == 1, 40, "the end of the old gateways")


def test_a_killed_gateway_refuses_nobody(two_models):
    refused = []
    stop = threading.Event()

    def knock():
        while not stop.is_set():
            try:
                socket.create_connection(("127.0.0.1", two_models.http_port), timeout=60).close()
            except OSError as error:
                refused.append(error)
            stop.wait(0.005)

    knocker = threading.Thread(target=knock)
    knocker.start()
    kills = []
    with Load(two_models.http_port, "smollm2") as load:
        for _ in range(2):
            wait_for_answers(load, 8)
            [gateway] = two_models.children()["inferd-gateway"]
            kills.append(kill(gateway))
            wait_for(lambda: two_models.children().get("inferd-gateway", [gateway]) != [gateway], 60, "the new gateway")
            wait_for_answers(load, 8)
    stop.set()
    knocker.join()
    assert not refused, refused[:3]
    assert not load.altered, load.altered[0]
    # A request is lost with the gateway that had it, and with nothing else.
    assert not load.lost_otherwise(kills), (load.lost_otherwise(kills)[:3], kills)
    assert len(load.failed) <= 2 * load.clients and load.good >= 16


def test_reloads_at_once_and_in_the_middle_of_a_load(two_models):
    config = json.loads(two_models.config_path.read_text())
    results = []

    def reload():
        results.append(two_models.inferctl("reload").returncode)

    with Load(two_models.http_port, "smollm2", clients=8) as load:
        threads = []
        for requests in (100, 101, 102):
            config["models"][0]["queue"] = {"max_requests": requests}
            two_models.config_path.write_text(json.dumps(config))
            threads.append(threading.Thread(target=reload))
            threads[-1].start()
        for thread in threads:
            thread.join()
        two_models.config_path.write_text("models: [{name: a, path: /a, tempo: 3}]")
        result = two_models.inferctl("reload")
        assert result.returncode == 2 and "inferd.yaml:1" in result.stderr and "tempo" in result.stderr
        wait_for_answers(load, 8)
    load.check()
    assert results == [0, 0, 0]
    two_models.config_path.write_text(json.dumps(config))
    assert two_models.inferctl("reload", "--dry-run").stdout == "nothing has changed\n"


def test_sigterm_under_load_finishes_what_runs(two_models):
    answers = []
    body = {"model": "smollm2", "prompt": "Count:", "max_tokens": 40, "temperature": 0, "ignore_eos": True, "stream": True}
    expected = ask(two_models.http_port, "/v1/completions", body)
    threads = [threading.Thread(target=lambda: answers.append(ask(two_models.http_port, "/v1/completions", body))) for _ in range(16)]
    for thread in threads:
        thread.start()
    wait_for(lambda: metric(two_models, "inferd_requests_running{") + metric(two_models, "inferd_requests_waiting{") >= 16, 60, "16 requests")
    two_models.process.send_signal(signal.SIGTERM)
    assert two_models.process.wait(60) == 0
    for thread in threads:
        thread.join()
    assert [answer.error for answer in answers] == [None] * 16
    assert all(answer.content == expected.content for answer in answers)


def test_out_of_descriptors_recovers(tmp_path, model_path):
    daemon = Daemon(tmp_path, [smollm2(model_path)], start=False)
    daemon.process = subprocess.Popen(["prlimit", "--nofile=256:256", BIN / "inferd", "--config", daemon.config_path],
                                      stderr=open(daemon.log_path, "ab"))
    with daemon:
        wait_for(daemon.is_ready, 60, "readiness")
        answers = []
        running = threading.Thread(target=lambda: answers.append(ask(daemon.http_port, "/v1/completions", {
            "model": "smollm2", "prompt": "Count:", "max_tokens": 200, "ignore_eos": True, "temperature": 0, "stream": True})))
        running.start()
        wait_for(lambda: metric(daemon, "inferd_requests_running{") == 1, 60, "a running request")
        crowd = [socket.create_connection(("127.0.0.1", daemon.http_port), timeout=60) for _ in range(400)]
        running.join(120)
        assert answers[0].error is None  # what runs is not harmed
        for connection in crowd:
            connection.close()
        wait_for(daemon.is_ready, 60, "room for new connections")
        pid = worker_of(daemon, "smollm2")["pid"]
        os.kill(pid, signal.SIGKILL)  # the supervisor has what it needs for a new worker
        wait_for_new(daemon, "smollm2", pid)
        assert daemon.post("/v1/completions", {"model": "smollm2", "prompt": "Hi", "max_tokens": 2})[0] == 200


@pytest.mark.parametrize("where", ["full disk", "blocked pipe"])
def test_logs_that_cannot_be_written_hold_nothing_up(tmp_path, model_path, where):
    daemon = Daemon(tmp_path, [smollm2(model_path)], {"log": {"level": "debug"}}, start=False)
    reader, writer = os.pipe()
    if where == "full disk":
        os.close(writer)
        writer = os.open("/dev/full", os.O_WRONLY)
    daemon.log_path.write_text("")
    daemon.process = subprocess.Popen([BIN / "inferd", "--config", daemon.config_path], stderr=writer)
    os.close(writer)
    with daemon:
        wait_for(daemon.is_ready, 60, "readiness")
        with Load(daemon.http_port, "smollm2", clients=8) as load:
            # More lines than pipe and queue hold.
            wait_for(lambda: [daemon.get("/health") for _ in range(200)] and metric(daemon, "inferd_log_lines_dropped_total") > 0,
                     120, "dropped lines")
            wait_for_answers(load, 4)
        load.check()
        assert daemon.stop() == 0
    os.close(reader)


# The second has not even room for the stacks of the threads.
@pytest.mark.parametrize("pool,limit", [("512MiB", "600MiB"), ("16MiB", "20MiB")])
def test_a_worker_beyond_its_memory_limit_is_told_apart(tmp_path, model_path, pool, limit):
    models = [smollm2(model_path, kv_cache={"bytes": pool}, memory_limit=limit)]
    with Daemon(tmp_path, models, quick(), start=False) as daemon:
        daemon.start(ready=False)
        worker = wait_for(lambda: daemon.get("/health")[0] == 200 and worker_of(daemon, "smollm2")["exits"] and worker_of(daemon, "smollm2"), 60, "an exit")
        assert worker["exits"].keys() == {"memory_limit"}, worker
        assert "memory" in worker["last_error"]


def test_workers_get_their_processors_and_niceness(tmp_path, model_path):
    with Daemon(tmp_path, [smollm2(model_path, cpus="0", nice=5, memory_limit="4GiB")]) as daemon:
        pid = worker_of(daemon, "smollm2")["pid"]
        assert os.sched_getaffinity(pid) == {0}
        assert os.getpriority(os.PRIO_PROCESS, pid) == os.getpriority(os.PRIO_PROCESS, daemon.process.pid) + 5
        with open(f"/proc/{pid}/limits") as limits:
            [data] = [line.split()[3:5] for line in limits if line.startswith("Max data size")]
        assert data == [str(4 << 30)] * 2
        assert daemon.post("/v1/completions", {"model": "smollm2", "prompt": "Hi", "max_tokens": 2})[0] == 200
    config = json.loads(daemon.config_path.read_text())
    config["models"][0]["cpus"] = "1000"
    daemon.config_path.write_text(json.dumps(config))
    with daemon:
        daemon.start(ready=False)
        failed = wait_for(lambda: daemon.get("/health")[0] == 200 and worker_of(daemon, "smollm2")["state"] == "FAILED" and worker_of(daemon, "smollm2"), 60, "FAILED")
        assert failed["last_error"].startswith("cpus: none of them")
