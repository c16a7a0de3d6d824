"""Conversations with models that keep a recurrent state: the next turn goes on where the answer ended, and answers as if it had not."""
import os
import pathlib

import pytest
from daemon import Daemon

ARCHS = pathlib.Path(os.environ.get("INFERD_TEST_ARCHS", os.path.expanduser("~/.cache/inferd/archs")))
MODELS = {"lfm2": "lfm2-dense", "mamba2": "mamba2-dense", "qwen35": "qwen35-dense"}
PROMPT, ANSWER = 90, 31  # tokens; the answer's last is sampled, and never computed

pytestmark = pytest.mark.skipif(not all((ARCHS / f"{file}.gguf").exists() for file in MODELS.values()),
                                reason="the oracles' small models are not on this machine")


@pytest.fixture(scope="module")
def saving(tmp_path_factory):
    folder = tmp_path_factory.mktemp("turns")
    models = [{"name": name, "path": str(ARCHS / f"{file}.gguf"), "context": 512,
               "kv_cache": {"bytes": "64MiB", "save": str(folder / f"{name}.prefixes"), "save_bytes": "32MiB"}}
              for name, file in MODELS.items()]
    with Daemon(folder, models) as running:
        yield running


def ask(daemon, model, prompt, salt="first"):
    """The answer, and how many of the prompt's tokens the cache had."""
    body = {"model": model, "prompt": prompt, "max_tokens": ANSWER, "seed": 3, "temperature": 0.8, "logprobs": 2, "ignore_eos": True,
            "return_token_ids": True, "cache_salt": salt}
    status, answer = daemon.post("/v1/completions", body)
    assert status == 200, answer
    assert answer["usage"]["prompt_tokens"] == len(prompt)
    return answer["choices"][0], answer["usage"]["prompt_tokens_details"]["cached_tokens"]


def prompt_of(model):
    return [5 + (len(model) + 7 * i) % 60 for i in range(PROMPT)]


@pytest.mark.parametrize("model", MODELS)
def test_a_next_turn_goes_on_where_the_answer_ended(saving, model):
    first, cached = ask(saving, model, prompt_of(model))
    assert cached == 0
    again, cached = ask(saving, model, prompt_of(model))
    assert cached == 64 and again == first, "a repeated prompt: from its last whole page on"
    turn = prompt_of(model) + first["token_ids"] + [9, 8, 7]
    second, cached = ask(saving, model, turn)
    assert cached == PROMPT + ANSWER - 1
    fresh, cached = ask(saving, model, turn, salt="second")
    assert cached == 0 and fresh == second
    other = turn[:PROMPT + 5] + [3] + turn[PROMPT + 6:]
    _, cached = ask(saving, model, other)
    assert cached == 64, "the texts part in the page that is not full"


def test_the_end_of_an_answer_is_known_after_a_restart(saving):
    prompts, turns = {model: [6] + prompt_of(model)[1:] for model in MODELS}, {}
    for model, prompt in prompts.items():
        turns[model] = prompt + ask(saving, model, prompt)[0]["token_ids"] + [9, 8, 7]
    assert saving.stop() == 0
    saving.start()
    for model, turn in turns.items():
        second, cached = ask(saving, model, turn)
        assert cached == PROMPT + ANSWER - 1, model
        fresh, cached = ask(saving, model, turn, salt="second")
        assert cached == 0 and fresh == second, model
