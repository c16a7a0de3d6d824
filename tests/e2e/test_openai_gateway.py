"""The official client against the gateway alone: the worker is a stub whose answers the prompt scripts."""
import asyncio
import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import threading
import urllib.request

import openai
import pytest

from daemon import wait_for
from gateway import Gateway


@pytest.fixture(scope="module")
def gateway(tmp_path_factory):
    with Gateway(tmp_path_factory.mktemp("gateway")) as running:
        yield running


@pytest.fixture(scope="module")
def client(gateway):
    return openai.OpenAI(base_url=gateway.http + "/v1", api_key="none", max_retries=0, timeout=60)


def ask(prompt):
    return [{"role": "user", "content": prompt}]


def words(count):
    return "".join(f"w{i} " for i in range(count))


def test_chat_whole(client):
    answer = client.chat.completions.create(model="chat", messages=ask("tokens=4"))
    assert answer.choices[0].message.content == words(4) and answer.choices[0].finish_reason == "stop"
    assert answer.usage.completion_tokens == 4 and answer.usage.total_tokens == answer.usage.prompt_tokens + 4
    assert answer.id.startswith("chatcmpl-") and answer.system_fingerprint == "fp_0123456789abcdef"


def test_chat_streamed(client):
    stream = client.chat.completions.create(model="chat", messages=ask("tokens=5 think=2"), stream=True,
                                            stream_options={"include_usage": True})
    chunks = list(stream)
    assert chunks[0].choices[0].delta.role == "assistant"
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    assert "".join(delta.content or "" for delta in deltas) == "w2 w3 w4 "
    assert "".join(getattr(delta, "reasoning_content", None) or "" for delta in deltas) == "w0 w1 "
    assert [c.choices[0].finish_reason for c in chunks if c.choices and c.choices[0].finish_reason] == ["stop"]
    assert chunks[-1].choices == [] and chunks[-1].usage.completion_tokens == 5
    assert len({chunk.id for chunk in chunks}) == 1


def test_max_tokens_ends_with_length(client):
    answer = client.chat.completions.create(model="chat", messages=ask("tokens=9"), max_tokens=3)
    assert answer.choices[0].message.content == words(3) and answer.choices[0].finish_reason == "length"


def test_choices(client):
    answer = client.chat.completions.create(model="chat", messages=ask("tokens=3"), n=3)
    assert [choice.index for choice in answer.choices] == [0, 1, 2]
    assert {choice.message.content for choice in answer.choices} == {words(3)}
    texts = ["", ""]
    for chunk in client.chat.completions.create(model="chat", messages=ask("tokens=3"), n=2, stream=True):
        texts[chunk.choices[0].index] += chunk.choices[0].delta.content or ""
    assert texts == [words(3)] * 2


def test_tool_call_is_the_same_whole_and_streamed(client):
    tools = [{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}]
    whole = client.chat.completions.create(model="chat", messages=ask("tokens=0 call=get_weather"), tools=tools)
    call = whole.choices[0].message.tool_calls[0]
    assert whole.choices[0].finish_reason == "tool_calls" and whole.choices[0].message.content is None
    assert (call.function.name, json.loads(call.function.arguments)) == ("get_weather", {"city": "Bonn"})
    with client.chat.completions.stream(model="chat", messages=ask("tokens=0 call=get_weather"), tools=tools) as stream:
        final = stream.get_final_completion()
    streamed = final.choices[0].message.tool_calls[0]
    assert (streamed.id, streamed.function.arguments) == (call.id, call.function.arguments)


def test_logprobs(client):
    answer = client.chat.completions.create(model="chat", messages=ask("tokens=2"), logprobs=True, top_logprobs=2)
    entries = answer.choices[0].logprobs.content
    assert [entry.token for entry in entries] == ["w0 ", "w1 "] and entries[0].bytes == list(b"w0 ")
    assert [top.token for top in entries[0].top_logprobs] == ["w0 ", "alt1"]


def test_completions(client):
    answer = client.completions.create(model="chat", prompt=["tokens=2", "tokens=3"], echo=True, logprobs=1)
    assert [choice.text for choice in answer.choices] == ["tokens=2" + words(2), "tokens=3" + words(3)]
    assert answer.choices[1].logprobs.tokens == ["w0 ", "w1 ", "w2 "]
    by_id = client.completions.create(model="chat", prompt=list(b"hi"), echo=True, max_tokens=1)
    assert by_id.choices[0].text == "hi" + words(1)  # the stub's tokens are bytes
    stream = client.completions.create(model="chat", prompt="tokens=4", stream=True)
    assert "".join(chunk.choices[0].text for chunk in stream) == words(4)


def test_many_prompts_at_once(client):
    answer = client.completions.create(model="chat", prompt=[f"tokens={i % 7}" for i in range(200)])
    assert [choice.text for choice in answer.choices] == [words(i % 7) for i in range(200)]


def test_embeddings_as_floats_and_base64(client):
    by_default = client.embeddings.create(model="chat", input=["a", "bc"])  # the client asks for base64
    assert [list(entry.embedding) for entry in by_default.data] == [[0.5, -0.25, 1.0], [0.5, -0.25, 2.0]]
    floats = client.embeddings.create(model="chat", input="abc", encoding_format="float")
    assert floats.data[0].embedding == [0.5, -0.25, 3.0] and floats.usage.prompt_tokens == 3


def test_models(client):
    models = client.models.list().data
    assert [model.id for model in models] == ["chat", "other"] and models[0].owned_by == "inferd"
    one = client.models.retrieve("chat-alias")
    assert one.id == "chat" and one.meta["n_ctx"] == 4096 and one.status == "READY"
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("nobody")


def test_aliases(client):
    assert client.chat.completions.create(model="chat-alias", messages=ask("tokens=1")).model == "chat"


def test_paths_of_other_servers_lead_to_the_same_answers(gateway):
    def get(path):
        return json.load(urllib.request.urlopen(gateway.http + path, timeout=60))
    assert get("/models") == get("/v1/models")
    assert get("/v1/health") == get("/ping") == get("/health") == {"status": "ok"}
    assert set(get("/version")) == {"version"} and get("/version")["version"].count(".") == 2
    without = openai.OpenAI(base_url=gateway.http, api_key="none", max_retries=0, timeout=60)
    assert without.chat.completions.create(model="chat", messages=ask("tokens=3")).choices[0].message.content == words(3)


def test_async_and_eight_at_once(gateway):
    async def one(client, i):
        stream = await client.chat.completions.create(model="chat", messages=ask(f"tokens={i + 20} delay_us=1000"),
                                                      stream=True)
        return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])

    async def main():
        async with openai.AsyncOpenAI(base_url=gateway.http + "/v1", api_key="none", max_retries=0) as client:
            return await asyncio.gather(*[one(client, i) for i in range(8)])

    assert asyncio.run(main()) == [words(i + 20) for i in range(8)]


@pytest.mark.parametrize("fields,error,param,code", [
    ({"model": "nobody"}, openai.NotFoundError, "model", "model_not_found"),
    ({"temperature": "hot"}, openai.BadRequestError, "temperature", None),
    ({"max_tokens": -2}, openai.BadRequestError, "max_tokens", None),
    ({"messages": []}, openai.BadRequestError, "messages", None),
    ({"messages": ask("refuse=11 message=maximum_context_length_is_9_tokens")}, openai.BadRequestError, None,
     "context_length_exceeded"),
    ({"messages": ask("refuse=13")}, openai.InternalServerError, None, "internal_error"),
])
def test_errors(client, fields, error, param, code):
    with pytest.raises(error) as raised:
        client.chat.completions.create(**{"model": "chat", "messages": ask("tokens=1"), **fields})
    assert (raised.value.param, raised.value.code) == (param, code)
    assert raised.value.request_id


def test_queue_limit_says_when_to_come_back(client):
    with pytest.raises(openai.RateLimitError) as raised:
        client.chat.completions.create(model="chat", messages=ask("refuse=8"))
    assert raised.value.code == "queue_full" and raised.value.response.headers["retry-after"] == "3"


def test_error_in_mid_stream_is_an_event(client):
    stream = client.chat.completions.create(model="chat", messages=ask("tokens=9 fail_at=2"), stream=True)
    text = ""
    with pytest.raises(openai.APIError) as raised:
        for chunk in stream:
            text += chunk.choices[0].delta.content or ""
    assert text == words(2) and raised.value.code == "internal_error" and "failed" not in raised.value.message


def test_unknown_fields_are_named(gateway):
    body = json.dumps({"model": "chat", "messages": ask("tokens=1"), "foo": 1}).encode()
    request = urllib.request.Request(gateway.http + "/v1/chat/completions", body, {"Content-Type": "application/json"})
    assert json.load(urllib.request.urlopen(request))["warnings"] == ["unknown field 'foo' was ignored"]


def test_connection_lives_on_after_streams(gateway):
    connection = http.client.HTTPConnection("127.0.0.1", gateway.http_port)
    connection.connect()
    local_port = connection.sock.getsockname()[1]
    body = json.dumps({"model": "chat", "messages": ask("tokens=2"), "stream": True})
    for _ in range(3):
        connection.request("POST", "/v1/chat/completions", body, {"Content-Type": "application/json"})
        assert connection.getresponse().read().endswith(b"data: [DONE]\n\n")
        assert connection.sock.getsockname()[1] == local_port


def test_disconnect_cancels_the_worker(gateway, client):
    cancelled = lambda: next(line for line in gateway.metrics().splitlines()
                             if line.startswith("inferd_rejections_total") and '"cancelled"' in line and '"chat"' in line)
    before = cancelled()
    stream = client.chat.completions.create(model="chat", messages=ask("tokens=100000 delay_us=1000"), stream=True)
    next(iter(stream))
    stream.close()
    wait_for(lambda: cancelled() != before, 60, "the worker's call ended")


def test_disconnect_before_the_answer_cancels_too(gateway):
    connection = socket.create_connection(("127.0.0.1", gateway.http_port))
    body = json.dumps({"model": "chat", "messages": ask("tokens=100000 delay_us=1000")})
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nX-Request-Id: gone-1\r\n"
    connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
    active = lambda: 'inferd_requests_active{model="chat"} 1' in gateway.metrics()
    wait_for(active, 60, "the request runs")
    connection.close()
    assert gateway.request_line("gone-1")["client_gone"]


def test_a_body_that_breaks_off_is_logged_as_such(gateway):
    with socket.create_connection(("127.0.0.1", gateway.http_port)) as connection:
        connection.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                           b"X-Request-Id: broken-1\r\nContent-Length: 100\r\n\r\n{")
    line = gateway.request_line("broken-1")
    assert (line["status"], line["error"], line["client_gone"], line["endpoint"]) == (499, "cancelled", True, "/v1/completions")


def test_a_body_that_is_too_large_counts_for_its_endpoint(gateway):
    with socket.create_connection(("127.0.0.1", gateway.http_port)) as connection:
        connection.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                           b"X-Request-Id: large-1\r\nContent-Length: 99999999\r\n\r\n")
        assert connection.recv(4096).startswith(b"HTTP/1.1 413 ")
    line = gateway.request_line("large-1")
    assert (line["status"], line["endpoint"]) == (413, "/v1/completions")


def test_stream_goes_on_when_the_worker_is_killed(gateway, client):
    stream = client.chat.completions.create(model="chat", messages=ask("tokens=60 delay_us=20000"), stream=True,
                                            stream_options={"include_usage": True})
    text, usage = "", None
    for i, chunk in enumerate(stream):
        if chunk.choices:
            text += chunk.choices[0].delta.content or ""
        usage = chunk.usage or usage
        if i == 10:
            gateway.kill_worker()
            restart = threading.Timer(0.2, gateway.start_worker)
            restart.start()
    restart.join()
    assert text == words(60) and usage.completion_tokens == 60
    assert 'inferd_requests_resumed_total{model="chat"} 1' in gateway.metrics()


def test_metrics_are_clean_and_have_models(gateway, client):
    client.chat.completions.create(model="chat", messages=ask("tokens=3"))
    page = gateway.metrics()
    lint = subprocess.run(["promtool", "check", "metrics"], input=page.encode(), capture_output=True)
    assert lint.returncode == 0 and not lint.stderr, lint.stderr.decode()
    samples = [line for line in page.splitlines() if line and not line.startswith("#")]
    assert all('model="' in line for line in samples)
    assert 'inferd_up{model="chat",version="1",process="worker"} 1' in samples
    names = {line.split("{")[0] for line in samples}
    assert {"inferd_requests_total", "inferd_time_to_first_token_seconds_bucket", "inferd_request_duration_seconds_sum",
            "inferd_inter_token_latency_seconds_count", "inferd_worker_queue_seconds_bucket"} <= names


def is_stopped(pid):
    """Whether no thread of the process runs any more: each stops when the kernel next lets it run."""
    states = [stat.read_text().rsplit(")", 1)[1].split()[0] for stat in pathlib.Path(f"/proc/{pid}/task").glob("*/stat")]
    return bool(states) and set(states) == {"T"}


def test_a_worker_that_hangs_does_not_delay_the_scrape(gateway):
    gateway.worker.send_signal(signal.SIGSTOP)
    try:
        wait_for(lambda: is_stopped(gateway.worker.pid), what="the stop of the worker")
        page = gateway.metrics()
    finally:
        gateway.worker.send_signal(signal.SIGCONT)
    up = [line for line in page.splitlines() if line.startswith("inferd_up{")]
    assert 'inferd_up{model="chat",version="1",process="worker"} 0' in up


def test_one_log_line_a_request_without_prompt_or_control_characters(gateway, client):
    answer = client.chat.completions.with_raw_response.create(
        model="chat", messages=ask("tokens=7 secret-words"), extra_headers={"X-Request-Id": "my.id-1"})
    assert answer.headers["x-request-id"] == "my.id-1"
    line = gateway.request_line("my.id-1")
    assert (line["model"], line["status"], line["completion_tokens"]) == ("chat", 200, 7)
    assert {"prompt_tokens", "duration_ms", "tokens_per_second"} <= line.keys()
    assert "secret-words" not in gateway.log_path.read_text()


def test_head_options_and_wrong_methods(gateway):
    def call(method, path, headers={}):
        connection = http.client.HTTPConnection("127.0.0.1", gateway.http_port)
        connection.request(method, path, headers=headers)
        response = connection.getresponse()
        return response.status, response.getheader("Allow"), response.read()

    assert call("HEAD", "/health") == (200, None, b"")
    assert call("OPTIONS", "/v1/chat/completions")[:2] == (204, "POST, OPTIONS")
    assert call("GET", "/v1/chat/completions")[:2] == (405, "POST, OPTIONS")
    assert call("DELETE", "/v1/models")[:2] == (405, "GET, HEAD, OPTIONS")
    assert call("GET", "//v1/../v1/models")[0] == 200
    assert call("GET", "/v2")[0] == 404
    assert call("POST", "/v1/completions", {"Content-Type": "text/plain", "Content-Length": "0", "Origin": "https://example.org"})[0] == 415
    assert call("POST", "/v1/completions", {"Content-Type": "text/plain", "Content-Length": "0"})[0] == 400


@pytest.mark.parametrize("content_type", ["application/x-www-form-urlencoded", "text/plain; charset=utf-8", "application/octet-stream", "application/json", None])
def test_json_is_taken_under_every_content_type(gateway, content_type):
    connection = http.client.HTTPConnection("127.0.0.1", gateway.http_port)
    body = json.dumps({"model": "chat", "messages": ask("tokens=2")})
    connection.request("POST", "/v1/chat/completions", body, {"Content-Type": content_type} if content_type else {})
    response = connection.getresponse()
    assert response.status == 200 and json.load(response)["choices"][0]["finish_reason"]


def test_keys_models_and_rates(tmp_path):
    (tmp_path / "keys.yaml").write_text("""keys:
- {name: all, sha256: 2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae}
- {name: one, sha256: fcde2b2edba56bf408601fb721fe9b5c338d10ee429ea04fae5511b68fbf8fb9, models: [other], requests_per_minute: 4}
""")
    with Gateway(tmp_path, {"auth": {"keys_file": str(tmp_path / "keys.yaml")}}) as gateway:
        client = lambda key: openai.OpenAI(base_url=gateway.http + "/v1", api_key=key, max_retries=0)
        create = lambda key, model: client(key).chat.completions.create(model=model, messages=ask("tokens=1"))
        with pytest.raises(openai.AuthenticationError) as wrong:
            create("wrong", "chat")
        assert wrong.value.code == "invalid_api_key" and wrong.value.response.headers["www-authenticate"] == "Bearer"
        assert create("foo", "chat") and create("bar", "other")
        with pytest.raises(openai.PermissionDeniedError) as forbidden:
            create("bar", "chat")
        assert forbidden.value.code == "model_not_allowed"
        assert [model.id for model in client("bar").models.list().data] == ["other"]
        create("bar", "other")
        with pytest.raises(openai.RateLimitError) as limited:
            create("bar", "other")
        assert limited.value.code == "rate_limit_exceeded" and 1 <= int(limited.value.response.headers["retry-after"]) <= 15
        assert urllib.request.urlopen(gateway.http + "/health").status == 200
        log = gateway.log_path.read_text()
        assert '"key":"one"' in log and "Bearer" not in log and '"foo"' not in log


def test_sigterm_lets_streams_finish(tmp_path):
    with Gateway(tmp_path) as gateway:
        client = openai.OpenAI(base_url=gateway.http + "/v1", api_key="none", max_retries=0)
        stream = client.chat.completions.create(model="chat", messages=ask("tokens=40 delay_us=20000"), stream=True)
        text = next(iter(stream)).choices[0].delta.content
        gateway.process.terminate()
        refused = lambda: socket.socket().connect_ex(("127.0.0.1", gateway.http_port)) != 0
        wait_for(refused, 60, "new connections are refused")
        text += "".join(chunk.choices[0].delta.content or "" for chunk in stream)
        assert text == words(40)
        assert gateway.process.wait(60) == 0


def test_ends_with_its_supervisor(tmp_path):
    with Gateway(tmp_path) as gateway:
        os.close(gateway.write_end)
        assert gateway.process.wait(60) != 0
        gateway.write_end = os.dup(gateway.lifeline)


@pytest.mark.long
def test_a_quiet_stream_gets_comments(gateway):
    connection = http.client.HTTPConnection("127.0.0.1", gateway.http_port, timeout=60)
    body = json.dumps({"model": "chat", "messages": ask("tokens=1 delay_us=32000000"), "stream": True})
    connection.request("POST", "/v1/chat/completions", body, {"Content-Type": "application/json"})
    assert connection.getresponse().read().count(b"\n: still working\n") == 2
