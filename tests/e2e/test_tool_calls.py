"""Calls of tools with every model: forms of real templates, the generic form, and what clients' libraries send."""
import json
import random
import subprocess
import sys
import urllib.request

import jsonschema
import openai
import pytest
from conftest import ORACLES, smollm2
from daemon import Daemon

TEMPLATES = {
    "qwen-coder": "Qwen3-Coder",
    "glm": "GLM-4.6",
    "llama": "meta-llama-Llama-3.3-70B-Instruct",
    "gpt-oss": "openai-gpt-oss-120b",
    "mistral": "Mistral-Small-3.2-24B-Instruct-2506",
    "gemma4": "google-gemma-4-31B-it-interleaved",
}
MODELS = ["smollm2", *TEMPLATES]
ASK = [{"role": "user", "content": "Use the tool."}]
BOUND = {"type": "object", "additionalProperties": False, "required": ["code", "k", "n", "color", "maybe"],
         "$defs": {"Color": {"type": "string", "enum": ["red", "green"]}},
         "properties": {"code": {"type": "string", "pattern": "^[A-Z]{3}$"}, "k": {"const": "zz"}, "n": {"type": "integer", "minimum": 1, "maximum": 9},
                        "color": {"$ref": "#/$defs/Color"}, "maybe": {"anyOf": [{"type": "string", "maxLength": 5}, {"type": "null"}]}}}


def tool(parameters, name="record", **more):
    return {"type": "function", "function": {"name": name, "description": "Records it.", "parameters": parameters, **more}}


@pytest.fixture(scope="module")
def client(tmp_path_factory, model_path):
    """The default model, and the same with the chat templates of others."""
    folder = tmp_path_factory.mktemp("forms")
    models = [smollm2(model_path, kv_cache={"bytes": "64MiB"})]
    for name, template in TEMPLATES.items():
        source = ORACLES / "templates" / f"{template}.jinja"
        if not source.exists():
            continue
        text = "{# #}" + source.read_text()  # not "[", which the script takes for a list of templates
        subprocess.run([sys.executable, "-m", "gguf.scripts.gguf_new_metadata", "--chat-template", text, model_path,
                        folder / f"{name}.gguf"], check=True, capture_output=True)
        models.append(smollm2(str(folder / f"{name}.gguf"), name=name, aliases=[], kv_cache={"bytes": "64MiB"}, preload=False, context=4096))
    with Daemon(folder, models) as running:
        made = openai.OpenAI(base_url=running.http + "/v1", api_key="none", max_retries=0)
        made.address = running.http
        made.served = {model["name"] for model in models}
        yield made


def ask(client, model, **changes):
    if model not in client.served:
        pytest.skip("the oracles are not beside this checkout")
    return client.chat.completions.create(**{"model": model, "messages": ASK, "max_tokens": 300, "temperature": 1.2, "seed": 1, **changes})


def pieces(stream):
    """Content, calls and finish reason of a stream, and how many of its chunks had arguments."""
    content, calls, reason, deltas = "", {}, None, 0
    for chunk in stream:
        for choice in chunk.choices:
            reason = choice.finish_reason or reason
            content += choice.delta.content or ""
            for call in choice.delta.tool_calls or []:
                known = calls.setdefault(call.index, ["", "", ""])
                for place, text in enumerate((call.id, call.function.name, call.function.arguments)):
                    known[place] += text or ""
                deltas += bool(call.function.arguments)
    return content, list(calls.values()), reason, deltas


@pytest.mark.parametrize("model", MODELS)
def test_forced_calls_are_bound_and_streamed_as_they_are_written(client, model):
    tools = [tool(BOUND)]
    for choice in ("required", {"type": "function", "function": {"name": "record"}}):
        whole = ask(client, model, tools=tools, tool_choice=choice, parallel_tool_calls=False)
        (call,) = whole.choices[0].message.tool_calls
        assert whole.choices[0].finish_reason == "tool_calls" and not whole.choices[0].message.content
        jsonschema.validate(json.loads(call.function.arguments), BOUND)
        content, calls, reason, deltas = pieces(ask(client, model, tools=tools, tool_choice=choice, parallel_tool_calls=False, stream=True))
        assert (content, calls, reason) == ("", [[call.id, "record", call.function.arguments]], "tool_calls")
        assert deltas >= 4


@pytest.mark.parametrize("model", MODELS)
def test_calls_that_are_cut_give_what_there_is(client, model):
    parameters = {"type": "object", "properties": {"text": {"type": "string", "minLength": 400, "maxLength": 500}}, "required": ["text"]}
    whole = ""
    for tokens in (1, 3, 5, 8, 13, 21, 34, 60):
        cut = ask(client, model, tools=[tool(parameters)], tool_choice="required", max_tokens=tokens).choices[0]
        assert cut.finish_reason == "length"
        assert not cut.message.content or not set(cut.message.content) & set("<[{|"), cut.message.content
        if cut.message.tool_calls:
            (call,) = cut.message.tool_calls
            assert call.function.name == "record" and call.function.arguments.startswith(whole[: len(call.function.arguments)])
            whole = max(whole, call.function.arguments, key=len)
    assert whole


def random_schema(rng, depth=0):
    kinds = ["integer", "number", "boolean", "string", "pattern", "enum", "const", "null", "optional", *([] if depth else ["array", "object"])]
    kind = rng.choice(kinds)
    if kind == "integer":
        return {"type": "integer", "minimum": rng.randint(-5, 0), "maximum": rng.randint(1, 30)}
    if kind == "number":
        return {"type": "number", "minimum": 0, "exclusiveMaximum": rng.randint(1, 9)}
    if kind == "string":
        return {"type": "string", "maxLength": rng.randint(1, 8)}
    if kind == "pattern":
        return {"type": "string", "pattern": rng.choice(["^[a-f0-9]{4}$", "^(a|b c|\"q\")$", "^<[a-z]{1,3}/?>$", "^\\d{1,2}\\n?$"])}
    if kind == "enum":
        return {"enum": rng.sample(["a", "b c", 1, 2.5, None, True, "<x>", "null"], rng.randint(1, 4))}
    if kind == "const":
        return {"const": rng.choice(["zz", "12", "true", 12, False])}
    if kind == "optional":
        return {"anyOf": [{"type": "string", "maxLength": 4}, {"type": "null"}]}
    if kind == "array":
        return {"type": "array", "items": random_schema(rng, depth + 1), "minItems": 1, "maxItems": 2}
    if kind == "object":
        return random_parameters(rng, depth + 1)
    return {"type": kind}


def random_parameters(rng, depth=0):
    properties = {f"p{i}": random_schema(rng, depth) for i in range(rng.randint(1, 4))}
    return {"type": "object", "properties": properties, "required": [name for name in properties if rng.random() < 0.7], "additionalProperties": False}


@pytest.mark.parametrize("model", MODELS)
def test_arguments_validate_for_random_schemas(client, model):
    rng = random.Random(model)
    complete = 0
    for seed in range(12):
        parameters = random_parameters(rng)
        choice = ask(client, model, seed=seed, tools=[tool(parameters, strict=True)], tool_choice="required", parallel_tool_calls=False).choices[0]
        if choice.finish_reason == "length":
            continue
        complete += 1
        arguments = choice.message.tool_calls[0].function.arguments
        jsonschema.validate(json.loads(arguments), parameters)
    assert complete >= 4


@pytest.mark.parametrize("model", MODELS)
def test_histories_with_calls_are_shown_to_the_model(client, model):
    call = {"id": "abcdefghi", "type": "function", "function": {"name": "record", "arguments": '{"code": "XQZ"}'}}
    history = [*ASK, {"role": "assistant", "content": None, "tool_calls": [call]}, {"role": "tool", "tool_call_id": "abcdefghi", "content": "stored 4711"}]
    if model not in client.served:
        pytest.skip("the oracles are not beside this checkout")
    body = json.dumps({"model": model, "messages": history, "tools": [tool(BOUND)]}).encode()
    request = urllib.request.Request(client.address + "/apply-template", body, {"Content-Type": "application/json"})
    prompt = json.load(urllib.request.urlopen(request))["prompt"]
    types = {"gpt-oss": "code: string", "gemma4": 'code:{type:<|"|>STRING'}  # of templates that show no patterns
    for shown in ("Use the tool.", "XQZ", "stored 4711", "Records it.", types.get(model, "[A-Z]{3}")):
        assert shown in prompt, prompt


def test_schemas_that_cannot_be_bound_are_an_error_for_strict_functions_alone(client):
    parameters = {"type": "object", "properties": {"a": {"type": "string", "pattern": "^(?=x)y$"}, "n": {"type": "integer", "minimum": 2, "maximum": 3}},
                  "required": ["a", "n"], "additionalProperties": False}
    loose = ask(client, "smollm2", tools=[tool(parameters)], tool_choice="required", parallel_tool_calls=False, max_tokens=600, temperature=0)
    assert loose.choices[0].message.tool_calls[0].function.name == "record"
    (warning,) = loose.warnings
    assert warning.startswith("tools[0].function.parameters: at #/properties/a: pattern was not bound: ")
    for again in range(2):  # the second finds the constraint ready
        chunks = list(ask(client, "smollm2", tools=[tool(parameters)], tool_choice="required", max_tokens=3, stream=True))
        assert [getattr(chunk, "warnings", None) for chunk in chunks] == [[warning], *[None] * (len(chunks) - 1)]
    assert not hasattr(ask(client, "smollm2", tools=[tool(parameters)], max_tokens=3), "warnings"), "nothing is bound where a model may choose"
    with pytest.raises(openai.BadRequestError) as error:
        ask(client, "smollm2", tools=[tool(parameters, strict=True)], tool_choice="required")
    assert error.value.param.startswith("tools") and "pattern" in error.value.message


USER = {"title": "User", "type": "object", "properties": {"name": {"title": "Name", "type": "string", "maxLength": 12},
                                                          "age": {"title": "Age", "type": "integer", "minimum": 0, "maximum": 150},
                                                          "email": {"anyOf": [{"type": "string", "maxLength": 12}, {"type": "null"}], "default": None, "title": "Email"}},
        "required": ["name", "age"]}


def test_what_client_libraries_send_in_their_default_modes(client):
    """pydantic-ai's output tool with its history, instructor's TOOLS mode, LangChain's bind_tools(tool_choice="any")."""
    output = tool(USER, "final_result", strict=False)
    first = ask(client, "smollm2", tools=[output], tool_choice="required", stream=False).choices[0]
    assert first.finish_reason == "tool_calls"
    for call in first.message.tool_calls:
        jsonschema.validate(json.loads(call.function.arguments), USER)
    history = [*ASK, first.message.model_dump(exclude_none=True),
               *({"role": "tool", "tool_call_id": call.id, "content": "Final result processed."} for call in first.message.tool_calls),
               {"role": "user", "content": "And another."}]
    assert ask(client, "smollm2", messages=history, tools=[output], tool_choice="required", parallel_tool_calls=False).choices[0].message.tool_calls
    user = tool(USER, "User")
    named = ask(client, "smollm2", tools=[user], tool_choice={"type": "function", "function": {"name": "User"}}).choices[0]
    jsonschema.validate(json.loads(named.message.tool_calls[0].function.arguments), USER)
    free = ask(client, "smollm2", tools=[user], temperature=0, max_tokens=24).choices[0]
    assert free.message.content or free.message.tool_calls
