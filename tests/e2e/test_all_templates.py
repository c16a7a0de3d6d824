"""Calls of tools with the chat template of every model family that the oracles have, as an operator's chat_template_file."""
import json

import grpc
import jsonschema
import pytest
from conftest import ORACLES, smollm2
from daemon import Daemon
from test_tool_calls import BOUND, tool

TEMPLATES = {f"t{index}": path for index, path in enumerate(sorted((ORACLES / "templates").glob("*.jinja")))}
REASONING = {"<think>": "</think>", "[THINK]": "[/THINK]", "<seed:think>": "</seed:think>", "<|START_THINKING|>": "<|END_THINKING|>",
             "<|inner_prefix|>": "<|inner_suffix|>"}
ASK = {"role": "user", "content": "Use the tool."}
CALL = {"id": "abcdefghi", "type": "function", "function": {"name": "record", "arguments": '{"code": "XQZ"}'}}


@pytest.fixture(scope="module")
def serving(tmp_path_factory, model_path):
    if not TEMPLATES:
        pytest.skip("the oracles are not beside this checkout")
    models = [smollm2(model_path, name=name, aliases=[], chat_template_file=str(path), preload=False, context=4096, kv_cache={"bytes": "64MiB"})
              for name, path in TEMPLATES.items()]
    with Daemon(tmp_path_factory.mktemp("templates"), models, {"supervisor": {"memory_budget": "1GiB"}}) as running:
        yield running


@pytest.fixture(scope="module")
def stub(serving, protos):
    with grpc.insecure_channel(serving.grpc) as channel:
        yield protos.inference_grpc.InferenceStub(channel)


class Caller:
    def __init__(self, stub, pb, model):
        self.stub, self.pb, self.model = stub, pb, model

    def tokens(self, text):
        return list(self.stub.Tokenize(self.pb.TokenizeRequest(model=self.model, text=text, parse_special=True)).ids)

    def text(self, ids):
        return self.stub.Detokenize(self.pb.DetokenizeRequest(model=self.model, ids=ids, with_special=True)).text.decode(errors="replace")

    def chat(self, messages=(ASK,), **tool_fields):
        texts = [{"tool_calls_json": json.dumps(m["tool_calls"])} if "tool_calls" in m else {} for m in messages]
        plain = [{k: v for k, v in m.items() if k in ("role", "content", "tool_call_id") and v is not None} for m in messages]
        return self.pb.ChatPrompt(messages=[self.pb.Message(**p, **t) for p, t in zip(plain, texts)], tools_json=json.dumps([tool(BOUND, **tool_fields)]),
                                  parallel_tool_calls=False)

    def prompt(self, chat):
        return self.stub.ApplyTemplate(self.pb.ApplyTemplateRequest(model=self.model, chat=chat)).text

    def generate(self, chat, resumed=(), **fields):
        """Name and arguments of the only call, and all tokens; of a stream that began with `resumed`."""
        pb = self.pb
        events = list(self.stub.Generate(pb.GenerateRequest(
            model=self.model, chat=chat, sampling=pb.Sampling(temperature=1.2), limits=pb.Limits(max_tokens=600),
            resume_tokens=[pb.ResumeState(ids=resumed)] if resumed else [], **fields)))
        assert events[-1].finished.reason == pb.Finished.REASON_TOOL_CALLS, events[-3:]
        calls = [event.delta.tool_call for event in events if event.delta.kind == pb.Delta.KIND_TOOL_CALL]
        assert {call.index for call in calls} == {0}
        ids = [token for event in events for token in event.delta.token_ids]
        return "".join(call.name for call in calls), "".join(call.arguments for call in calls), ids


@pytest.mark.parametrize("name", TEMPLATES, ids=[path.stem for path in TEMPLATES.values()])
def test_calls_are_bound_and_shown(stub, protos, name):
    caller = Caller(stub, protos.inference, name)
    history = [ASK, {"role": "assistant", "content": None, "tool_calls": [CALL]}, {"role": "tool", "tool_call_id": "abcdefghi", "content": "stored 4711"}]
    shown = caller.prompt(caller.chat(history))
    for word in ("Use the tool.", "record", "XQZ", "stored 4711", "Records it."):
        assert word in shown, shown

    chat = caller.chat()
    # A model of this size may not find the end of its reasoning: that is given as what it had before a resumption.
    opened, source = caller.prompt(chat).rstrip(), TEMPLATES[name].read_text()
    marks = next(((mark, close) for mark, close in REASONING.items() if mark in source and close in source), None)
    thought = caller.tokens(("" if opened.endswith(marks[0]) else marks[0]) + f"Hm.{marks[1]}\n") if marks else []
    chat.tool_choice_json = '"required"'
    function, arguments, ids = caller.generate(chat, thought, seed=1)
    assert function == "record"
    jsonschema.validate(json.loads(arguments), BOUND)

    # The model does not call by itself: it goes on where a call has begun.
    begun = next(i for i in range(1, len(ids)) if "record" in caller.text(ids[:i]))
    function, arguments, _ = caller.generate(caller.chat(strict=True), thought + ids[:begun], seed=2)
    assert function == "record"
    jsonschema.validate(json.loads(arguments), BOUND)
