"""Nothing of a request is passed over in silence: what is not known is named in a warning or an error, wherever it stands."""
import copy
import json
import random
import urllib.error
import urllib.request

import pytest
from conftest import smollm2
from daemon import Daemon
from test_rerank import ARCHS, RANK, random as weights, rewrite

SCHEMA = {"type": "object", "properties": {"a": {"type": "boolean"}}, "required": ["a"], "additionalProperties": False}
TOOL = {"type": "function", "function": {"name": "f", "description": "d", "strict": True, "parameters": SCHEMA}}
MESSAGES = [{"role": "system", "content": [{"type": "text", "text": "Be brief."}]}, {"role": "user", "content": "Hello", "name": "bob"},
            {"role": "assistant", "content": None, "refusal": None, "annotations": [],
             "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "1", "content": "42"}]
CHAT = {"model": "smollm2", "messages": MESSAGES, "max_tokens": 1}
TURNS = [{"role": "user", "content": [{"type": "text", "text": "Hello", "cache_control": {"type": "ephemeral"}}]},
         {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "f", "input": {}}]},
         {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": [{"type": "text", "text": "42"}]}]}]
MESSAGE = {"model": "smollm2", "messages": TURNS, "system": [{"type": "text", "text": "Be brief."}], "tools": [{"name": "f", "input_schema": SCHEMA}]}
REQUESTS = [
    ("/v1/messages", {**MESSAGE, "max_tokens": 1, "thinking": {"type": "disabled"}, "metadata": {"user_id": "u"}, "tool_choice": {"type": "none"}}),
    ("/v1/messages", {**MESSAGE, "max_tokens": 1, "tools": [], "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}}),
    ("/v1/messages/count_tokens", {**MESSAGE, "tool_choice": {"type": "tool", "name": "f"}}),
    ("/v1/chat/completions", {**CHAT, "stream_options": {"include_usage": True}, "logit_bias": {"5": -1}, "chat_template_kwargs": {}}),
    ("/v1/chat/completions", {**CHAT, "tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "f"}}}),
    ("/v1/chat/completions", {**CHAT, "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA, "strict": True}}}),
    ("/v1/chat/completions", {**CHAT, "structured_outputs": {"json": SCHEMA}}),
    ("/v1/completions", {"model": "smollm2", "prompt": ["a", "b"], "max_tokens": 1, "response_format": {"type": "json_object", "schema": SCHEMA}}),
    ("/v1/completions", {"model": "smollm2", "prompt": "a", "max_tokens": 1, "stream_options": {"include_usage": True}}),
    ("/v1/embeddings", {"model": "smollm2", "input": ["a", "b"]}),
    ("/v1/rerank", {"model": "ranker", "query": "q", "documents": [{"text": "a"}, "b", {"text": "c"}]}),
    ("/tokenize", {"model": "smollm2", "content": "a b"}),
    ("/detokenize", {"model": "smollm2", "tokens": [5, 6]}),
    ("/apply-template", {"model": "smollm2", "messages": MESSAGES, "tools": [TOOL]}),
]
# What has names that a client makes: variables of a template, functions' parameters, which the model is shown, properties.
FREE = ("chat_template_kwargs", "parameters", "properties", "input_schema", "input")
VALUES = [1, 0, "x", "", True, False, [], [1], {}, {"a": None}]


@pytest.fixture(scope="module")
def serving(tmp_path_factory, model_path):
    if not (ARCHS / "bert.gguf").exists(): pytest.skip("the oracles' small models are not on this machine")
    folder = tmp_path_factory.mktemp("unknown")
    head = {"cls.weight": weights(1, 256, 256), "cls.bias": weights(2, 256), "cls.output.weight": weights(3, 1, 256), "cls.output.bias": weights(4, 1)}
    ranker = rewrite(ARCHS / "bert.gguf", folder / "ranker.gguf", {"bert.pooling_type": RANK}, head)
    with Daemon(folder, [smollm2(model_path, kv_cache={"bytes": "64MiB"}), ranker]) as running:
        yield running


def objects(value, path=""):
    """Each object that a request has, with its path as errors write it."""
    if isinstance(value, dict):
        yield path, value
        for name, inner in value.items():
            if name not in FREE: yield from objects(inner, f"{path}.{name}" if path else name)
    if isinstance(value, list):
        for index, inner in enumerate(value): yield from objects(inner, f"{path}[{index}]")


def told(daemon, path, body):
    """What the answer says of the request: its warnings, or its error."""
    request = urllib.request.Request(daemon.http + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    try:
        text = urllib.request.urlopen(request, timeout=120).read().decode()
    except urllib.error.HTTPError as error:
        assert error.code == 400, (error.code, error.read())
        return None, json.load(error)["error"]["message"]
    if body.get("stream"):
        events = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]
        assert not any("warnings" in event for event in events[1:])
        return events[0].get("message", events[0]).get("warnings", []), ""
    return json.loads(text).get("warnings", []), ""


@pytest.mark.parametrize("path,body", REQUESTS, ids=[f"{i}-{path}" for i, (path, _) in enumerate(REQUESTS)])
def test_unknown_fields_are_named_at_every_depth(serving, path, body):
    known, error = told(serving, path, body)
    assert error == "" and not any("unknown" in warning for warning in known), (known, error)
    if body.get("messages") is MESSAGES: assert known == ["messages[1].name: the model's template does not show it"], known
    rng = random.Random(path + json.dumps(body))
    warned = 0
    for _ in range(30):
        request = copy.deepcopy(body)
        if path.endswith(("completions", "messages")) and rng.random() < 0.3: request["stream"] = True
        names = []
        for place, target in rng.sample(list(objects(request)), min(rng.randint(1, 3), len(list(objects(request))))):
            name = "zz" + "".join(rng.choices("abcdefgh_", k=6))
            target[name] = rng.choice(VALUES)
            names.append((name, f"{place}.{name}" if place else name))
        warnings, error = told(serving, path, request)
        if warnings is None:
            assert any(name in error for name, _ in names), (request, error)
            continue
        warned += 1
        for _, full in names:
            assert f"unknown field '{full}' was ignored" in warnings, (full, warnings)
    assert warned >= 3


def test_what_clients_send_back_of_an_answer_is_no_news(serving):
    answer = serving.post("/v1/chat/completions", {"model": "smollm2", "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 3})[1]
    echoes = [answer["choices"][0]["message"],
              {"role": "assistant", "content": "Hi.", "refusal": None, "annotations": None, "audio": None, "function_call": None, "tool_calls": None},
              {"role": "assistant", "content": "Hi.", "annotations": [], "parsed": None}]
    for echo in echoes:
        messages = [{"role": "user", "content": "Hello"}, echo, {"role": "user", "content": "Again."}]
        assert told(serving, "/v1/chat/completions", {"model": "smollm2", "messages": messages, "max_tokens": 1}) == ([], ""), echo
