"""One request of each kind that a client may have under way, over HTTP and gRPC, and what came of each."""
import json
import subprocess
import sys
import threading

import grpc
from load import ask
from test_constraint import PERSON, THINKING, TOOLS, schema_format

SAY = [{"role": "user", "content": "Write about the sea."}]
LIST = {"type": "array", "items": {"type": "string", "minLength": 5, "maxLength": 20}, "minItems": 6, "maxItems": 6}


def model_with_tools(model_path, folder):
    """The same model with a chat template that has tools, and reasoning where `think` is true."""
    path = folder / "tools.gguf"
    subprocess.run([sys.executable, "-m", "gguf.scripts.gguf_new_metadata", "--chat-template", THINKING, model_path, path], check=True, capture_output=True)
    return path


def http_requests(model):
    base = {"model": model, "temperature": 1, "seed": 5, "max_tokens": 90}
    chat = {**base, "messages": SAY}
    stream = {"stream": True, "stream_options": {"include_usage": True}}
    one_call = {"tools": TOOLS, "tool_choice": "required", "parallel_tool_calls": False}
    completion = {**base, "prompt": "Once upon a time"}
    return [
        ("/v1/chat/completions", {**chat, "response_format": schema_format(LIST), **stream}),
        ("/v1/chat/completions", {**chat, "response_format": schema_format(PERSON), "n": 2}),
        ("/v1/chat/completions", {**chat, "guided_regex": "([a-z]{2,7} ){24}end", **stream}),
        ("/v1/chat/completions", {**chat, **one_call, **stream}),
        ("/v1/chat/completions", {**chat, **one_call, "seed": 6}),
        ("/v1/chat/completions", {**chat, "logprobs": True, "top_logprobs": 2, "ignore_eos": True, **stream}),
        ("/v1/chat/completions", {**chat, "chat_template_kwargs": {"think": False}, "ignore_eos": True, "top_p": 0.9}),
        ("/v1/chat/completions", {**chat, "chat_template_kwargs": {"think": True}, "ignore_eos": True, "top_k": 40, **stream}),
        ("/v1/completions", {**completion, "n": 3, "ignore_eos": True, **stream}),
        ("/v1/completions", {**completion, "temperature": 0, "stop": ["princess", "wolf", "xyzzy"], "logprobs": 1, "ignore_eos": True}),
        ("/v1/completions", {**completion, "repetition_penalty": 1.3, "frequency_penalty": 0.5, "min_p": 0.05, "ignore_eos": True, **stream}),
    ]


def grpc_requests(model, pb):
    prompt = pb.ChatPrompt(messages=[pb.Message(role="user", content="Write about the sea.")])
    return [
        pb.GenerateRequest(model=model, text="The history of the world", seed=2, logprobs=1, choices=2, limits=pb.Limits(max_tokens=90),
                           sampling=pb.Sampling(ignore_eos=True, typical_p=0.9)),
        pb.GenerateRequest(model=model, chat=prompt, seed=4, constraint=pb.Constraint(json_schema=json.dumps(LIST)), limits=pb.Limits(max_tokens=120)),
        pb.GenerateRequest(model=model, text="A list:", limits=pb.Limits(max_tokens=90), sampling=pb.Sampling(temperature=0, ignore_eos=True), stop=["xyzzy"]),
    ]


def ask_grpc(address, protos, request, times):
    """What is comparable of all events, whichever way the answer was cut into them."""
    choices, usage, accepted = {}, {}, 0
    with grpc.insecure_channel(address) as channel:
        for event in protos.inference_grpc.InferenceStub(channel).Generate(request, timeout=120):
            kind = event.WhichOneof("event")
            accepted += kind == "accepted"
            if kind == "delta":
                into = choices.setdefault(event.delta.choice, {"ids": [], "text": {}, "logprobs": []})
                into["ids"] += event.delta.token_ids
                into["text"][event.delta.kind] = into["text"].get(event.delta.kind, "") + event.delta.text
                into["logprobs"] += [(entry.token_id, entry.logprob, [(top.token_id, top.logprob) for top in entry.top]) for entry in event.delta.logprobs]
                times.append(0)
            elif kind == "finished":
                finished = event.finished
                assert finished.choice not in usage
                usage[finished.choice] = (finished.reason, finished.usage.prompt_tokens, finished.usage.completion_tokens)
    assert accepted == 1
    return {"choices": choices, "usage": usage}


class Mixture:
    """All of them at once: mixture = Mixture(daemon, model, protos); mixture.expect(); mixture.start(); ...; mixture.check()"""

    def __init__(self, daemon, model, protos):
        self.daemon, self.protos = daemon, protos
        self.http, self.grpc = http_requests(model), grpc_requests(model, protos.inference)
        self.expected = None

    def start(self):
        self.results, self.progress, self.threads = {}, {}, []
        for number in range(len(self.http) + len(self.grpc)):
            times = self.progress[number] = []
            self.threads.append(threading.Thread(target=self.run, args=(number, times), daemon=True))
            self.threads[-1].start()

    def run(self, number, times):
        try:
            if number < len(self.http):
                answer = ask(self.daemon.http_port, *self.http[number], times=times)
                self.results[number] = answer.content if answer.error is None else answer.error
            else:
                self.results[number] = ask_grpc(self.daemon.grpc, self.protos, self.grpc[number - len(self.http)], times)
        except Exception as error:  # told by check()
            self.results[number] = repr(error)

    def streaming(self):
        """Numbers of those under way whose progress is seen."""
        return [number for number in self.progress if number not in self.results
                and (number >= len(self.http) or self.http[number][1].get("stream"))]

    def under_way(self):
        return sum(thread.is_alive() for thread in self.threads)

    def got_further(self, since, tokens):
        """Whether all that can be seen has, since it was like `since` (of seen())."""
        return all(len(self.progress[number]) >= since[number] + tokens for number in self.streaming())

    def seen(self):
        return {number: len(times) for number, times in self.progress.items()}

    def wait(self):
        for thread in self.threads:
            thread.join(150)
        assert not self.under_way(), "a client waits without end"
        return self.results

    def expect(self):
        self.start()
        self.expected = self.wait()
        for number, result in self.expected.items():
            assert isinstance(result, dict), (number, result)

    def check(self):
        self.wait()
        for number, result in self.results.items():
            name = self.http[number] if number < len(self.http) else str(self.grpc[number - len(self.http)])
            assert result == self.expected[number], (name, result, self.expected[number])
