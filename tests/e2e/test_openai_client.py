"""The official openai package against the daemon: what a developer does on the first day."""
import asyncio
import concurrent.futures
import http.client
import json

import openai
import pytest
from daemon import samples, wait_for

QUESTION = [{"role": "user", "content": "What is the capital of France? Answer in one sentence."}]


@pytest.fixture(scope="module")
def client(daemon):
    return openai.OpenAI(base_url=daemon.http + "/v1", api_key="none", max_retries=0)


def ask(client, **changes):
    return client.chat.completions.create(**{"model": "smollm2", "messages": QUESTION, "temperature": 0, "max_tokens": 24, **changes})


def test_plain_answer(client):
    answer = ask(client)
    assert answer.object == "chat.completion" and answer.id.startswith("chatcmpl-")
    assert "Paris" in answer.choices[0].message.content
    assert answer.choices[0].finish_reason in ("stop", "length")
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens
    assert answer.usage.completion_tokens > 3


def test_streamed_answer_is_the_plain_one(client):
    plain = ask(client)
    chunks = list(ask(client, stream=True, stream_options={"include_usage": True}))
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == plain.choices[0].message.content
    assert chunks[0].choices[0].delta.role == "assistant"
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == plain.choices[0].finish_reason
    assert chunks[-1].choices == [] and chunks[-1].usage == plain.usage
    assert len({chunk.id for chunk in chunks}) == 1


def test_alias_names_the_same_model(client):
    assert ask(client, model="default").choices[0].message.content == ask(client).choices[0].message.content


def test_async_client(daemon):
    async def run():
        async with openai.AsyncOpenAI(base_url=daemon.http + "/v1", api_key="none") as client:
            stream = await client.chat.completions.create(model="smollm2", messages=QUESTION, temperature=0, max_tokens=24, stream=True)
            return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])

    assert "Paris" in asyncio.run(run())


def test_eight_at_once_get_what_each_gets_alone(client):
    prompts = [f"Count upwards from {i}:" for i in range(8)]

    def complete(prompt):
        answer = client.completions.create(model="smollm2", prompt=prompt, max_tokens=20, temperature=0.7, seed=11, logprobs=2)
        return answer.choices[0].text, answer.choices[0].logprobs.token_logprobs

    alone = [complete(prompt) for prompt in prompts]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        together = list(pool.map(complete, prompts))
    assert together == alone


def test_seed_decides(client):
    def write(seed):
        return ask(client, temperature=1.2, seed=seed, messages=[{"role": "user", "content": "Invent a word."}]).choices[0].message.content

    assert write(1) == write(1)
    assert len({write(seed) for seed in range(4)}) > 1


def test_stop_string_is_cut_off(client):
    whole = client.completions.create(model="smollm2", prompt="1 2 3 4 5 6", max_tokens=12, temperature=0).choices[0]
    stop = whole.text[3:6]
    cut = client.completions.create(model="smollm2", prompt="1 2 3 4 5 6", max_tokens=12, temperature=0, stop=[stop]).choices[0]
    assert cut.finish_reason == "stop"
    assert cut.text == whole.text[: whole.text.index(stop)]


def test_max_tokens_ends_with_length(client):
    answer = ask(client, max_tokens=1)
    assert answer.choices[0].finish_reason == "length" and answer.usage.completion_tokens == 1


def test_several_choices(client):
    answer = ask(client, n=3, temperature=1.0, seed=5)
    assert [choice.index for choice in answer.choices] == [0, 1, 2]
    assert answer.choices == ask(client, n=3, temperature=1.0, seed=5).choices


def test_logprobs(client):
    answer = ask(client, logprobs=True, top_logprobs=3, max_tokens=5)
    content = answer.choices[0].logprobs.content
    assert len(content) == 5
    for token in content:
        assert token.logprob <= 0 and len(token.top_logprobs) == 3
        assert token.logprob == max(top.logprob for top in token.top_logprobs)  # greedy


@pytest.mark.parametrize("prompt,max_tokens", [("The capital of France is", 3), ("The capital of France is", 0), ("The", 2)])
def test_echo_with_logprobs_has_every_token(client, prompt, max_tokens):
    request = dict(model="smollm2", prompt=prompt, echo=True, logprobs=2, max_tokens=max_tokens, temperature=0)
    choice = client.completions.create(**request).choices[0]
    assert choice.text.startswith(prompt)
    listed = choice.logprobs
    assert "".join(listed.tokens) == choice.text
    assert listed.token_logprobs[0] is None and listed.top_logprobs[0] is None
    assert all(logprob <= 0 for logprob in listed.token_logprobs[1:])
    assert listed.text_offset == [sum(map(len, listed.tokens[:i])) for i in range(len(listed.tokens))]
    streamed = [chunk.choices[0] for chunk in client.completions.create(stream=True, **request)]
    assert "".join(chunk.text for chunk in streamed) == choice.text
    for name in ("tokens", "token_logprobs", "text_offset"):
        assert [item for chunk in streamed if chunk.logprobs for item in getattr(chunk.logprobs, name)] == getattr(listed, name)


def test_a_bias_that_bans_every_token_is_the_clients_fault(client):
    with pytest.raises(openai.BadRequestError) as refused:
        ask(client, logit_bias={str(token): -100 for token in range(49152)})
    assert refused.value.param == "logit_bias"
    with pytest.raises(openai.BadRequestError) as refused:  # all but those that end the answer
        ask(client, logit_bias={str(token): -100 for token in range(49152) if token not in (0, 2)}, extra_body={"ignore_eos": True})
    assert refused.value.param == "logit_bias"


@pytest.mark.parametrize("path,body,param", [
    ("/v1/chat/completions", {"messages": [{"role": "user", "content": "hello " * 5000}]}, "messages"),
    ("/v1/completions", {"prompt": ["a", "hello " * 5000]}, "prompt[1]"),
    ("/v1/embeddings", {"input": ["a", [999999]]}, "input"),
    ("/detokenize", {"tokens": [999999]}, "tokens"),
])
def test_errors_of_the_model_name_the_fields_of_the_request(daemon, path, body, param):
    status, answer = daemon.post(path, {"model": "smollm2", **body})
    assert status == 400 and answer["error"]["param"].startswith(param), answer


def test_models(client):
    assert "smollm2" in [model.id for model in client.models.list().data]
    assert client.models.retrieve("smollm2").object == "model"


def test_wrong_model(client):
    with pytest.raises(openai.NotFoundError) as caught:
        ask(client, model="gpt-99")
    assert caught.value.code == "model_not_found" and "gpt-99" in str(caught.value)


@pytest.mark.parametrize("field,value", [
    ("temperature", "hot"), ("temperature", -1), ("temperature", 3), ("top_p", -0.1), ("top_p", 1.5), ("n", 0), ("n", 1000),
    ("max_tokens", -2), ("max_tokens", 1.5), ("stop", 7), ("seed", "x"), ("messages", []), ("messages", "hello"),
    ("messages", [{"role": "pilot", "content": "x"}]), ("messages", [{"content": "x"}]), ("logit_bias", {"a": 1}),
    ("logit_bias", {"99999999": 1}), ("presence_penalty", 9), ("frequency_penalty", -9), ("top_logprobs", 50), ("stream", "yes"),
])
def test_bad_value_is_named(daemon, field, value):
    status, body = daemon.post("/v1/chat/completions", {"model": "smollm2", "messages": QUESTION, "max_tokens": 1, field: value})
    assert status == 400, body
    assert body["error"]["type"] == "invalid_request_error"
    assert body["error"]["param"].startswith(field), body


def test_overlong_prompt(client):
    with pytest.raises(openai.BadRequestError) as caught:
        client.completions.create(model="smollm2", prompt="hello " * 5000, max_tokens=1)
    assert caught.value.code == "context_length_exceeded"
    assert "maximum context length is 2048 tokens" in str(caught.value) and "5001 tokens" in str(caught.value)


def test_cancelled_stream_frees_the_engine(daemon, client):
    stream = ask(client, stream=True, max_tokens=2000, messages=[{"role": "user", "content": "Write a very long story."}])
    next(iter(stream))
    stream.close()
    wait_for(lambda: metric(daemon, "inferd_requests_running") == 0, 60, "the end of the cancelled generation")


def metric(daemon, name):
    values = [value for series, value in samples(daemon).items() if series.startswith(name + "{") and 'model="smollm2"' in series]
    assert values, f"no {name} in /metrics"
    return sum(values)


def test_connection_is_usable_after_a_stream(daemon):
    connection = http.client.HTTPConnection("127.0.0.1", daemon.http_port)
    body = json.dumps({"model": "smollm2", "messages": QUESTION, "max_tokens": 3, "stream": True})
    connection.request("POST", "/v1/chat/completions", body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    assert answer.read().endswith(b"data: [DONE]\n\n")
    local = connection.sock.getsockname()
    connection.request("GET", "/health")
    assert connection.getresponse().status == 200
    assert connection.sock.getsockname() == local
