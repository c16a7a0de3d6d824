"""Anthropic's API against the daemon with a real model: the official package and LangChain's."""
import os
import pathlib
import signal
import subprocess
import sys
import threading
import typing

import anthropic
import langchain_anthropic
import langchain_core.exceptions
import langchain_core.messages
import pydantic
import pytest
from conftest import smollm2
from daemon import Daemon, wait_for
from test_anthropic import WEATHER, client_of, content_of, joined
from test_constraint import TEMPLATE
from test_process_faults import metric, quick, wait_for_new, worker_of

THINKING = TEMPLATE + "{% if enable_thinking %}<think>\n{% endif %}{#- </think> #}"
NOTE = {"name": "note", "input_schema": {"type": "object", "properties": {"n": {"type": "integer"}, "text": {"type": "string", "minLength": 400}}, "required": ["n", "text"]}}
SAMPLED = {"seed": 3, "temperature": 0.8}
ENDLESS = {**SAMPLED, "ignore_eos": True}
QUESTION = [{"role": "user", "content": "What is the capital of France?"}]


class City(pydantic.BaseModel):
    """A city, with what schemas keep of it: the packages leave bounds of texts and numbers out."""
    name: typing.Literal["Paris", "Bonn"]
    capital: bool


def real(model="smollm2", **changes):
    """The package has no name of its own for temperature any more."""
    return {"model": model, "max_tokens": 24, "messages": QUESTION, "extra_body": SAMPLED, **changes}


@pytest.fixture(scope="module")
def client(daemon):
    return client_of(daemon)


@pytest.fixture(scope="module")
def thinker(tmp_path_factory, model_path):
    """The same model with a chat template that has tools, and thoughts where it is asked for them."""
    folder = tmp_path_factory.mktemp("thinker")
    subprocess.run([sys.executable, "-m", "gguf.scripts.gguf_new_metadata", "--chat-template", THINKING, model_path, folder / "thinker.gguf"],
                   check=True, capture_output=True)
    with Daemon(folder, [smollm2(str(folder / "thinker.gguf"), name="thinker")], quick()) as running:
        yield running


def test_the_model_answers_the_same_whole_and_streamed(client):
    whole = client.messages.create(**real())
    assert content_of(joined(client, **real())) == content_of(whole) and whole.content[0].text


def test_system_and_history_count_as_the_prompt_has_them(client):
    system = [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]
    history = [*QUESTION, {"role": "assistant", "content": "Paris."}, {"role": "user", "content": [{"type": "text", "text": "And of Spain?"}]}]
    for tools in ([], [WEATHER]):
        counted = client.messages.count_tokens(model="smollm2", system=system, messages=history, tools=tools).input_tokens
        usage = client.messages.create(**real(system="Be brief.", messages=history, tools=tools)).usage
        assert counted == usage.input_tokens + usage.cache_read_input_tokens
    long = [{"role": "user", "content": "word " * 4000}]
    with pytest.raises(anthropic.BadRequestError, match="prompt is too long: messages: this model's maximum context length is 2048 tokens"):
        client.messages.count_tokens(model="smollm2", messages=long)


def test_stop_sequences(client):
    whole = client.messages.create(**real()).content[0].text
    stop = whole[5:8]
    cut = client.messages.create(**real(stop_sequences=[stop]))
    assert (cut.stop_reason, cut.stop_sequence) == ("stop_sequence", stop) and cut.content[0].text == whole[: whole.index(stop)]


def test_the_end_of_the_context_is_told_from_max_tokens(tmp_path, model_path):
    with Daemon(tmp_path, [smollm2(model_path, context=64)]) as daemon:
        arguments = real(max_tokens=500, extra_body=ENDLESS)
        assert client_of(daemon).messages.create(**arguments).stop_reason == "model_context_window_exceeded"


def test_tools_there_and_back(client):
    forced = client.messages.create(**real(tools=[WEATHER], max_tokens=120, tool_choice={"type": "tool", "name": "get_weather", "disable_parallel_tool_use": True}))
    (call,) = [block for block in forced.content if block.type == "tool_use"]
    assert forced.stop_reason == "tool_use" and call.name == "get_weather" and set(call.input) == {"city"}
    result = {"type": "tool_result", "tool_use_id": call.id, "content": [{"type": "text", "text": "Rain"}]}
    history = [*QUESTION, {"role": "assistant", "content": forced.content}, {"role": "user", "content": [result, {"type": "text", "text": "So?"}]}]
    answer = client.messages.create(**real(tools=[WEATHER], messages=history, tool_choice={"type": "none"}))
    assert answer.stop_reason in ("end_turn", "max_tokens") and all(block.type == "text" for block in answer.content)
    with pytest.raises(anthropic.BadRequestError, match="tool_choice: there is no tool nothing"):
        client.messages.create(**real(tools=[WEATHER], tool_choice={"type": "tool", "name": "nothing"}))
    strict = {**WEATHER, "strict": True, "input_schema": {**WEATHER["input_schema"], "unevaluatedProperties": False}}
    with pytest.raises(anthropic.BadRequestError, match=r"tools\[0\].input_schema"):
        client.messages.create(**real(tools=[strict], tool_choice={"type": "any"}))


@pytest.mark.parametrize("tokens", [4, 10, 20, 40])
def test_a_call_that_is_cut_is_what_clients_make_of_its_stream(client, tokens):
    arguments = real(tools=[NOTE], tool_choice={"type": "any"}, max_tokens=tokens)
    whole = client.messages.create(**arguments)
    assert content_of(joined(client, **arguments)) == content_of(whole) and whole.stop_reason == "max_tokens"


def test_structured_outputs(client):
    parsed = client.messages.parse(**real(max_tokens=120, output_format=City)).parsed_output
    assert isinstance(parsed, City)


def test_thinking_is_asked_for_and_told_apart(thinker):
    client = client_of(thinker)
    arguments = real("thinker", max_tokens=1500, thinking={"type": "enabled", "budget_tokens": 1024}, extra_body=ENDLESS)
    arguments["max_tokens"] = 60
    thoughtful = client.messages.create(**arguments)
    assert thoughtful.content[0].type == "thinking" and thoughtful.content[0].thinking and thoughtful.content[0].signature
    assert content_of(joined(client, **arguments)) == content_of(thoughtful)
    plain = client.messages.create(**real("thinker", thinking={"type": "disabled"}))
    assert [block.type for block in plain.content] == ["text"]
    history = [*QUESTION, {"role": "assistant", "content": [*thoughtful.content, {"type": "text", "text": "Paris."}]}, {"role": "user", "content": "Sure?"}]
    warned = client.messages.create(**real("thinker", messages=history)).warnings
    assert warned == ["messages[1].content: the model's template does not show it"]


def test_a_killed_worker_changes_nothing_in_any_kind_of_stream(thinker):
    client = client_of(thinker)
    kinds = [real("thinker", max_tokens=300, extra_body=ENDLESS),
             real("thinker", max_tokens=300, extra_body=ENDLESS, thinking={"type": "adaptive"}),
             real("thinker", max_tokens=300, tools=[NOTE], tool_choice={"type": "any"})]
    whole = [content_of(client.messages.create(**arguments)) for arguments in kinds]
    assert [message["content"][0]["type"] for message in whole] == ["text", "thinking", "tool_use"]
    seen, streamed = [0] * len(kinds), [None] * len(kinds)

    def read(index):
        with client.messages.stream(**kinds[index]) as stream:
            for event in stream:
                seen[index] += event.type == "content_block_delta"
            streamed[index] = content_of(stream.get_final_message())

    threads = [threading.Thread(target=read, args=(index,)) for index in range(len(kinds))]
    for thread in threads: thread.start()
    wait_for(lambda: min(seen) >= 3, 60, "deltas in each stream")
    assert streamed == [None] * len(kinds)
    before = metric(thinker, "inferd_requests_resumed_total")
    pid = worker_of(thinker, "thinker")["pid"]
    os.kill(pid, signal.SIGKILL)
    wait_for_new(thinker, "thinker", pid)
    for thread in threads: thread.join(120)
    assert streamed == whole
    assert metric(thinker, "inferd_requests_resumed_total") == before + len(kinds)


def test_langchain(daemon):
    model = langchain_anthropic.ChatAnthropic(model="smollm2", base_url=daemon.http, api_key="none", max_tokens=60, temperature=0, max_retries=0)
    whole = model.invoke([("system", "Be brief."), ("human", "What is the capital of France?")])
    chunks = list(model.stream([("system", "Be brief."), ("human", "What is the capital of France?")]))
    assert whole.text and "".join(chunk.text for chunk in chunks) == whole.text
    usage = sum(chunks[1:], chunks[0]).usage_metadata
    assert usage["input_tokens"] == whole.usage_metadata["input_tokens"] and usage["output_tokens"] == whole.usage_metadata["output_tokens"] > 0
    with pytest.raises(langchain_core.exceptions.ContextOverflowError):
        model.invoke("word " * 4000)
    bound = model.bind_tools([WEATHER], tool_choice="get_weather")
    assert bound.invoke("What is the weather in Bonn?").tool_calls[0]["name"] == "get_weather"

    for method in ("function_calling", "json_schema"):
        assert isinstance(model.with_structured_output(City, method=method).invoke("Name a city."), City), method
    assert model.get_num_tokens_from_messages([langchain_core.messages.HumanMessage("Hello")]) > 0
