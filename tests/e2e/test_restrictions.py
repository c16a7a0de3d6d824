"""Whatever restricts an answer elsewhere restricts it here, by the same name, or is an error: vLLM's, llama.cpp's and SGLang's."""
import json
import re

import grpc
import jsonschema
import pytest

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1, "maximum": 99}}, "required": ["n"], "additionalProperties": False}
REGEX = "[a-c]{2,4}-[0-9]{2}"
GRAMMAR = 'root ::= ("x" | "yy"){3} "."'
TEXTS = ["blue", "bluebird", "a \"quoted\" one", "grün\n"]
IS = {"schema": lambda text: jsonschema.validate(json.loads(text), SCHEMA),
      "regex": lambda text: re.fullmatch(REGEX, text) or pytest.fail(text),
      "grammar": lambda text: re.fullmatch(r"(x|yy){3}\.", text) or pytest.fail(text),
      "choice": lambda text: text in TEXTS or pytest.fail(text),
      "object": lambda text: text.startswith("{") or pytest.fail(text)}
NAMES = [("schema", {"guided_json": SCHEMA}), ("schema", {"guided_json": json.dumps(SCHEMA)}), ("schema", {"json_schema": SCHEMA}),
         ("schema", {"structured_outputs": {"json": SCHEMA}}), ("schema", {"response_format": {"type": "json_object", "schema": SCHEMA}}),
         ("regex", {"guided_regex": REGEX}), ("regex", {"regex": REGEX}), ("regex", {"structured_outputs": {"regex": REGEX}}),
         ("grammar", {"grammar": GRAMMAR}), ("grammar", {"guided_grammar": GRAMMAR}), ("grammar", {"ebnf": GRAMMAR}),
         ("grammar", {"structured_outputs": {"grammar": GRAMMAR}}), ("choice", {"guided_choice": TEXTS}),
         ("choice", {"structured_outputs": {"choice": TEXTS}}), ("object", {"structured_outputs": {"json_object": True}})]
WRONG = [({"guided_json": {"type": "strin"}}, "guided_json"), ({"structured_outputs": {"json": {"type": "strin"}}}, "structured_outputs.json"),
         ({"json_schema": {"minLength": -1}}, "json_schema"), ({"response_format": {"type": "json_object", "schema": {"x": 1}}}, "response_format.schema"),
         ({"guided_regex": "("}, "guided_regex"), ({"regex": "a(?=b)"}, "regex"), ({"guided_grammar": "a"}, "guided_grammar"),
         ({"structured_outputs": {"grammar": "root ::= ("}}, "structured_outputs.grammar"), ({"guided_choice": []}, None), ({"guided_choice": "a"}, "guided_choice"),
         ({"structured_outputs": {"whitespace_pattern": " "}}, "structured_outputs.whitespace_pattern"), ({"structural_tag": {}}, "structural_tag"),
         ({"guided_choice": ["a"], "regex": "b"}, "regex"), ({"allowed_token_ids": [10**6]}, "allowed_token_ids"), ({"stop_token_ids": [-1]}, "stop_token_ids"),
         ({"stop_token_ids": [10**6]}, "stop_token_ids"), ({"max_tokens": 3, "n_predict": 4}, "n_predict"), ({"max_tokens": -2}, "max_tokens")]
TEXT = "Count: one two three"


def complete(daemon, **fields):
    status, body = daemon.post("/v1/completions", {"model": "smollm2", "prompt": TEXT, "temperature": 0, "max_tokens": 60, "return_token_ids": True, **fields})
    assert status == 200, body
    return body["choices"][0], body


@pytest.mark.parametrize("kind,fields", NAMES, ids=[f"{i}-{next(iter(fields))}" for i, (_, fields) in enumerate(NAMES)])
def test_every_name_binds(daemon, kind, fields):
    for path, prompt in (("/v1/completions", {"prompt": "Answer:"}), ("/v1/chat/completions", {"messages": [{"role": "user", "content": "Answer."}]})):
        for seed in range(3):
            status, body = daemon.post(path, {"model": "smollm2", "temperature": 1.3, "seed": seed, "max_tokens": 80, **prompt, **fields})
            assert status == 200 and "warnings" not in body, body
            choice = body["choices"][0]
            if kind == "object" or choice["finish_reason"] == "stop": IS[kind](choice["text"] if "text" in choice else choice["message"]["content"])
            assert kind == "object" or choice["finish_reason"] == "stop"


@pytest.mark.parametrize("fields,param", WRONG, ids=[f"{i}-{case[1]}" for i, case in enumerate(WRONG)])
def test_errors_name_the_field_that_was_sent(daemon, fields, param):
    for path, prompt in (("/v1/completions", {"prompt": ["A", "B"]}), ("/v1/chat/completions", {"messages": [{"role": "user", "content": "Answer."}]})):
        status, body = daemon.post(path, {"model": "smollm2", "max_tokens": 3, **prompt, **fields})
        if param is None:
            assert status == 200, body
        else:
            assert status == 400 and body["error"]["param"] == param and body["error"]["message"].startswith(param + ": "), body


def test_stop_tokens_end_an_answer(daemon):
    free, _ = complete(daemon, ignore_eos=True, max_tokens=40)
    ids = free["token_ids"]
    at = next(i for i in range(5, 40) if ids[i] not in ids[:i])
    text = lambda tokens: daemon.post("/detokenize", {"model": "smollm2", "tokens": tokens})[1]["content"]
    stopped, _ = complete(daemon, ignore_eos=True, stop_token_ids=[ids[at], ids[at]])
    assert (stopped["finish_reason"], stopped["token_ids"], stopped["text"]) == ("stop", ids[:at], text(ids[:at]))
    shown, _ = complete(daemon, ignore_eos=True, stop_token_ids=[ids[at]], include_stop_str_in_output=True)
    assert (shown["finish_reason"], shown["token_ids"], shown["text"]) == ("stop", ids[: at + 1], text(ids[: at + 1]))
    held, _ = complete(daemon, ignore_eos=True, stop_token_ids=[ids[at]], min_tokens=at + 1, max_tokens=at + 3)
    assert ids[at] not in held["token_ids"][: at + 1] and held["token_ids"][:at] == ids[:at]


def test_the_stop_text_may_be_shown(daemon):
    free, _ = complete(daemon, ignore_eos=True, max_tokens=40)
    stop = free["text"][20:24]
    end = free["text"].index(stop)
    hidden, _ = complete(daemon, ignore_eos=True, stop=stop)
    shown, _ = complete(daemon, ignore_eos=True, stop=stop, include_stop_str_in_output=True)
    assert hidden["text"] == free["text"][:end] and shown["text"] == free["text"][: end + 4]
    assert hidden["finish_reason"] == shown["finish_reason"] == "stop"


def test_only_allowed_tokens_are_drawn(daemon):
    allowed = [200, 7, 300, 301]
    for temperature in (0, 1.5):
        choice, _ = complete(daemon, temperature=temperature, seed=3, allowed_token_ids=allowed, max_tokens=20, logit_bias={"7": -100})
        assert set(choice["token_ids"]) <= {200, 300, 301} and len(choice["token_ids"]) == 20, "the end is not among them"
    status, body = daemon.post("/v1/completions", {"model": "smollm2", "prompt": "A", "allowed_token_ids": [5], "logit_bias": {"5": -100}})
    assert status == 400 and body["error"]["param"] == "allowed_token_ids", body


def test_limits_by_other_names(daemon):
    bound = {"guided_regex": "(a ){25}"}
    assert len(complete(daemon, max_tokens=None, **bound)[0]["token_ids"]) == 16, "OpenAI's default"
    for name in ("max_tokens", "n_predict", "max_new_tokens", "max_completion_tokens"):
        fields = {"max_tokens": None, name: -1}
        assert complete(daemon, **fields, **bound)[0]["text"] == "a " * 25, "no limit"
        assert len(complete(daemon, **{**fields, name: 5}, **bound)[0]["token_ids"]) == 5
    repeated, body = complete(daemon, repetition_penalty=1.8, max_tokens=12)
    assert "warnings" not in body
    assert repeated["text"] == complete(daemon, repeat_penalty=1.8, repeat_last_n=-1, max_tokens=12)[0]["text"] != complete(daemon, max_tokens=12)[0]["text"]


def test_the_same_over_grpc(daemon, protos):
    pb = protos.inference
    with grpc.insecure_channel(daemon.grpc) as channel:
        stub = protos.inference_grpc.InferenceStub(channel)

        def ask(**fields):
            events = list(stub.Generate(pb.GenerateRequest(model="smollm2", text=TEXT, **{"limits": {"max_tokens": 30}, **fields})))
            return "".join(event.delta.text for event in events), [token for event in events for token in event.delta.token_ids], events[-1].finished.reason

        text, _, reason = ask(constraint={"choice": {"texts": TEXTS}}, seed=1)
        assert text in TEXTS and reason == pb.Finished.REASON_STOP
        ids = ask(sampling={"temperature": 0, "ignore_eos": True})[1]
        at = next(i for i in range(5, 30) if ids[i] not in ids[:i])
        assert ask(sampling={"temperature": 0, "ignore_eos": True}, stop_token_ids=[ids[at]])[1:] == (ids[:at], pb.Finished.REASON_STOP)
        assert ask(sampling={"temperature": 0, "ignore_eos": True}, stop_token_ids=[ids[at]], include_stop=True)[1:] == (ids[: at + 1], pb.Finished.REASON_STOP)
        assert set(ask(sampling={"allowed_token_ids": [300, 200]}, seed=4)[1]) <= {200, 300}
        for fields, word in (({"constraint": {"choice": {}}}, "constraint.choice: is empty"), ({"constraint": {"choice": {"texts": ["a", ""]}}}, "constraint.choice: text 1 is empty"),
                             ({"stop_token_ids": [10**6]}, "stop_token_ids: id 1000000 at index 0"), ({"sampling": {"allowed_token_ids": [10**6]}}, "allowed_token_ids: token 1000000")):
            with pytest.raises(grpc.RpcError) as error:
                ask(**fields)
            assert error.value.code() == grpc.StatusCode.INVALID_ARGUMENT and error.value.details().startswith(word), error.value.details()


def test_any_tool_is_another_word_for_required(daemon):
    tools = [{"type": "function", "function": {"name": "f", "parameters": SCHEMA}}]
    chat = {"model": "smollm2", "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 100, "tools": tools, "parallel_tool_calls": False}
    status, body = daemon.post("/v1/chat/completions", {**chat, "tool_choice": "any"})
    assert status == 200 and body["choices"][0]["finish_reason"] == "tool_calls", body
    for choice, param in (({"type": "allowed_tools", "allowed_tools": {}}, "tool_choice.type"), ({"type": "function", "function": {}}, "tool_choice.function.name"),
                          ({"type": "function", "function": {"name": "g"}}, "tool_choice")):
        status, body = daemon.post("/v1/chat/completions", {**chat, "tool_choice": choice})
        assert status == 400 and body["error"]["param"] == param, body
