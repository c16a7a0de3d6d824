"""Faults of requests and models under load: what kills its worker, what crashes again and again, what finds no room."""
import json
import os
import threading

from conftest import smollm2
from daemon import Daemon, wait_for
from load import Load, ask
from test_process_faults import metric, quick, tiny_path, wait_for_answers, wait_for_new, worker_of  # noqa: F401  (tiny_path is a fixture)

TINY = {"model": "tiny", "prompt": [1, 5, 9], "max_tokens": 8, "temperature": 0}


def two(model_path, tiny, **changes):
    return [smollm2(model_path, **changes), {"name": "tiny", "path": tiny, "context": 64, "kv_cache": {"bytes": "16MiB"}}]


def test_a_request_under_which_two_workers_die_is_refused_and_others_go_on(tmp_path, model_path, tiny_path):  # noqa: F811
    # One prompt token a step: the request runs for long before its first token, and dies with its worker meanwhile.
    models = two(model_path, tiny_path, batch={"prefill_tokens": 1})
    body = {"model": "smollm2", "prompt": "A very long story about the sea. " * 150, "max_tokens": 4, "temperature": 0}
    with Daemon(tmp_path, models, quick()) as daemon, Load(daemon.http_port, "tiny", clients=4, requests=[("/v1/completions", TINY)]) as load:
        answers = []
        client = threading.Thread(target=lambda: answers.append(ask(daemon.http_port, "/v1/completions", body)))
        client.start()
        for _ in range(2):
            wait_for(lambda: metric(daemon, 'inferd_requests_running{model="smollm2"') == 1, 60, "the request")
            pid = worker_of(daemon, "smollm2")["pid"]
            os.kill(pid, 9)
            wait_for_new(daemon, "smollm2", pid)
        client.join(60)
        assert answers[0].status == 500 and "internal_error" in answers[0].error, answers[0].error
        again = ask(daemon.http_port, "/v1/completions", body)
        assert again.status == 400 and "refused for 10 minutes" in again.error, again.error
        assert ask(daemon.http_port, "/v1/completions", {**body, "prompt": "Hi"}).error is None
        wait_for_answers(load, 8)
    load.check()


def data_bytes(daemon):
    """Of the worker, after some requests: what memory_limit counts."""
    for _ in range(3):
        assert ask(daemon.http_port, "/v1/completions", {"model": "smollm2", "prompt": "Hi", "max_tokens": 4}).error is None
    with open(f"/proc/{worker_of(daemon, 'smollm2')['pid']}/status") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmData"))


SMALL = {"kv_cache": {"bytes": "64MiB"}}


def limit_memory(daemon):
    limit = data_bytes(daemon) + (128 << 20)  # for a message of megabytes, and stacks of a few more threads
    config = json.loads(daemon.config_path.read_text())
    config["models"][0]["memory_limit"] = f"{limit}"
    daemon.config_path.write_text(json.dumps(config))
    assert daemon.inferctl("reload").returncode == 0


# Tokens, one a digit, that take more memory than a worker may have; the texts do not.
HUNGRY = "7" * 9_000_000


def test_requests_that_want_more_memory_than_there_is_are_refused_and_kill_nothing(tmp_path, model_path):
    """Whatever the call, and however many different ones there are."""
    with Daemon(tmp_path, [smollm2(model_path, **SMALL)], quick()) as daemon:
        limit_memory(daemon)
        for path, field in [("/v1/completions", "prompt"), ("/v1/embeddings", "input"), ("/tokenize", "content")]:
            for text in (HUNGRY, HUNGRY[1:], "x" + HUNGRY):
                status, answer = daemon.post(path, {"model": "smollm2", field: text})
                assert status == 400 and answer["error"]["type"] == "invalid_request_error", answer
            status, answer = daemon.post(path, {"model": "smollm2", field: "Hi"})
            assert status == 200, answer
        worker = worker_of(daemon, "smollm2")
        assert not worker.get("exits") and not worker.get("restarts"), worker


def test_requests_that_wait_in_a_queue_are_not_blamed_for_deaths(tmp_path, model_path):
    with Daemon(tmp_path, [smollm2(model_path, batch={"max_sequences": 1})], quick()) as daemon:
        body = {"model": "smollm2", "prompt": "One, two, three,", "max_tokens": 96, "temperature": 0, "ignore_eos": True}
        expected = ask(daemon.http_port, "/v1/completions", body).content
        answers = []
        clients = [threading.Thread(target=lambda: answers.append(ask(daemon.http_port, "/v1/completions", body))) for _ in range(8)]
        for client in clients:
            client.start()
        # All but one wait in the worker when it dies first, and in the gateway after that.
        for waiting in (7, 0, 0):
            wait_for(lambda: metric(daemon, "inferd_requests_running{") == 1 and metric(daemon, "inferd_requests_waiting{") >= waiting, 60, "the requests")
            pid = worker_of(daemon, "smollm2")["pid"]
            os.kill(pid, 9)
            wait_for_new(daemon, "smollm2", pid)
        for client in clients:
            client.join(120)
        # All but one at most: the one that was computed at two of the kills, should it have been the same.
        failed = [answer.error for answer in answers if answer.error is not None]
        assert len(failed) <= 1, failed
        assert all(answer.content == expected for answer in answers if answer.error is None)


def test_a_worker_that_crashes_again_and_again_fails_and_can_be_loaded(tmp_path, model_path, tiny_path):  # noqa: F811
    settings = {"supervisor": {"restart": {"first_delay": "10ms", "max_delay": "50ms", "max": 2}}}
    with Daemon(tmp_path, two(model_path, tiny_path), settings) as daemon:
        for left in (2, 1, 0):
            pid = worker_of(daemon, "smollm2")["pid"]
            os.kill(pid, 9)
            if left > 0:
                wait_for_new(daemon, "smollm2", pid)
        worker = wait_for(lambda: worker_of(daemon, "smollm2")["state"] == "FAILED" and worker_of(daemon, "smollm2"), 60, "FAILED")
        assert worker["restarts"] == 2 and worker["exits"] == {"signal": 3} and "signal 9" in worker["last_error"]
        status, body = daemon.get("/ready")
        assert status == 503 and {"smollm2": "FAILED", "tiny": "READY"}.items() <= {
            model["model"]: model["state"] for model in json.loads(body)["models"]}.items(), body
        status, body = daemon.post("/v1/completions", {"model": "smollm2", "prompt": "Hi", "max_tokens": 1})
        assert status == 503 and body["error"]["code"] == "model_unavailable"
        assert daemon.post("/v1/completions", TINY)[0] == 200
        assert daemon.inferctl("load", "smollm2").returncode == 0
        assert daemon.is_ready()


def test_streams_that_give_way_for_want_of_room_lose_nothing(tmp_path, model_path):
    # Room for some 500 tokens: sequences of 190 begin, grow, and push each other out.
    requests = [("/v1/completions", {"model": "smollm2", "prompt": f"A story of number {i}:", "max_tokens": 180, "temperature": 0.8, "seed": i,
                                     "ignore_eos": True, "stream": i % 2 == 0}) for i in range(4)]
    with Daemon(tmp_path, [smollm2(model_path, context=256, kv_cache={"bytes": "12MiB"})], quick()) as daemon:
        with Load(daemon.http_port, "smollm2", clients=8, requests=requests) as load:
            wait_for(lambda: metric(daemon, "inferd_preemptions_total") > 0, 120, "a sequence that gives way")
            wait_for_answers(load, 8)
        load.check(least=8)
