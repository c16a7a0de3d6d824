"""How a worker ends: signals, a lost supervisor, models that it refuses, and what it says about it."""
import os
import signal
import socket
import subprocess
import threading
import time

import grpc
import pytest

from daemon import BIN, wait_for
from worker_process import Worker


@pytest.fixture
def worker(tmp_path, model_path, protos):
    with Worker(tmp_path, model_path, protos, context=2048, kv_cache={"bytes": "64MiB"}) as running:
        yield running


def long_request(pb):
    return pb.GenerateRequest(text="Once upon a time", sampling=pb.Sampling(temperature=0, ignore_eos=True),
                              limits=pb.Limits(max_tokens=150))


def test_sigterm_lets_running_requests_finish_and_refuses_new_ones(worker, protos):
    call = worker.stub.Generate(long_request(protos.inference))
    next(call)
    worker.process.send_signal(signal.SIGTERM)
    wait_for(lambda: worker.health() == "NOT_SERVING", 60, "NOT_SERVING")
    with pytest.raises(grpc.RpcError) as error:
        list(worker.stub.Generate(long_request(protos.inference)))
    assert error.value.code() == grpc.StatusCode.UNAVAILABLE
    last = list(call)[-1]
    assert last.finished.usage.completion_tokens == 150
    assert worker.process.wait(60) == 0


def test_a_second_sigterm_ends_at_once(worker, protos):
    call = worker.stub.Generate(long_request(protos.inference))
    next(call)
    worker.process.send_signal(signal.SIGTERM)
    wait_for(lambda: worker.health() == "NOT_SERVING", 60, "NOT_SERVING")
    worker.process.send_signal(signal.SIGTERM)
    assert worker.process.wait(60) == 1


def test_drain_waits_for_requests_and_tells_what_is_left(worker, protos):
    call = worker.stub.Generate(long_request(protos.inference))
    next(call)
    reply = worker.worker_stub.Drain(protos.worker.DrainWorkerRequest(deadline_ms=1))
    assert reply.unfinished == 1 and worker.health() == "NOT_SERVING" and worker.stats().draining
    reader = threading.Thread(target=lambda: list(call))
    reader.start()
    assert worker.worker_stub.Drain(protos.worker.DrainWorkerRequest(deadline_ms=30000)).unfinished == 0
    reader.join()
    assert worker.process.poll() is None


def test_the_end_of_the_supervisor_is_its_end(worker):
    os.close(worker.lifeline)
    worker.process.wait(60)


def refused(tmp_path, path, protos, **model):
    with Worker(tmp_path, path, protos, start=False, **model) as worker:
        worker.start()
        code = worker.process.wait(60)
        last = worker.log()[-1]
        return code, worker.report_text(), last


@pytest.mark.parametrize("content,word", [
    (b"", "file is empty"), (b"GGUF" + b"\xff" * 60, "version"), (b"not a model at all" * 10, "magic"),
])
def test_a_bad_file_is_refused_with_its_reason(tmp_path, protos, content, word):
    path = tmp_path / "bad.gguf"
    path.write_bytes(content)
    code, report, last = refused(tmp_path, path, protos)
    assert code == 3
    assert report.startswith("model test: ") and word in report, report
    assert last["level"] == "error" and last["reason"] == report.strip()


def test_a_missing_file_is_refused(tmp_path, protos):
    code, report, _ = refused(tmp_path, tmp_path / "absent.gguf", protos)
    assert code == 3 and "absent.gguf" in report


def test_a_truncated_model_is_refused(tmp_path, model_path, protos):
    path = tmp_path / "cut.gguf"
    with open(model_path, "rb") as whole:
        path.write_bytes(whole.read(50_000_000))
    code, report, _ = refused(tmp_path, path, protos)
    assert code == 3 and "tensor" in report


def test_a_cache_without_room_for_a_page_is_refused(tmp_path, model_path, protos):
    code, report, _ = refused(tmp_path, model_path, protos, kv_cache={"bytes": "1MiB"})
    assert code in (2, 3) and "kv_cache" in report


def test_a_name_that_the_configuration_lacks_is_a_usage_error(tmp_path, model_path, protos):
    with Worker(tmp_path, model_path, protos, start=False, arguments=["--model", "absent"]) as worker:
        worker.start()
        assert worker.process.wait(60) == 2


def test_the_self_test_fits_into_the_smallest_batch(tmp_path, model_path, protos):
    with Worker(tmp_path, model_path, protos, context=64, kv_cache={"bytes": "8MiB"},
                batch={"max_sequences": 1, "prefill_tokens": 1}) as worker:
        events = list(worker.stub.Generate(long_request(protos.inference)))
        assert events[-1].finished.usage.completion_tokens == 60


def test_an_address_in_use_is_a_failure(tmp_path, model_path, protos):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with Worker(tmp_path, model_path, protos, start=False) as worker:
            worker.address = f"127.0.0.1:{taken.getsockname()[1]}"
            worker.start()
            assert worker.process.wait(60) == 1
            assert "listen" in worker.report_text()


def test_a_descriptor_that_is_not_open_is_named(tmp_path, model_path, protos):
    worker = Worker(tmp_path, model_path, protos, start=False)
    result = subprocess.run([BIN / "inferd-worker", "--config", worker.config_path, "--model", "test", "--listen", worker.address,
                             "--lifeline-fd", "999"], capture_output=True, text=True, timeout=60)
    assert result.returncode == 1 and result.stderr.startswith("inferd-worker: --lifeline-fd 999: "), result.stderr
