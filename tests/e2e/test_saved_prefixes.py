"""The prefix cache over restarts: hits change no answer, and a file of no use is one line in the log."""
import os
import signal
import stat

import pytest
from conftest import smollm2
from daemon import Daemon, wait_for

PROMPT = "The sea is wide and the ships are small. " * 20
# The end is another each time, so that logits are computed anew.
ENDS = ["The captain said:", "A sailor sang:"]


def ask(daemon, end, **fields):
    body = {"model": "smollm2", "prompt": PROMPT + end, "max_tokens": 16, "seed": 3, "temperature": 0.8, "logprobs": 2, **fields}
    status, answer = daemon.post("/v1/completions", body)
    assert status == 200, answer
    return answer["choices"], answer["usage"]["prompt_tokens_details"]["cached_tokens"]


def worker_log(daemon, message):
    return [line for line in daemon.log_lines() if line.get("message") == message or line.get("msg") == message]


@pytest.fixture
def saving(tmp_path, model_path):
    """A daemon that is not started yet, and its file."""
    path = tmp_path / "smollm2.prefixes"
    model = smollm2(model_path, kv_cache={"bytes": "64MiB", "save": str(path), "save_bytes": "32MiB"})
    daemon = Daemon(tmp_path, [model], start=False)
    yield daemon, path
    daemon.stop()


def restart(daemon):
    assert daemon.stop() == 0
    daemon.start()


def test_a_prompt_is_known_after_a_restart_and_has_the_same_answer(saving):
    daemon, path = saving
    daemon.start()
    first, cached = ask(daemon, ENDS[0])
    assert cached == 0
    other, _ = ask(daemon, ENDS[1], cache_salt="tenant")
    restart(daemon)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    again, cached = ask(daemon, ENDS[0])
    assert cached > 150 and again == first
    again, cached = ask(daemon, ENDS[1], cache_salt="tenant")
    assert cached > 150 and again == other, "a tenant finds its own again"
    _, cached = ask(daemon, ENDS[1], cache_salt="another tenant")
    assert cached == 0, "and nobody else does"
    assert len(worker_log(daemon, "saved prefixes loaded")) == 1


def test_an_unloaded_model_knows_its_prompts_when_it_is_loaded_again(saving):
    daemon, path = saving
    daemon.start()
    first, _ = ask(daemon, ENDS[0])
    for verb in ("unload", "load"):
        result = daemon.inferctl(verb, "smollm2")
        assert result.returncode == 0, result.stderr
    wait_for(daemon.is_ready, what="the model")
    again, cached = ask(daemon, ENDS[0])
    assert cached > 150 and again == first


@pytest.mark.parametrize("spoil", ["torn", "flipped", "folder", "unreadable"])
def test_a_file_of_no_use_is_ignored_with_one_line(saving, spoil):
    daemon, path = saving
    daemon.start()
    first, _ = ask(daemon, ENDS[0])
    assert daemon.stop() == 0
    content = bytearray(path.read_bytes())
    if spoil == "torn":
        path.write_bytes(content[:len(content) // 2])
    elif spoil == "flipped":
        content[len(content) // 2] ^= 4
        path.write_bytes(content)
    else:
        path.unlink()
        path.mkdir() if spoil == "folder" else path.symlink_to(daemon.config_path)
    daemon.start()
    again, cached = ask(daemon, ENDS[0])
    assert cached == 0 and again == first
    lines = worker_log(daemon, "saved prefixes ignored")
    assert len(lines) == 1 and "smollm2.prefixes" in lines[0]["reason"]


def test_a_killed_worker_leaves_a_whole_file(saving):
    daemon, path = saving
    daemon.start()
    first, _ = ask(daemon, ENDS[0])
    restart(daemon)
    ask(daemon, ENDS[1])
    (worker,) = [worker for worker in daemon.status()["workers"]]
    os.kill(worker["pid"], signal.SIGKILL)
    again, cached = wait_for(lambda: ask(daemon, ENDS[0]), what="an answer")
    assert cached > 150 and again == first
