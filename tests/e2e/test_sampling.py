"""Samplers, guesses and sliding of one real worker."""
import grpc
import pytest

from test_worker import answer, request
from worker_process import Worker, said

CODE = """def total(prices, rates):
    result = 0
    for price, rate in zip(prices, rates):
        result = result + price * rate
    return result
"""


@pytest.fixture(scope="module")
def plain(tmp_path_factory, model_path, protos):
    with Worker(tmp_path_factory.mktemp("plain"), model_path, protos, context=2048,
                kv_cache={"bytes": "64MiB"}) as running:
        yield running


def requests(pb):
    """Texts that repeat themselves, greedy and drawn, with log-probabilities."""
    for temperature in (0, 0.6):
        yield request(pb, text=CODE * 2, max_tokens=60, temperature=temperature, logprobs=2)
    yield request(pb, text=CODE, max_tokens=30, choices=2)
    sampling = pb.Sampling(temperature=0.8, dry_multiplier=0.8, bad_words=["result"])
    yield pb.GenerateRequest(text=CODE, seed=5, sampling=sampling, limits=pb.Limits(max_tokens=40))


@pytest.mark.parametrize("kind", ["ngram", "draft"])
def test_guesses_are_counted_and_change_nothing(kind, plain, tmp_path, model_path, protos):
    speculation = {"kind": kind, "max_tokens": 6, "draft_path": str(model_path)}
    with Worker(tmp_path, model_path, protos, context=2048, kv_cache={"bytes": "512MiB"},
                speculation=speculation) as guessing:
        # Guessing pauses for at least 64 steps where it was slower, which a busy machine may find at any time; after each
        # pause it is tried again. So how many rounds it takes depends on the machine, that it happens does not.
        for _ in range(30):
            for wire in requests(protos.inference):
                expected, got = answer(plain, wire), answer(guessing, wire)
                assert (got["ids"], got["text"]) == (expected["ids"], expected["text"])
                assert got["logprobs"] == expected["logprobs"]
            stats = guessing.stats()
            if stats.draft_tokens_accepted > 20: break
        assert stats.draft_tokens_proposed >= stats.draft_tokens_accepted > 20
        assert stats.steps < stats.generation_tokens
    assert plain.stats().draft_tokens_proposed == 0


def test_a_draft_model_that_does_not_fit_is_refused(tmp_path, model_path, protos):
    missing = {"kind": "draft", "draft_path": str(tmp_path / "none.gguf")}
    with Worker(tmp_path, model_path, protos, speculation=missing, start=False) as worker:
        worker.start()
        assert worker.process.wait(60) == 3
        assert f"speculation.draft_path: {tmp_path}/none.gguf" in worker.report_text()


def test_sliding_goes_on_beyond_the_context(tmp_path, model_path, protos):
    pb = protos.inference
    with Worker(tmp_path, model_path, protos, context=128, kv_cache={"bytes": "16MiB"}, overflow="slide",
                overflow_keep=8) as worker:
        wire = request(pb, text=CODE, max_tokens=150, temperature=0)
        wire.sampling.ignore_eos = True
        slid = answer(worker, wire)
        usage = slid["finished"].usage
        assert (usage.completion_tokens, usage.dropped_tokens % 60) == (150, 0) and usage.dropped_tokens >= 60
        wire.limits.overflow = pb.OVERFLOW_STOP
        stopped = answer(worker, wire)
        assert stopped["finished"].reason == pb.Finished.REASON_LENGTH
        assert stopped["finished"].usage.dropped_tokens == 0
        assert len(stopped["ids"]) == 128 - usage.prompt_tokens
        assert slid["ids"][:len(stopped["ids"])] == stopped["ids"]


def test_bad_words_never_come(plain, protos):
    pb = protos.inference
    free = answer(plain, request(pb, text=CODE, temperature=0, max_tokens=40))
    assert "prices" in free["text"]
    wire = pb.GenerateRequest(text=CODE, limits=pb.Limits(max_tokens=40),
                              sampling=pb.Sampling(temperature=0, bad_words=["prices", "rate"]))
    text = answer(plain, wire)["text"]
    assert "prices" not in text and "rate" not in text


@pytest.mark.parametrize("sampling, message", [
    ({"mirostat": 1}, "mirostat: 1 is not supported, expected 0 (off) or 2"),
    ({"dry_base": 0.5}, "dry_base: 0.5 is not in [1, 100]"),
    ({"bad_words": [""]}, "bad_words: text 0 has 0 bytes, expected 1 to 256"),
    ({"logit_bias": {token: -100 for token in range(49152)}}, "logit_bias: no token is left of the vocabulary of 49152"),
])
def test_what_cannot_be_sampled_is_refused_by_name(sampling, message, plain, protos):
    pb = protos.inference
    with pytest.raises(grpc.RpcError) as error:
        list(plain.stub.Generate(pb.GenerateRequest(text="x", sampling=pb.Sampling(**sampling))))
    assert error.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert said(error.value) == message
