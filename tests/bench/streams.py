"""Clients that stream completions and note when each event came."""
import asyncio
import dataclasses
import json
import random
import time

LONGEST_SECONDS = 1800

# Common words are one token each in most vocabularies; where they are not, calibrate() finds it.
WORDS = ("time year people way day man thing woman life child world school state family student group country problem hand "
         "part place case week company system program question work government number night point home water room mother "
         "area money story fact month lot right study book eye job word business issue side kind head house service friend "
         "father power hour game line end member law car city community name").split()


tokens_per_word = 1.0


def text_of(tokens, seed):
    """About that many tokens of words in an order that only this seed gives, so that no cache knows them."""
    source = random.Random(seed)
    return " ".join(source.choice(WORDS) for _ in range(max(1, round(tokens / tokens_per_word))))


async def calibrate(port):
    """Asks the server how many tokens of its model's vocabulary a text has."""
    global tokens_per_word
    tokens_per_word = 1.0
    answer = await stream(port, text_of(200, "calibration"), 1)
    if not answer.prompt_tokens:
        raise RuntimeError(f"the server did not count a prompt's tokens: {answer.error}")
    tokens_per_word = answer.prompt_tokens / 200


@dataclasses.dataclass
class Answer:
    arrived: float  # monotonic seconds
    events: list = dataclasses.field(default_factory=list)  # when each event with text came
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    error: str = ""

    @property
    def first_token_seconds(self):
        return self.events[0] - self.arrived

    @property
    def gaps(self):
        return [later - earlier for earlier, later in zip(self.events, self.events[1:])]


async def stream(port, prompt, max_tokens, answer=None, **fields):
    """One streamed completion of exactly max_tokens tokens; what takes longer than LONGEST_SECONDS has failed. A caller
    that gives the answer can watch it grow."""
    answer = answer or Answer(time.monotonic())
    try:
        await asyncio.wait_for(read_stream(answer, port, prompt, max_tokens, fields), LONGEST_SECONDS)
    except (OSError, ValueError, asyncio.TimeoutError) as error:
        answer.error = f"{type(error).__name__}: {error}"
    if not answer.error and not answer.events:
        answer.error = "no event with text"
    return answer


async def read_stream(answer, port, prompt, max_tokens, fields):
    """No HTTP client, only as much as a measurement needs: header lines to the empty one, then lines that begin with
    `data: `."""
    body = json.dumps({"model": "model", "prompt": prompt, "max_tokens": max_tokens, "temperature": 0, "stream": True,
                       "ignore_eos": True, "stream_options": {"include_usage": True}, **fields}).encode()
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
    try:
        writer.write(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n"
                     b"Content-Length: %d\r\n\r\n" % len(body) + body)
        status = await reader.readline()
        while await reader.readline() not in (b"\r\n", b""):
            pass
        if b" 200 " not in status:
            answer.error = (status + await reader.read(2000)).decode()
            return
        async for line in reader:
            if line.startswith(b"data: {"):
                take_event(answer, json.loads(line[6:]))
    finally:
        writer.close()


def take_event(answer, event):
    if "error" in event:
        answer.error = json.dumps(event)
    usage = event.get("usage")
    if usage:
        answer.prompt_tokens, answer.completion_tokens = usage["prompt_tokens"], usage["completion_tokens"]
        answer.cached_tokens = (usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0)
    if event.get("choices") and event["choices"][0].get("text"):
        answer.events.append(time.monotonic())


async def closed_loop(port, clients, requests_each, prompt_tokens, max_tokens, seed=0):
    """Each client sends its next request when its last one is answered. prompt_tokens(random) chooses a length."""
    async def client(number):
        source = random.Random(seed * 1000 + number)
        return [await stream(port, text_of(prompt_tokens(source), f"{seed} {number} {i}"), max_tokens) for i in range(requests_each)]

    began = time.monotonic()
    answers = [answer for some in await asyncio.gather(*(client(n) for n in range(clients))) for answer in some]
    return answers, time.monotonic() - began


async def open_loop(port, requests, per_second, prompt_tokens, max_tokens, seed=0):
    """Requests arrive as they come (exponential intervals), whether or not the earlier ones are answered."""
    source = random.Random(seed)
    began = time.monotonic()
    tasks = []
    for i in range(requests):
        tasks.append(asyncio.create_task(stream(port, text_of(prompt_tokens(source), f"{seed} {i}"), max_tokens)))
        await asyncio.sleep(source.expovariate(per_second))
    return await asyncio.gather(*tasks), time.monotonic() - began
