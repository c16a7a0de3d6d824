"""The official anthropic package against the gateway with a scripted worker: shapes, events, errors, keys, models."""
import asyncio
import hashlib
import http.client
import json
import urllib.request

import anthropic
import httpx2
import openai
import pytest
from gateway import Gateway

WEATHER = {"name": "get_weather", "description": "The weather of a city.",
           "input_schema": {"type": "object", "properties": {"city": {"type": "string", "maxLength": 9}}, "required": ["city"], "additionalProperties": False}}
SCRIPTS = ["tokens=5", "tokens=5 think=2", "tokens=2 call=get_weather", "tokens=0", "tokens=9 think=9", "tokens=6 think=3 call=get_weather"]


@pytest.fixture(scope="module")
def gateway(tmp_path_factory):
    with Gateway(tmp_path_factory.mktemp("gateway"), extra={"limits": {"body": "64KiB"}}) as running:
        yield running


def client_of(server, key="none", **changes):
    return anthropic.Anthropic(base_url=server.http, api_key=key, max_retries=0, timeout=120, **changes)


@pytest.fixture(scope="module")
def client(gateway):
    return client_of(gateway)


def ask(client, content, **changes):
    return client.messages.create(**{"model": "chat", "max_tokens": 50, "messages": [{"role": "user", "content": content}], **changes})


def joined(client, **arguments):
    """The message that the package makes of a stream."""
    with client.messages.stream(**arguments) as stream:
        return stream.get_final_message()


def content_of(message):
    """All but the id, and how much of the prompt was computed before."""
    content = message.to_dict()
    content.pop("id")
    content["usage"]["input_tokens"] += content["usage"].pop("cache_read_input_tokens")
    return content


def post(server, path, body, headers=()):
    """(status, headers, bytes) of a request as no package would send it."""
    connection = http.client.HTTPConnection("127.0.0.1", server.http_port, timeout=60)
    connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json", **dict(headers)})
    response = connection.getresponse()
    answer = response.status, response.headers, response.read()
    connection.close()
    return answer


def scripted(script, **changes):
    return {"model": "chat", "max_tokens": 50, "messages": [{"role": "user", "content": script}], **changes}


def test_whole_message(client):
    message = ask(client, "tokens=4")
    assert [block.to_dict() for block in message.content] == [{"type": "text", "text": "w0 w1 w2 w3 "}]
    assert (message.role, message.type, message.stop_reason, message.stop_sequence) == ("assistant", "message", "end_turn", None)
    assert message.usage.output_tokens == 4 and message.usage.input_tokens == len("tokens=4") and message.id.startswith("msg_")
    assert ask(client, "tokens=9", max_tokens=3).stop_reason == "max_tokens"
    thoughtful = ask(client, "tokens=3 think=1 call=get_weather", tools=[WEATHER])
    assert [block.type for block in thoughtful.content] == ["thinking", "text", "tool_use"] and thoughtful.stop_reason == "tool_use"
    assert thoughtful.content[2].input == {"city": "Bonn"} and thoughtful.content[2].name == "get_weather"


def test_stream_has_all_events_in_order(gateway):
    status, headers, answer = post(gateway, "/v1/messages", scripted("tokens=3 think=1 call=get_weather", stream=True))
    assert status == 200 and headers["Content-Type"].startswith("text/event-stream")
    events = []
    for record in answer.decode().strip().split("\n\n"):
        name, data = record.split("\n")
        events.append(json.loads(data.removeprefix("data: ")))
        assert name == "event: " + events[-1]["type"]
    kinds = [event["type"].replace("content_block_", "") + (":" + event["delta"]["type"] if event["type"] == "content_block_delta" else "") for event in events]
    assert kinds == ["message_start", "start", "delta:thinking_delta", "delta:signature_delta", "stop",
                     "start", "delta:text_delta", "delta:text_delta", "stop",
                     "start", "delta:input_json_delta", "delta:input_json_delta", "stop", "message_delta", "message_stop"]
    assert [event["index"] for event in events if "index" in event] == [0] * 4 + [1] * 4 + [2] * 4
    assert events[0]["message"]["content"] == [] and events[-2]["delta"]["stop_reason"] == "tool_use"


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_stream_cut_at_any_byte_is_the_whole_message(gateway, client, script):
    whole = content_of(client.messages.create(**scripted(script)))
    assert content_of(joined(client, **scripted(script))) == whole
    stream = post(gateway, "/v1/messages", scripted(script, stream=True))[2]

    def read(pieces):
        transport = httpx2.MockTransport(lambda _: httpx2.Response(200, headers={"Content-Type": "text/event-stream"}, content=iter(pieces)))
        return content_of(joined(client_of(gateway, http_client=httpx2.Client(transport=transport)), **scripted(script)))

    assert read([stream[i:i + 1] for i in range(len(stream))]) == whole
    for cut in range(1, len(stream)):
        assert read([stream[:cut], stream[cut:]]) == whole, cut


def test_a_worker_killed_in_the_stream_changes_nothing(gateway, client):
    arguments = scripted("tokens=300 think=3 delay_us=3000 call=get_weather", max_tokens=400)
    whole = content_of(client.messages.create(**arguments))
    with client.messages.stream(**arguments) as stream:
        seen = 0
        for event in stream:
            seen += event.type == "content_block_delta"
            if seen == 20 and event.type == "content_block_delta":
                gateway.kill_worker()
                gateway.start_worker()
        assert content_of(stream.get_final_message()) == whole
    assert 'inferd_requests_resumed_total{model="chat"} 1' in gateway.metrics()


def test_async_and_beta(gateway, client):
    async def run():
        async with anthropic.AsyncAnthropic(base_url=gateway.http, api_key="none", max_retries=0) as client:
            whole = await client.messages.create(**scripted("tokens=4"))
            async with client.messages.stream(**scripted("tokens=4")) as stream:
                texts = [text async for text in stream.text_stream]
                assert content_of(await stream.get_final_message()) == content_of(whole)
            counted = await client.messages.count_tokens(model="chat", messages=scripted("tokens=4")["messages"])
            return texts, counted.input_tokens, await asyncio.gather(*(client.messages.create(**scripted(f"tokens={n}")) for n in range(9)))

    texts, counted, answers = asyncio.run(run())
    assert texts == ["w0 ", "w1 ", "w2 ", "w3 "] and counted == len("tokens=4")
    assert [answer.usage.output_tokens for answer in answers] == list(range(9))
    assert client.beta.messages.create(**scripted("tokens=2"), betas=["output-128k-2025-02-19"]).content[0].text == "w0 w1 "


def test_the_package_runs_tools_by_itself(client):
    cities = []

    @anthropic.beta_tool
    def get_weather(city: str) -> str:
        """The weather of a city."""
        cities.append(city)
        return "tokens=3"

    runner = client.beta.messages.tool_runner(**scripted("tokens=1 call=get_weather"), tools=[get_weather])
    assert runner.until_done().content[0].text == "w0 w1 w2 " and cities == ["Bonn"]


def test_errors_have_their_classes_and_shape(client):
    image = {"type": "image", "source": {"type": "url", "url": "http://a"}}
    cases = [({"max_tokens": -1}, anthropic.BadRequestError, "invalid_request_error", "max_tokens: -1"),
             ({"model": "nobody"}, anthropic.NotFoundError, "not_found_error", "'nobody'"),
             ({"messages": []}, anthropic.BadRequestError, "invalid_request_error", "messages: is empty"),
             ({"messages": [{"role": "user", "content": [image]}]},
              anthropic.BadRequestError, "invalid_request_error", "messages[0].content[0].type: 'image' is not supported"),
             ({"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "The"}]},
              anthropic.BadRequestError, "invalid_request_error", "messages[1].role: the last turn is the assistant's"),
             ({"tools": [{"type": "web_search_20250305", "name": "web_search"}]}, anthropic.BadRequestError, "invalid_request_error", "web_search_20250305"),
             ({"tool_choice": {"type": "any"}}, anthropic.BadRequestError, "invalid_request_error", "tool_choice: needs tools"),
             ({"extra_headers": {"anthropic-version": "2023-01-01"}}, anthropic.BadRequestError, "invalid_request_error", "anthropic-version: '2023-01-01'"),
             ({"messages": [{"role": "user", "content": "x" * 70000}]}, anthropic.RequestTooLargeError, "request_too_large", "65536 bytes"),
             (scripted("refuse=8"), anthropic.RateLimitError, "rate_limit_error", "refused"),
             (scripted("refuse=11 message=long"), anthropic.BadRequestError, "invalid_request_error", "long"),
             (scripted("refuse=14"), anthropic.ServiceUnavailableError, "overloaded_error", "refused"),
             (scripted("refuse=4"), anthropic.DeadlineExceededError, "timeout_error", "deadline passed"),
             (scripted("refuse=13"), anthropic.InternalServerError, "api_error", "internal error")]
    for changes, kind, name, text in cases:
        for stream in (False, True):
            with pytest.raises(kind) as error:
                ask(client, "tokens=1", **{"stream": stream, **changes})
            body = error.value.body
            assert body["type"] == "error" and body["error"]["type"] == name and text in body["error"]["message"], body
            assert body["request_id"] == error.value.request_id == error.value.response.headers["x-request-id"]
    with pytest.raises(anthropic.APIStatusError) as error:
        list(ask(client, "tokens=5 fail_at=2", stream=True))
    assert error.value.body["error"]["type"] == "api_error"
    with pytest.raises(anthropic.BadRequestError, match="stop_sequences: bad"):
        ask(client, "refuse=3 field=stop message=bad")


def test_errors_of_paths_and_methods_have_the_same_shape(gateway, client):
    version = [("anthropic-version", "2023-06-01")]
    cases = [("/v1/messages/nowhere", (), 404, "not_found_error", "no such path"), ("/v1/nowhere", version, 404, "not_found_error", "no such path"),
             ("/v1/models", version, 405, "invalid_request_error", "GET"), ("/v1/messages", [("Origin", "http://a"), ("Content-Type", "text/plain")], 415, "invalid_request_error", "application/json"),
             ("/v1/messages", [("Content-Encoding", "br")], 415, "invalid_request_error", "'br'")]
    for path, headers, status, name, text in cases:
        answer = post(gateway, path, {}, headers)
        body = json.loads(answer[2])
        assert (answer[0], body["type"], body["error"]["type"]) == (status, "error", name) and text in body["error"]["message"], (path, answer)
        assert body["request_id"] == answer[1]["request-id"] == answer[1]["X-Request-Id"]
    with pytest.raises(anthropic.NotFoundError, match="message batches are not supported"):
        client.messages.batches.list()
    assert "type" not in json.loads(post(gateway, "/v1/nowhere", {})[2])  # OpenAI's form


def test_the_request_has_its_id_in_each_answer(client):
    answers = [client.messages.with_raw_response.create(**scripted("tokens=1")), client.messages.with_raw_response.create(**scripted("tokens=1", stream=True)),
               client.messages.with_raw_response.count_tokens(model="chat", messages=scripted("Hi")["messages"]), client.models.with_raw_response.list()]
    assert all(answer.headers["request-id"] == answer.headers["x-request-id"] for answer in answers)
    assert ask(client, "tokens=1")._request_id


def test_unknown_fields_are_named_at_every_depth(client):
    message = ask(client, [{"type": "text", "text": "tokens=1", "zz": 1}], tools=[{**WEATHER, "yy": 1}], extra_body={"xx": 1})
    assert message.warnings == ["unknown field 'messages[0].content[0].zz' was ignored", "unknown field 'tools[0].yy' was ignored", "unknown field 'xx' was ignored"]
    budget = ask(client, "tokens=1", thinking={"type": "enabled", "budget_tokens": 1024}, max_tokens=2000)
    assert budget.warnings == ["thinking.budget_tokens: is not kept, max_tokens alone bounds the answer"]
    newer = {"anthropic-version": "2031-01-01"}
    told = ["anthropic-version: 2031-01-01 is not known, the answer is one of 2026-10-21"]
    counted = client.messages.count_tokens(model="chat", messages=scripted("Hi")["messages"], extra_body={"xx": 1}, extra_headers=newer)
    assert counted.warnings == [*told, "unknown field 'xx' was ignored"]
    assert ask(client, "tokens=1", extra_headers=newer).warnings == client.models.list(extra_headers=newer).warnings == told


def test_thoughts_may_be_omitted(client):
    message = ask(client, "tokens=4 think=2", thinking={"type": "adaptive", "display": "omitted"})
    assert [block.type for block in message.content] == ["thinking", "text"] and message.content[0].thinking == ""


def test_models(gateway, client):
    models = list(client.models.list())
    assert [model.id for model in models] == ["chat", "other"] and models[0].type == "model" and models[0].created_at.year == 2023
    assert [model.id for model in client.models.list(limit=1)] == ["chat", "other"]  # page by page
    page = client.models.list(limit=1)
    assert page.has_more and (page.first_id, page.last_id) == ("chat", "chat") and not client.models.list(after_id="chat").has_more
    assert [model.id for model in client.models.list(before_id="other", limit=5).data] == ["chat"]
    assert client.models.list(extra_query={"order": "asc"}).warnings == ["unknown query parameter 'order' was ignored"]
    assert client.models.retrieve("chat-alias").id == "chat" and client.models.retrieve("chat").max_input_tokens == 4096
    assert [model.id for model in client.beta.models.list()] == ["chat", "other"]
    for query, text in (({"limit": 0}, "limit: '0'"), ({"limit": 1001}, "limit"), ({"after_id": "nobody"}, "after_id: the model 'nobody'"), ({"after_id": "chat", "before_id": "chat"}, "before_id")):
        with pytest.raises(anthropic.BadRequestError, match=text):
            client.models.list(**query)
    with pytest.raises(anthropic.NotFoundError):
        client.models.retrieve("nobody")
    assert [model.object for model in openai.OpenAI(base_url=gateway.http + "/v1", api_key="none").models.list()] == ["model", "model"]


def test_the_key_may_come_in_its_own_header(tmp_path):
    keys = tmp_path / "keys.yaml"
    keys.write_text(json.dumps({"keys": [{"name": "one", "sha256": hashlib.sha256(b"secret-key-of-one").hexdigest(), "models": ["chat"]}]}))
    keys.chmod(0o600)
    with Gateway(tmp_path, extra={"auth": {"keys_file": str(keys)}}) as gateway:
        older = {"X-Api-Key": "secret-key-of-one", "Authorization": anthropic.Omit()}  # as the package did before its second version
        for right in (client_of(gateway, "secret-key-of-one"), client_of(gateway, default_headers=older)):
            assert ask(right, "tokens=1").content[0].text == "w0 " and [model.id for model in right.models.list()] == ["chat"]
            with pytest.raises(anthropic.PermissionDeniedError) as error:
                ask(right, "tokens=1", model="other")
            assert error.value.body["error"]["type"] == "permission_error"
        for wrong in (client_of(gateway, "wrong"), client_of(gateway, default_headers={**older, "X-Api-Key": "wrong"})):
            with pytest.raises(anthropic.AuthenticationError) as error:
                ask(wrong, "tokens=1")
            assert error.value.body["error"]["type"] == "authentication_error"
        assert post(gateway, "/v1/messages", scripted("tokens=1"))[0] == 401
        ready = urllib.request.Request(gateway.http + "/ready", headers={"x-api-key": "secret-key-of-one"})
        assert b"chat" in urllib.request.urlopen(ready).read()
