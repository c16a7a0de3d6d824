"""A text that is far too long costs no more than reading it: it is refused by its bytes."""
import re

import pytest

LONG = "a" * (9 << 20)


def peak_bytes(pid):
    with open(f"/proc/{pid}/status") as status:
        return int(re.search(r"VmHWM:\s+(\d+) kB", status.read()).group(1)) * 1024


@pytest.mark.parametrize("path,body,param", [
    ("/v1/completions", {"prompt": LONG}, "prompt"),
    ("/v1/chat/completions", {"messages": [{"role": "user", "content": LONG}]}, "messages"),
    ("/v1/embeddings", {"input": LONG}, "input"),
])
def test_is_refused_before_it_is_tokenized(daemon, path, body, param):
    [worker] = daemon.children()["inferd-worker"]
    before = peak_bytes(worker)
    status, answer = daemon.post(path, {"model": "smollm2", **body})
    assert status == 400 and answer["error"]["code"] == "context_length_exceeded", answer
    assert answer["error"]["param"].startswith(param)
    assert re.search(r"maximum context length is 2048 tokens, but the prompt has at least \d+ tokens", answer["error"]["message"])
    assert peak_bytes(worker) - before < 8 * len(LONG)


def test_a_cut_text_is_embedded_all_the_same(daemon):
    status, answer = daemon.post("/v1/embeddings", {"model": "smollm2", "input": LONG[:1 << 20], "truncate": True})
    assert status == 200 and answer["usage"]["prompt_tokens"] == 2048
