"""Constrained output with the official client: JSON schemas, grammars, regular expressions and forced tool calls."""
import json
import os
import re
import signal
import subprocess
import sys

import grpc
import jsonschema
import openai
import pytest
from conftest import smollm2
from daemon import Daemon

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 20},
        "age": {"type": "integer", "minimum": 18, "maximum": 99},
        "height": {"type": "number", "exclusiveMinimum": 0.5, "maximum": 2.5},
        "tags": {"type": "array", "items": {"enum": ["new", "old", "good", "bad"]}, "minItems": 1, "maxItems": 3},
        "born": {"type": "string", "format": "date"},
        "friend": {"anyOf": [{"type": "null"}, {"type": "string", "pattern": "^[A-Z][a-z]{2,8}$"}]},
    },
    "required": ["name", "age", "height", "tags", "born", "friend"],
    "additionalProperties": False,
}
ASK = [{"role": "user", "content": "Describe a person in JSON."}]
TOOLS = [
    {"type": "function", "function": {"name": "get_weather", "parameters": {
        "type": "object", "properties": {"city": {"type": "string", "maxLength": 16}, "days": {"type": "integer", "minimum": 1, "maximum": 7}},
        "required": ["city", "days"], "additionalProperties": False}}},
    {"type": "function", "function": {"name": "set_timer", "parameters": {
        "type": "object", "properties": {"minutes": {"type": "integer", "minimum": 0, "maximum": 90}}, "required": ["minutes"]}}},
]
TEMPLATE = (
    "{%- if tools %}<|im_start|>system\nTools: {{ tools | tojson }}\nCall one with <tool_call>\n{\"name\": ..., \"arguments\": ...}\n</tool_call>"
    "<|im_end|>\n{% endif %}{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
THINKING = TEMPLATE + "{% if think %}<think>\n{% endif %}{#- </think> #}"


def client_of(daemon):
    return openai.OpenAI(base_url=daemon.http + "/v1", api_key="none", max_retries=0)


@pytest.fixture(scope="module")
def client(daemon):
    return client_of(daemon)


@pytest.fixture(scope="module")
def tool_daemon(tmp_path_factory, model_path):
    """The same model with chat templates that have tools, and reasoning."""
    folder = tmp_path_factory.mktemp("tools")
    models = []
    for name, template in (("smollm2", TEMPLATE), ("thinker", THINKING)):
        subprocess.run([sys.executable, "-m", "gguf.scripts.gguf_new_metadata", "--chat-template", template, model_path, folder / f"{name}.gguf"],
                       check=True, capture_output=True)
        models.append(smollm2(str(folder / f"{name}.gguf"), name=name, aliases=[]))
    with Daemon(folder, models) as running:
        yield running


@pytest.fixture(scope="module")
def tool_client(tool_daemon):
    return client_of(tool_daemon)


def schema_format(schema):
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema, "strict": True}}


def ask(client, **changes):
    return client.chat.completions.create(**{"model": "smollm2", "messages": ASK, "max_tokens": 400, "temperature": 1.5, "seed": 1, **changes})


def content_of(stream):
    return "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)


def check(schema, text):
    value = json.loads(text)
    jsonschema.validate(value, schema, format_checker=jsonschema.FormatChecker())
    return value


def test_schema_holds_streamed_and_not(client):
    for seed in range(6):
        answer = ask(client, seed=seed, response_format=schema_format(PERSON))
        assert answer.choices[0].finish_reason == "stop"
        check(PERSON, answer.choices[0].message.content)
        assert content_of(ask(client, seed=seed, response_format=schema_format(PERSON), stream=True)) == answer.choices[0].message.content


def test_choices_each_satisfy_the_schema(client):
    answer = ask(client, n=3, response_format=schema_format(PERSON))
    texts = [choice.message.content for choice in answer.choices]
    assert len(set(texts)) > 1
    for text in texts:
        check(PERSON, text)


SCHEMAS = [
    {"type": "array", "items": {"type": "integer", "minimum": -20, "maximum": 20}, "minItems": 3, "maxItems": 5},
    {"type": "string", "minLength": 3, "maxLength": 9},
    {"type": "string", "format": "uuid"},
    {"type": "string", "format": "ipv4"},
    {"type": "string", "format": "email"},
    {"type": "string", "pattern": "^(red|gr[ae]y)-\\d{2}\"?$"},
    {"enum": ["yes", "no", None, 5, {"a": [1]}]},
    {"type": "number", "minimum": -1, "exclusiveMaximum": 1},
    {"type": "object", "properties": {"a": {"type": "boolean"}, "b": {"const": 3}}, "additionalProperties": {"type": "null"}, "required": ["b"]},
    {"$ref": "#/$defs/tree", "$defs": {"tree": {"type": "object", "properties": {
        "value": {"type": "integer", "minimum": 0, "maximum": 9}, "children": {"type": "array", "maxItems": 2, "items": {"$ref": "#/$defs/tree"}}},
        "required": ["value"], "additionalProperties": False}}},
    {"type": "array", "prefixItems": [{"type": "boolean"}, {"type": "null"}], "items": False, "minItems": 2},
    {"type": "array", "items": {"type": "number", "multipleOf": 0.01, "minimum": 0}, "minItems": 3, "maxItems": 3},
    {"type": "number", "multipleOf": 0.1, "minimum": -3, "exclusiveMaximum": 3},
    {"allOf": [{"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}, {"properties": {"x": {"maximum": 7, "minimum": 2}}}]},
]


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda schema: json.dumps(schema)[:40])
def test_sampled_documents_validate(client, schema):
    complete = 0
    for seed in range(4):
        choice = ask(client, seed=seed, response_format=schema_format(schema), max_tokens=300).choices[0]
        if choice.finish_reason == "stop":
            check(schema, choice.message.content)
            complete += 1
    assert complete >= 1


@pytest.mark.parametrize("pattern", ["[a-z]{3,8}(-[0-9]+)?", "(yes|no|maybe), because [A-Za-z ]{5,30}\\.", "\\d{4}-\\d{2}-\\d{2}", "[^a-z\\n]{4,12}!",
                                     "(ab?|c){3,9}", "äö{2,4}[ü-ÿ]+x"])
def test_regex_matches_whole(client, pattern):
    for seed in range(4):
        answer = client.completions.create(model="smollm2", prompt="Answer:", max_tokens=100, temperature=1.5, seed=seed,
                                           extra_body={"guided_regex": pattern})
        if answer.choices[0].finish_reason == "stop":
            assert re.fullmatch(pattern, answer.choices[0].text, re.ASCII), answer.choices[0].text


def test_grammar(client):
    grammar = 'root ::= "{" item ("," item){1,3} "}"\nitem ::= [a-z]{2,5} "=" ("(" item ")" | [0-9])'
    for seed in range(4):
        text = ask(client, seed=seed, extra_body={"grammar": grammar}).choices[0].message.content
        while (shorter := re.sub(r"\([a-z]{2,5}=[0-9]\)", "0", text)) != text:
            text = shorter
        assert re.fullmatch(r"\{[a-z]{2,5}=[0-9](,[a-z]{2,5}=[0-9]){1,3}\}", text), text


def test_json_object(client):
    choice = ask(client, response_format={"type": "json_object"}, temperature=0, max_tokens=200).choices[0]
    assert choice.message.content.startswith("{")
    if choice.finish_reason == "stop":
        assert isinstance(json.loads(choice.message.content), dict)


def test_logprobs_are_of_the_free_model(client):
    answer = ask(client, response_format=schema_format({"enum": ["zq"]}), logprobs=True, top_logprobs=2)
    tokens = answer.choices[0].logprobs.content
    assert "".join(token.token for token in tokens) == '"zq"' and tokens[1].logprob < tokens[1].top_logprobs[0].logprob


BAD = [
    ({"response_format": schema_format({"type": "object", "properties": {"a": {"type": "integer", "multipleOf": 0.1}}})}, "response_format.json_schema",
     "at #/properties/a: multipleOf 0.1 is not supported"),
    ({"response_format": schema_format({"$ref": "#"})}, "response_format.json_schema", "leads back to itself"),
    ({"response_format": schema_format({"unevaluatedItems": False})}, "response_format.json_schema", "keyword unevaluatedItems is not supported"),
    ({"extra_body": {"grammar": "root ::= ("}}, "grammar", "line 1, column 10"),
    ({"extra_body": {"grammar": "root ::= " + "(" * 60000}}, "grammar", "more than 200 groups"),
    ({"extra_body": {"grammar": "root ::= root \"a\" | \"b\""}}, "grammar", "rule root begins with itself"),
    ({"extra_body": {"grammar": 'root ::= ("a"?){0,99999}'}}, "grammar", "99999 repetitions"),
    ({"extra_body": {"guided_regex": "a(?=b)"}}, "guided_regex", "at offset 1: lookahead is not supported"),
    ({"extra_body": {"guided_regex": "(" * 60000}}, "guided_regex", "more than 200 groups"),
    ({"extra_body": {"guided_regex": "a", "grammar": "root ::= \"a\""}}, "guided_regex", "only one of"),
]


@pytest.mark.parametrize("fields,param,message", BAD, ids=[f"{i}-{case[1]}" for i, case in enumerate(BAD)])
def test_what_cannot_be_honoured_is_refused(client, fields, param, message):
    with pytest.raises(openai.BadRequestError) as error:
        ask(client, **fields)
    assert error.value.param == param and message in error.value.message


def test_formats_that_are_not_known_are_told(client, daemon, protos):
    schema = {"type": "object", "properties": {"a": {"type": "string", "maxLength": 3, "format": "colour"}}, "required": ["a"], "additionalProperties": False}
    told = ["response_format.json_schema: at #/properties/a: format colour is not known and was ignored"]
    assert ask(client, response_format=schema_format(schema)).warnings == told
    assert next(iter(ask(client, response_format=schema_format(schema), stream=True))).warnings == told
    of_object = told[0].replace("json_schema", "schema")
    assert ask(client, response_format={"type": "json_object", "schema": schema}, extra_body={"x": 1}).warnings == ["unknown field 'x' was ignored", of_object]
    prompts = client.completions.create(model="smollm2", prompt=["A", "B"], extra_body={"response_format": schema_format(schema)})
    assert prompts.warnings == told and len(prompts.choices) == 2
    with grpc.insecure_channel(daemon.grpc) as channel:
        stub = protos.inference_grpc.InferenceStub(channel)
        request = protos.inference.GenerateRequest(model="smollm2", text="A", constraint={"json_schema": json.dumps(schema)}, limits={"max_tokens": 2})
        field, text = told[0].replace("response_format", "constraint").split(": ", 1)
        told = [protos.inference.Warning(field=field, text=text)]
        assert list(next(stub.Generate(request)).accepted.warnings) == told and list(stub.Validate(request).warnings) == told


def test_bombs_end_with_an_error_and_leave_the_worker_alive(client):
    for pattern in ["((((a{1,9999}){1,9999}){1,9999}){1,9999}){1,9999}b", "(a|a)*" * 2000 + "b", "(.*.*.*){0,1000}b"]:
        try:
            ask(client, extra_body={"guided_regex": pattern}, max_tokens=30)
        except openai.APIError as error:
            assert "internal" not in str(error), error
    assert ask(client, max_tokens=2).choices[0].finish_reason == "length"


def test_a_required_call_has_arguments_of_its_schema(tool_client):
    seen = set()
    for seed in range(6):
        answer = ask(tool_client, seed=seed, tools=TOOLS, tool_choice="required", parallel_tool_calls=False)
        assert answer.choices[0].finish_reason == "tool_calls" and not answer.choices[0].message.content
        (call,) = answer.choices[0].message.tool_calls
        schema = {tool["function"]["name"]: tool["function"]["parameters"] for tool in TOOLS}[call.function.name]
        check(schema, call.function.arguments)
        seen.add(call.function.name)
    assert seen


def test_a_named_call_is_of_that_tool_streamed_too(tool_client):
    choice = {"type": "function", "function": {"name": "set_timer"}}
    whole = ask(tool_client, tools=TOOLS, tool_choice=choice)
    (call,) = whole.choices[0].message.tool_calls
    assert call.function.name == "set_timer" and 0 <= check(TOOLS[1]["function"]["parameters"], call.function.arguments)["minutes"] <= 90
    chunks = list(ask(tool_client, tools=TOOLS, tool_choice=choice, stream=True))
    pieces = [piece for chunk in chunks if chunk.choices for piece in chunk.choices[0].delta.tool_calls or []]
    assert "".join(piece.function.arguments or "" for piece in pieces) == call.function.arguments
    assert pieces[0].function.name == "set_timer" and pieces[0].id == call.id
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "tool_calls"
    with pytest.raises(openai.BadRequestError) as error:
        ask(tool_client, tools=TOOLS, tool_choice={"type": "function", "function": {"name": "nothing"}})
    assert error.value.param == "tool_choice" and "there is no tool nothing" in error.value.message


def test_a_call_of_a_strict_function_is_bound_once_it_begins(tool_daemon, tool_client, protos):
    """The model does not call by itself: that it has begun to is given as what it had before a resumption."""
    pb = protos.inference
    strict = [{**tool, "function": {**tool["function"], "strict": True}} for tool in TOOLS]
    schemas = {tool["function"]["name"]: tool["function"]["parameters"] for tool in TOOLS}
    model = tool_client.models.list().data[0].id
    with grpc.insecure_channel(tool_daemon.grpc) as channel:
        stub = protos.inference_grpc.InferenceStub(channel)
        ids = stub.Tokenize(pb.TokenizeRequest(model=model, text="Let me see.\n<tool_call>", parse_special=True)).ids
        for seed in range(4):
            events = list(stub.Generate(pb.GenerateRequest(
                model=model, seed=seed, limits=pb.Limits(max_tokens=300), resume_tokens=[pb.ResumeState(ids=ids)],
                chat=pb.ChatPrompt(messages=[pb.Message(role="user", content="A timer?")], tools_json=json.dumps(strict), parallel_tool_calls=False))))
            calls = [event.delta.tool_call for event in events if event.delta.kind == pb.Delta.KIND_TOOL_CALL]
            assert events[-1].finished.reason == pb.Finished.REASON_TOOL_CALLS
            check(schemas[calls[0].name], "".join(call.arguments for call in calls))
    message = ask(tool_client, tools=strict, max_tokens=24).choices[0].message
    assert message.content or message.tool_calls


def test_the_content_is_constrained_after_the_reasoning(tool_daemon, protos):
    """The model does not know how to end reasoning: its end is given as what it had before a resumption."""
    pb = protos.inference
    schema = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1, "maximum": 9}}, "required": ["n"], "additionalProperties": False}
    with grpc.insecure_channel(tool_daemon.grpc) as channel:
        stub = protos.inference_grpc.InferenceStub(channel)
        ids = stub.Tokenize(pb.TokenizeRequest(model="thinker", text="Hm, one.</think>")).ids
        events = list(stub.Generate(pb.GenerateRequest(
            model="thinker", seed=3, limits=pb.Limits(max_tokens=60), constraint=pb.Constraint(json_schema=json.dumps(schema)),
            chat=pb.ChatPrompt(messages=[pb.Message(role="user", content="One?")], template_arguments_json='{"think": true}'),
            resume_tokens=[pb.ResumeState(ids=ids)])))
    text = {kind: "".join(event.delta.text for event in events if event.delta.kind == kind) for kind in (pb.Delta.KIND_CONTENT, pb.Delta.KIND_REASONING)}
    assert text[pb.Delta.KIND_REASONING] == "Hm, one."
    check(schema, text[pb.Delta.KIND_CONTENT])
    assert events[-1].finished.reason == pb.Finished.REASON_STOP


def test_a_killed_worker_changes_no_byte(tmp_path, model_path):
    quick = {"supervisor": {"restart": {"first_delay": "10ms", "max_delay": "100ms", "max": 1000}}}
    schema = {"type": "array", "items": {"type": "string", "minLength": 5, "maxLength": 30}, "minItems": 12, "maxItems": 12}
    with Daemon(tmp_path, [smollm2(model_path)], quick) as daemon:
        client = client_of(daemon)
        plain = ask(client, response_format=schema_format(schema), n=2)
        expected = {choice.index: choice.message.content for choice in plain.choices}
        for text in expected.values():
            check(schema, text)
        got, chunks, killed = {}, 0, False
        for chunk in ask(client, response_format=schema_format(schema), n=2, stream=True):
            for choice in chunk.choices:
                got[choice.index] = got.get(choice.index, "") + (choice.delta.content or "")
            chunks += 1
            if chunks == 30:
                pid = daemon.status()["workers"][-1]["pid"]
                os.kill(pid, signal.SIGKILL)
                killed = True
        assert killed and got == expected
        assert 'inferd_requests_resumed_total{model="smollm2"} 1' in daemon.get("/metrics")[1]
