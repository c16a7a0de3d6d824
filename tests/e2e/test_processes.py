"""What happens to clients and processes when something dies or is asked to end."""
import json
import os
import shutil
import signal
import socket
import subprocess
import threading

import pytest
from daemon import BIN, Daemon, alive, wait_for

PROMPT = {"model": "smollm2", "prompt": "The capital of France is", "max_tokens": 4, "temperature": 0}


def test_request_after_a_killed_worker_succeeds(own_daemon):
    before = own_daemon.post("/v1/completions", PROMPT)[1]["choices"]
    [worker] = own_daemon.children()["inferd-worker"]
    os.kill(worker, signal.SIGKILL)
    status, body = own_daemon.post("/v1/completions", PROMPT)
    if status == 503:  # allowed while the worker restarts, never lost or wrong
        wait_for(own_daemon.is_ready, 60, "readiness after the restart")
        status, body = own_daemon.post("/v1/completions", PROMPT)
    assert status == 200 and body["choices"] == before
    assert own_daemon.children()["inferd-worker"] != [worker]
    assert own_daemon.status()["workers"][0]["restarts"] == 1


def test_no_orphan_after_a_killed_supervisor(own_daemon):
    children = [pid for pids in own_daemon.children().values() for pid in pids]
    assert len(children) == 2
    os.kill(own_daemon.process.pid, signal.SIGKILL)
    own_daemon.process.wait()
    wait_for(lambda: not any(alive(pid) for pid in children), 60, "the end of all children")


def test_restart_after_kill_needs_no_cleaning_up(own_daemon):
    os.kill(own_daemon.process.pid, signal.SIGKILL)
    own_daemon.process.wait()
    own_daemon.start()
    assert own_daemon.post("/v1/completions", PROMPT)[0] == 200


def test_killed_gateway_comes_back(own_daemon):
    [gateway] = own_daemon.children()["inferd-gateway"]
    os.kill(gateway, signal.SIGKILL)
    wait_for(lambda: own_daemon.get("/health")[0] == 200, 60, "the new gateway")
    assert own_daemon.post("/v1/completions", PROMPT)[0] == 200


def test_sigterm_drains(own_daemon):
    results = []
    body = {**PROMPT, "max_tokens": 60, "ignore_eos": True}
    thread = threading.Thread(target=lambda: results.append(own_daemon.post("/v1/completions", body)))
    thread.start()
    wait_for(lambda: 'inferd_requests_running{' in own_daemon.get("/metrics")[1] and any(
        line.endswith(" 1") for line in own_daemon.get("/metrics")[1].splitlines() if line.startswith("inferd_requests_running{")), 10, "a running request")
    assert own_daemon.stop() == 0
    thread.join()
    status, answer = results[0]
    assert status == 200 and answer["usage"]["completion_tokens"] == 60


def test_unix_sockets_serve_and_are_gone_after_the_end(tmp_path, model_path):
    listen = {name: f"unix:{tmp_path}/{name}.sock" for name in ("http", "grpc", "admin")}
    daemon = Daemon(tmp_path, [{"name": "smollm2", "path": model_path, "context": 512, "kv_cache": {"bytes": "64MiB"}}],
                    extra={"listen": listen}, start=False)
    daemon.admin = listen["admin"]
    daemon.start(ready=False)
    try:
        wait_for(lambda: daemon.inferctl("status", "--json").stdout.count('"state":"READY"') == 2, 60, "readiness")
        answer = daemon.inferctl("chat", "--message", "Hi", "--max-tokens", "3")
        assert answer.returncode == 0 and answer.stdout.strip(), answer.stderr
        asked = subprocess.run(["curl", "-s", "--unix-socket", tmp_path / "http.sock", "http://inferd/health"], capture_output=True, text=True, timeout=60)
        assert asked.stdout == '{"status":"ok"}'
    finally:
        assert daemon.stop() == 0
    assert list(tmp_path.glob("*.sock")) == []


def test_port_in_use_is_a_clear_error(tmp_path, model_path):
    daemon = Daemon(tmp_path, [{"name": "m", "path": model_path}], start=False)
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", daemon.http_port))
        holder.listen()
        result = subprocess.run([BIN / "inferd", "--config", daemon.config_path], capture_output=True, text=True, timeout=60)
    assert result.returncode in (1, 2)
    assert str(daemon.http_port) in result.stderr and "in use" in result.stderr.lower()


def test_missing_model_is_named_and_others_serve(tmp_path, model_path):
    models = [{"name": "good", "path": model_path, "kv_cache": {"bytes": "64MiB"}, "context": 1024},
              {"name": "bad", "path": str(tmp_path / "nowhere.gguf")}]
    with Daemon(tmp_path, models, start=False) as daemon:
        daemon.start(ready=False)
        wait_for(lambda: daemon.post("/v1/completions", {**PROMPT, "model": "good"})[0] == 200 if daemon.get("/health")[0] == 200 else False, 60, "the good model")
        status, body = daemon.get("/ready")
        assert status == 503 and "bad" in body
        state = wait_for(lambda: next((w for w in daemon.status()["workers"] if w["model"] == "bad" and w["state"] == "FAILED"), None), 60, "FAILED")
        assert "nowhere.gguf" in state["last_error"]


@pytest.mark.parametrize("missing,present", [("inferd-worker", "inferd-gateway"), ("inferd-gateway", "inferd-worker")])
def test_a_missing_program_is_named_with_its_path(tmp_path, model_path, missing, present):
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / present).symlink_to(BIN / present)
    said = f"the program {programs}/{missing} cannot be executed: No such file or directory"
    with Daemon(tmp_path, [{"name": "good", "path": model_path, "kv_cache": {"bytes": "64MiB"}}], start=False) as daemon:
        daemon.start(ready=False, arguments=["--programs", programs])
        wait_for(lambda: any(said in json.dumps(line) for line in daemon.log_lines()), 30, said)
    version = subprocess.run([BIN / "inferd", "--version", "--programs", programs], capture_output=True, text=True)
    assert (version.returncode == 0) == (missing == "inferd-gateway")
    assert version.returncode == 0 or said in version.stderr


def test_a_file_that_is_cut_off_while_it_is_mapped_ends_its_worker_alone(tmp_path, model_path):
    victim = tmp_path / "victim.gguf"
    shutil.copyfile(model_path, victim)
    small = {"kv_cache": {"bytes": "64MiB"}, "context": 1024}
    models = [{"name": "good", "path": model_path, **small}, {"name": "cut", "path": str(victim), **small}]
    with Daemon(tmp_path, models) as daemon:
        worker = lambda name: next(w for w in daemon.status()["workers"] if w["model"] == name)
        good = worker("good")["pid"]
        os.truncate(victim, 4 << 20)  # the weights are behind it
        status, answer = daemon.post("/v1/completions", {**PROMPT, "model": "cut"})
        assert status in (500, 503) and str(tmp_path) not in json.dumps(answer)
        assert worker("cut")["exits"].get("signal", 0) >= 1
        cut = wait_for(lambda: worker("cut") if worker("cut")["state"] == "FAILED" else None, 60, "FAILED")
        assert "victim.gguf" in cut["last_error"] and "beyond the end of the file" in cut["last_error"]
        assert daemon.post("/v1/completions", {**PROMPT, "model": "good"})[0] == 200 and worker("good")["pid"] == good
        assert "Bus error" in daemon.log_path.read_text()


@pytest.mark.parametrize("change,words", [
    ("models: [{name: a}]", ["path"]),
    ("models: [{name: a, path: /x, kv_cache: {bytes: 5parsecs}}]", ["bytes", "5parsecs"]),
    ("models: [{name: a, path: /x, tempo: 3}]", ["tempo"]),
    ("models: [{name: a, path: /x, context: many}]", ["context", "many"]),
    ("models: [", [":"]),
])
def test_bad_configuration_names_file_line_and_key(tmp_path, change, words):
    config = tmp_path / "bad.yaml"
    config.write_text("# a comment\n" + change + "\n")
    result = subprocess.run([BIN / "inferd", "--check", "--config", config], capture_output=True, text=True, timeout=60)
    assert result.returncode == 2
    assert "bad.yaml:2" in result.stderr or "bad.yaml:3" in result.stderr  # an unfinished list is seen at its end
    for word in words:
        assert word in result.stderr
