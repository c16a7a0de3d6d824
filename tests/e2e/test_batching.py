"""What one worker promises its many clients, over HTTP on the real daemon: bounds, priorities, deadlines, choices, sliding,
embeddings, and the metrics that show it."""
import concurrent.futures
import json
import os
import pathlib
import re
import threading
import urllib.request

import grpc
import pytest
from conftest import smollm2
from daemon import Daemon, of_model, samples, wait_for

ARCHS = pathlib.Path(os.environ.get("INFERD_TEST_ARCHS", os.path.expanduser("~/.cache/inferd/archs")))
LONG = "The ships sail on the wide sea and come home in the evening. " * 40


@pytest.fixture(scope="module")
def daemon(tmp_path_factory, model_path):
    models = [smollm2(model_path, context=1024, kv_cache={"bytes": "64MiB"}),
              {"name": "small", "path": model_path, "context": 2048, "kv_cache": {"bytes": "6MiB"}},
              {"name": "narrow", "path": model_path, "context": 1024, "kv_cache": {"bytes": "64MiB"}, "batch": {"max_sequences": 1}}]
    if (ARCHS / "bert.gguf").exists():
        models.append({"name": "encoder", "path": str(ARCHS / "bert.gguf"), "kv_cache": {"bytes": "16MiB"}})
    with Daemon(tmp_path_factory.mktemp("batching"), models) as running:
        yield running


def complete(daemon, model="smollm2", prompt="Once upon a time", **fields):
    return daemon.post("/v1/completions", {"model": model, "prompt": prompt, "max_tokens": 8, "temperature": 0, "ignore_eos": True, **fields})


def open_stream(daemon, **fields):
    """A stream that has begun; closing it ends the request."""
    body = {"prompt": "Once", "max_tokens": 900, "ignore_eos": True, "stream": True, **fields}
    request = urllib.request.Request(daemon.http + "/v1/completions", json.dumps(body).encode(), {"Content-Type": "application/json"})
    stream = urllib.request.urlopen(request)
    assert stream.readline().startswith(b"data: ")
    return stream


def test_a_request_larger_than_the_pool_is_a_400_with_both_numbers(daemon):
    status, answer = complete(daemon, "small", LONG)
    assert status == 400 and answer["error"]["code"] == "context_length_exceeded"
    assert re.search(r"the KV cache holds \d+ tokens, but prompt and max_tokens together have \d+ tokens", answer["error"]["message"])
    status, answer = complete(daemon, "small", "Once", max_tokens=1000)
    assert status == 400 and answer["error"]["code"] == "context_length_exceeded"
    assert complete(daemon, "small", "Once", max_tokens=50)[0] == 200
    status, answer = daemon.post("/v1/embeddings", {"model": "small", "input": LONG})
    assert status == 400 and re.search(r"the KV cache holds \d+ tokens, but the input has \d+ tokens", answer["error"]["message"])


def test_a_prompt_beyond_the_context_is_a_400_with_both_numbers(daemon):
    status, answer = complete(daemon, prompt=LONG * 3)
    assert status == 400 and answer["error"]["code"] == "context_length_exceeded"
    assert re.search(r"maximum context length is 1024 tokens.* \d{4} tokens", answer["error"]["message"])


def test_sliding_tells_how_many_tokens_it_dropped(daemon):
    status, answer = complete(daemon, prompt=LONG, max_tokens=700, overflow="slide", overflow_keep=16)
    assert status == 200 and answer["usage"]["completion_tokens"] == 700
    assert answer["usage"]["dropped_tokens"] >= 500 and answer["choices"][0]["finish_reason"] == "length"
    status, answer = complete(daemon, prompt=LONG, max_tokens=700)
    assert answer["choices"][0]["finish_reason"] == "length" and "dropped_tokens" not in answer["usage"]
    assert answer["usage"]["total_tokens"] == 1024


def test_a_better_priority_goes_first(daemon):
    ends = []
    lock = threading.Lock()

    def ask(priority):
        assert complete(daemon, "narrow", "Once " + priority, max_tokens=24, priority=priority)[0] == 200
        with lock:
            ends.append(priority)

    with open_stream(daemon, model="narrow"):
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            waiting = lambda count: wait_for(
                lambda: of_model(samples(daemon), "inferd_requests_waiting", "narrow") == count, what=f"{count} waiting")
            for count, priority in enumerate(["batch", "normal"], 1):
                pool.submit(ask, priority)
                waiting(count)
            pool.submit(ask, "high")  # it even takes the stream's place, whose priority is normal
            wait_for(lambda: ends, what="an answer")
            assert ends[0] == "high"
    wait_for(lambda: len(ends) == 3, what="the others")


def test_a_deadline_ends_a_request_with_504(daemon):
    status, answer = complete(daemon, max_tokens=900, deadline_ms=150)
    assert status == 504 and answer["error"]["code"] == "deadline_exceeded"


def test_a_deadline_that_cannot_be_met_is_a_429_of_its_own(daemon, protos):
    """The prompt, of which nothing is known, takes longer by the speed that was measured."""
    status, answer = complete(daemon, prompt="Once: " + LONG, max_tokens=1, deadline_ms=20)
    assert status == 429 and answer["error"]["code"] == "deadline_too_short", answer
    pb = protos.inference
    with grpc.insecure_channel(daemon.grpc) as channel:
        stub = protos.inference_grpc.InferenceStub(channel)
        with pytest.raises(grpc.RpcError) as error:
            list(stub.Generate(pb.GenerateRequest(text="Twice: " + LONG, deadline_ms=20)))
        assert error.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
        assert dict(error.value.trailing_metadata())["inferd-error-code"] == "deadline_too_short"
    values = samples(daemon)
    refused = [value for name, value in values.items() if name.startswith("inferd_rejections_total") and 'model="smollm2"' in name
               and 'reason="deadline_too_short"' in name]
    answered = [value for name, value in values.items() if name.startswith("inferd_requests_total") and 'code="deadline_too_short"' in name]
    assert refused == [2] and answered == [1, 1], values


def test_as_many_choices_as_may_be_share_one_prompt(daemon):
    status, answer = complete(daemon, prompt=LONG, n=128, max_tokens=2, temperature=1, seed=5)
    assert status == 200 and [choice["index"] for choice in answer["choices"]] == list(range(128))
    assert answer["usage"]["completion_tokens"] == 256
    assert len({choice["text"] for choice in answer["choices"]}) > 20
    one = complete(daemon, prompt=LONG, n=1, max_tokens=2, temperature=1, seed=5)[1]
    assert one["choices"][0]["text"] == answer["choices"][0]["text"]


@pytest.mark.skipif(not (ARCHS / "bert.gguf").exists(), reason="the oracles' small models are not on this machine")
def test_texts_of_any_length_are_embedded_together(daemon):
    texts = [[7 + i * 13 % 200 for i in range(length)] for length in (1, 3, 64, 65, 200, 256, 2, 100)]
    embed = lambda body: daemon.post("/v1/embeddings", {"model": "encoder", **body})
    status, together = embed({"input": texts})
    assert status == 200 and together["usage"]["prompt_tokens"] == sum(map(len, texts))
    for text, entry in zip(texts, together["data"]):
        assert embed({"input": [text]})[1]["data"][0]["embedding"] == entry["embedding"]
        assert abs(sum(x * x for x in entry["embedding"]) - 1) < 1e-4
    status, answer = embed({"input": [[9] * 257]})
    assert status == 400 and answer["error"]["code"] == "context_length_exceeded"
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda text: embed({"input": [text]})[1]["data"][0]["embedding"], texts))
    assert answers == [entry["embedding"] for entry in together["data"]]


def test_a_short_text_does_not_wait_for_a_big_request(daemon):
    embed = lambda body: daemon.post("/v1/embeddings", {"model": "smollm2", **body})
    text = list(range(500, 700))
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        big = pool.submit(embed, {"input": [text] * 100, "priority": "normal"})
        wait_for(lambda: of_model(samples(daemon), "inferd_requests_running", "smollm2") == 1, what="the big request")
        for priority in ["normal", "high"]:
            status, answer = embed({"input": [text[:20]], "priority": priority})
            assert status == 200 and answer["usage"]["prompt_tokens"] == 20
        assert complete(daemon, max_tokens=2)[0] == 200
        assert not big.done()
        status, answer = big.result()
        assert status == 200 and len(answer["data"]) == 100
    status, answer = embed({"input": "Once", "priority": "urgent"})
    assert status == 400 and answer["error"]["param"] == "priority"


# What reference dashboards of such servers show.
METRICS = """
inferd_worker_time_to_first_token_seconds_count inferd_worker_inter_token_latency_seconds_count inferd_worker_request_seconds_count
inferd_worker_queue_seconds_count inferd_worker_prefill_seconds_count inferd_worker_decode_seconds_count
inferd_worker_prompt_tokens_count inferd_worker_generation_tokens_count inferd_worker_batch_tokens_count
inferd_requests_total inferd_answers_finished_total inferd_prompt_tokens_total inferd_cached_prompt_tokens_total
inferd_generation_tokens_total inferd_prefix_cache_queries_total inferd_prefix_cache_hits_total inferd_preemptions_total
inferd_rejections_total inferd_draft_tokens_proposed_total inferd_draft_tokens_accepted_total inferd_worker_restarts_total
inferd_reloads_total inferd_log_lines_dropped_total inferd_requests_running inferd_requests_waiting inferd_kv_pages_used
inferd_kv_pages inferd_kv_pages_cached inferd_kv_bytes inferd_model_info inferd_worker_state inferd_weights_bytes
inferd_weights_resident_bytes
""".split()


def test_every_metric_is_there_with_its_model(daemon):
    complete(daemon)
    before = samples(daemon)
    complete(daemon, prompt=LONG * 3)
    values = samples(daemon)
    rejected = 'inferd_rejections_total{model="smollm2",version="1",reason="too_long"}'
    assert values[rejected] == before[rejected] + 1
    assert of_model(values, "inferd_answers_finished_total", "smollm2") >= 1
    resident, weights = of_model(values, "inferd_weights_resident_bytes", "smollm2"), of_model(values, "inferd_weights_bytes", "smollm2")
    assert 0.5 * weights < resident <= weights
    names = {key.split("{")[0] for key in values}
    assert not [name for name in METRICS if name not in names]
    without_model = [key for key in values if key.startswith("inferd_") and "model=" not in key]
    assert not without_model
    for name in METRICS:
        if name not in ("inferd_reloads_total",):
            assert any('model="smollm2"' in key for key in values if key.startswith(name + "{")), name


def test_top_shows_sequences_speed_pool_queue_and_hits(daemon):
    with open_stream(daemon, model="narrow"):
        lines = daemon.inferctl("top", "--rounds", "2").stdout.splitlines()
    rows = [line.split() for line in lines if line.startswith("narrow@")]
    assert lines[0].split() == ["MODEL", "STATE", "RUNNING", "WAITING", "SEQUENCES", "PROMPT/s", "TOKENS/s", "KV", "CACHED", "MiB"]
    assert rows[-1][2] == rows[-1][4] == "1" and float(rows[-1][6]) > 1 and float(rows[-1][7].rstrip("%")) > 0


def anonymous_bytes(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return sum(int(status.split(field + ":")[1].split()[0]) * 1024 for field in ("RssAnon", "RssShmem"))


def test_memory_stays_within_the_pool_and_96_mib(tmp_path, model_path):
    pool = 24 << 20
    schema = {"type": "object", "properties": {f"k{i}": {"type": "string", "maxLength": 20} for i in range(6)}}
    kinds = [{"logprobs": 20, "echo": True}, {"n": 4}, {"logprobs": 20}, {"bad_words": ["the", "sea and"], "dry_multiplier": 0.8},
             {"guided_regex": "[a-z ]{50,200}"}, {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}},
             {"mirostat": 2}, {"temperature": 1, "top_p": 0.9}]
    with Daemon(tmp_path, [smollm2(model_path, kv_cache={"bytes": pool}, queue={"max_wait": "0s"})]) as running:
        worker = next(worker["pid"] for worker in running.status()["workers"])
        peak, ended = [0], threading.Event()

        def watch():
            while not ended.wait(0.02):
                peak[0] = max(peak[0], anonymous_bytes(worker))

        def ask(number):
            words = LONG.split()[:20 if number % 3 else 300]
            body = {"model": "smollm2", "prompt": f"{number} " + " ".join(words), "max_tokens": 16, **kinds[number % len(kinds)]}
            return running.post("/v1/completions", body)[0]

        watcher = threading.Thread(target=watch)
        watcher.start()
        with concurrent.futures.ThreadPoolExecutor(50) as clients:
            assert set(clients.map(ask, range(100))) == {200}
        ended.set()
        watcher.join()
        total = of_model(samples(running), "inferd_kv_bytes", "smollm2")
    assert total < peak[0] <= pool + (96 << 20), f"{peak[0] >> 20} MiB"
