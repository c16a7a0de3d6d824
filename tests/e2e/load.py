"""Clients that know what they must get: each answer is compared with the one that the same request got undisturbed."""
import http.client
import json
import threading
import time

SAY = [{"role": "user", "content": "Write one sentence about the sea."}]


def requests_for(model):
    """Greedy and sampled, with stop string, log-probabilities and choices, streamed and whole."""
    return [
        ("/v1/completions", {"model": model, "prompt": "The capital of France is", "max_tokens": 24, "temperature": 0}),
        ("/v1/completions", {"model": model, "prompt": "Once upon a time", "max_tokens": 32, "temperature": 0.9, "seed": 7,
                             "logprobs": 2, "stream": True}),
        ("/v1/completions", {"model": model, "prompt": "One, two, three,", "max_tokens": 24, "temperature": 0.7, "seed": 11,
                             "n": 2, "stop": ["seven"], "stream": True}),
        ("/v1/completions", {"model": model, "prompt": "A list of colours: red", "max_tokens": 40, "temperature": 0.8,
                             "seed": 5, "logprobs": 1}),
        ("/v1/chat/completions", {"model": model, "messages": SAY, "max_tokens": 40, "temperature": 0.8, "seed": 3,
                                  "stream": True, "stream_options": {"include_usage": True}}),
        ("/v1/chat/completions", {"model": model, "messages": SAY, "max_tokens": 48, "temperature": 0.6, "seed": 9}),
    ]


class Answer:
    """What a client got: `error` is None, or how the request failed; `content` is what must be equal; `times`, when
    tokens came (the head of an answer, which comes before the first token is computed, does not count)."""

    def __init__(self, status=0, error=None, content=None, times=()):
        self.status, self.error, self.content, self.times = status, error, content, list(times)


class Choices:
    """Text, log-probabilities and ends of an answer, whichever way it was cut into events."""

    def __init__(self):
        self.choices, self.usage = {}, None

    def add(self, body):
        """Whether there was text or a token in it."""
        if "error" in body:
            raise ValueError(json.dumps(body["error"]))
        brought = False
        for choice in body["choices"]:
            into = self.choices.setdefault(choice["index"], {"text": "", "reasoning": "", "calls": {}, "logprobs": [], "finish": None})
            message = choice.get("message") or choice.get("delta") or {}
            into["text"] += choice.get("text") or message.get("content") or ""
            into["reasoning"] += message.get("reasoning_content") or ""
            for place, call in enumerate(message.get("tool_calls") or []):
                known = into["calls"].setdefault(call.get("index", place), {"id": "", "name": "", "arguments": ""})
                known["id"] += call.get("id") or ""
                known["name"] += call["function"].get("name") or ""
                known["arguments"] += call["function"].get("arguments") or ""
            logprobs = choice.get("logprobs") or {}
            into["logprobs"] += list(zip(logprobs.get("tokens", []), logprobs.get("token_logprobs", []))) + (logprobs.get("content") or [])
            into["finish"] = choice.get("finish_reason") or into["finish"]
            brought = brought or bool(choice.get("text") or any(message.get(key) for key in ("content", "reasoning_content", "tool_calls"))
                                      or logprobs.get("tokens"))
        usage = body.get("usage")
        if usage:
            self.usage = (usage["prompt_tokens"], usage["completion_tokens"])
        return brought

    def content(self):
        return {"choices": self.choices, "usage": self.usage}


def read_events(answer, choices, times):
    """Reads a stream to its end; raises if that does not come."""
    for line in answer:
        if not line.startswith(b"data: "):
            continue
        now = time.monotonic()
        text = line[6:].strip()
        if text == b"[DONE]":
            return
        if choices.add(json.loads(text)):
            times.append(now)
    raise ConnectionError("the stream ended without [DONE]")


def ask(port, path, body, connection=None, timeout=120, times=None):
    """One request; with `connection` on a kept one. `times` grows while the answer comes."""
    own = connection or http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    times = [] if times is None else times
    answer = None
    try:
        own.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        answer = own.getresponse()
        choices = Choices()
        if answer.status != 200:
            return Answer(answer.status, answer.read().decode())
        if body.get("stream"):
            read_events(answer, choices, times)
            answer.read()
        else:
            choices.add(json.loads(answer.read()))
        return Answer(200, None, choices.content(), times)
    except (OSError, http.client.HTTPException, ValueError) as error:
        own.close()
        return Answer(answer.status if answer else 0, f"{type(error).__name__}: {error}", None, times)
    finally:
        if connection is None:
            own.close()


class Load:
    """with Load(port, "smollm2", clients=16) as load: ...; then load.check(): every answer came and was the right one."""

    def __init__(self, port, model, clients=16, keep_connections=False, requests=None):
        self.port, self.clients, self.keep_connections = port, clients, keep_connections
        self.requests = requests or requests_for(model)
        self.expected = [ask(port, path, body) for path, body in self.requests]
        for answer in self.expected:
            assert answer.error is None, answer.error
        self.good, self.failed, self.altered = 0, [], []
        self.times = []
        self.first_tokens = []  # when a streamed request began, and when its first token came
        self.lock = threading.Lock()
        self.stopping = threading.Event()
        self.threads = []

    def run_client(self, number):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120) if self.keep_connections else None
        turn = number
        while not self.stopping.is_set():
            index = turn % len(self.requests)
            path, body = self.requests[index]
            started = time.monotonic()
            answer = ask(self.port, path, body, connection)
            with self.lock:
                if answer.error is not None:
                    self.failed.append((started, time.monotonic(), answer.status, path, answer.error))
                elif answer.content != self.expected[index].content:
                    self.altered.append((path, body, answer.content, self.expected[index].content))
                else:
                    self.good += 1
                self.times.append(answer.times)
                if answer.times:
                    self.first_tokens.append((started, answer.times[0]))
            turn += 1

    def done(self):
        with self.lock:
            return self.good + len(self.failed) + len(self.altered)

    def gaps(self):
        """Seconds between two events of one stream, all of them, ascending."""
        with self.lock:
            return sorted(b - a for times in self.times for a, b in zip(times, times[1:]))

    def lost_otherwise(self, kills):
        """Failed requests that were not under way in a gateway when it was killed; `kills` as daemon.kill tells them."""
        return [failure for failure in self.failed
                if not any(failure[0] < gone and failure[1] > before for before, gone in kills)]

    def check(self, least=1):
        assert not self.altered, self.altered[0]
        assert not self.failed, (len(self.failed), self.good, self.failed[:3])
        assert self.good >= least, self.good

    def __enter__(self):
        self.threads = [threading.Thread(target=self.run_client, args=(i,), daemon=True) for i in range(self.clients)]
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        for thread in self.threads:
            thread.join(150)
        assert not any(thread.is_alive() for thread in self.threads), "a client waits without end"
