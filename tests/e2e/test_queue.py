"""The bounds of a worker's queue: what waits, what is refused, and what the refusal says."""
import concurrent.futures
import json
import urllib.error
import urllib.request

import grpc
import pytest

from conftest import smollm2
from daemon import Daemon, wait_for
from worker_process import Worker

RETRY = "grpc-retry-pushback-ms"


def endless(pb, max_tokens=1500, text="Once upon a time"):
    return pb.GenerateRequest(text=text, sampling=pb.Sampling(temperature=0, ignore_eos=True),
                              limits=pb.Limits(max_tokens=max_tokens))


def first_event(call):
    """The first event but `waiting`, or the error that came instead of it."""
    try:
        return next(event for event in call if not event.HasField("waiting"))
    except grpc.RpcError as error:
        return error


def start(tmp_path, model_path, protos, places, **queue):
    return Worker(tmp_path, model_path, protos, context=2048, kv_cache={"bytes": "128MiB"},
                  batch={"max_sequences": places}, queue=queue)


def test_as_many_wait_as_may(tmp_path, model_path, protos):
    with start(tmp_path, model_path, protos, places=2, max_requests=3, max_wait="0s") as worker:
        calls = [worker.stub.Generate(endless(protos.inference)) for _ in range(12)]
        with concurrent.futures.ThreadPoolExecutor(12) as pool:
            firsts = [pool.submit(first_event, call) for call in calls]
            refused = wait_for(lambda: [f for f in firsts if f.done() and isinstance(f.result(), grpc.RpcError)][6:] and
                               [f.result() for f in firsts if f.done() and isinstance(f.result(), grpc.RpcError)],
                               what="seven refusals")
            stats = worker.stats()
            assert (stats.requests_running, stats.requests_waiting) == (2, 3)
            assert len(refused) == 7 and stats.rejections["queue_full"] == 7
            for error in refused:
                assert error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
                assert "queue is full: 3 requests are waiting" in error.details()
                assert int(dict(error.trailing_metadata())[RETRY]) > 1000, "two streams of 1500 tokens come before"
            for call in calls:
                call.cancel()


def test_each_choice_is_one_that_waits(tmp_path, model_path, protos):
    with start(tmp_path, model_path, protos, places=1, max_requests=8, max_wait="0s") as worker:
        running = worker.stub.Generate(endless(protos.inference))
        assert next(running).HasField("accepted")
        eight = endless(protos.inference)
        eight.choices = 8
        waiting = worker.stub.Generate(eight)
        wait_for(lambda: worker.stats().requests_waiting == 1, what="the waiting request")
        error = first_event(worker.stub.Generate(endless(protos.inference, 1)))
        assert isinstance(error, grpc.RpcError) and error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
        assert "8 requests are waiting, 1 more exceed the limit of 8" in error.details()
        waiting.cancel()
        running.cancel()


def test_who_has_waited_too_long_is_refused_before_it_is_accepted(tmp_path, model_path, protos):
    # Nothing is known of how much the first will generate when the second comes; 128 tokens are expected.
    with start(tmp_path, model_path, protos, places=1, max_wait="3s") as worker:
        running = worker.stub.Generate(endless(protos.inference, 1900))
        assert next(running).HasField("accepted")
        error = first_event(worker.stub.Generate(endless(protos.inference, 1)))
        assert isinstance(error, grpc.RpcError) and error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
        assert "3 s" in error.details() and int(dict(error.trailing_metadata())[RETRY]) > 0
        assert worker.stats().requests_running == 1
        running.cancel()


def test_texts_to_embed_are_bounded_too(tmp_path, model_path, protos):
    pb = protos.inference
    with start(tmp_path, model_path, protos, places=2, max_requests=2, max_wait="0s") as worker:
        many = pb.EmbedRequest(inputs=[pb.EmbedInput(text="Words and more words. " * 20)] * 12)
        calls = [worker.stub.Embed.future(many) for _ in range(10)]
        codes = [call.exception().code() if call.exception() else grpc.StatusCode.OK for call in calls]
        assert set(codes) == {grpc.StatusCode.OK, grpc.StatusCode.RESOURCE_EXHAUSTED}
        assert 3 <= codes.count(grpc.StatusCode.OK) < 10
        assert worker.stats().rejections["queue_full"] == codes.count(grpc.StatusCode.RESOURCE_EXHAUSTED)


def test_prompt_tokens_that_wait_are_bounded(tmp_path, model_path, protos):
    pb = protos.inference
    with start(tmp_path, model_path, protos, places=1, max_tokens=1000, max_wait="0s") as worker:
        running = worker.stub.Generate(endless(pb))
        assert next(running).HasField("accepted")
        waiting = worker.stub.Generate(endless(pb, 1, "One. " * 250))
        wait_for(lambda: worker.stats().requests_waiting == 1, what="the waiting request")
        error = first_event(worker.stub.Generate(endless(pb, 1, "Two. " * 300)))
        assert isinstance(error, grpc.RpcError) and error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
        assert "exceed the limit of 1000" in error.details()
        running.cancel()
        assert list(waiting)[-1].finished.usage.completion_tokens == 1


@pytest.mark.parametrize("stream", [False, True])
def test_a_full_queue_is_a_429_with_retry_after(tmp_path, model_path, stream):
    model = smollm2(model_path, batch={"max_sequences": 1}, queue={"max_requests": 0})
    body = {"model": "smollm2", "prompt": "Once", "max_tokens": 1500, "ignore_eos": True, "stream": stream}
    with Daemon(tmp_path, [model]) as daemon:
        def post():
            request = urllib.request.Request(daemon.http + "/v1/completions", json.dumps(body | {"stream": True}).encode(),
                                             {"Content-Type": "application/json"})
            return urllib.request.urlopen(request)

        with post() as running:
            assert running.readline().startswith(b"data: ")
            request = urllib.request.Request(daemon.http + "/v1/completions", json.dumps(body).encode(),
                                             {"Content-Type": "application/json"})
            with pytest.raises(urllib.error.HTTPError) as raised:
                urllib.request.urlopen(request)
            assert raised.value.code == 429 and int(raised.value.headers["Retry-After"]) >= 1
            assert json.load(raised.value)["error"]["code"] == "queue_full"
