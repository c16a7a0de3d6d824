"""What is only long is left alone by the watchdog, and what hangs is found."""
import concurrent.futures
import ctypes
import os
import threading

import pytest
from conftest import smollm2
from daemon import Daemon, wait_for
from test_process_faults import quick, tiny_path, wait_for_new, worker_of  # noqa: F401 (a fixture)
from worker_process import Worker

TEXT = "word " * 200
PTRACE_ATTACH, PTRACE_DETACH = 16, 17
WALL = 0x40000000  # wait for threads, too


def test_a_pass_of_an_embedding_is_progress_before_it_is_over(tmp_path, model_path, protos):
    pb = protos.inference
    with Worker(tmp_path, model_path, protos, context=2048, kv_cache={"bytes": "128MiB"}, batch={"prefill_tokens": 2048}) as worker:
        # One pass: without progress within it there were two numbers.
        call = worker.stub.Embed.future(pb.EmbedRequest(inputs=[pb.EmbedInput(text="word " * 1800)]))
        seen = set()
        while len(seen) <= 3:
            seen.add(worker.stats().progress)
            assert not call.done() or len(seen) > 3, sorted(seen)
        assert worker.stats().steps == 0
        call.cancel()


def test_requests_that_are_only_long_are_answered(tmp_path, model_path):
    """Each takes longer than the watchdog waits, on a machine of any speed that it is for."""
    with Daemon(tmp_path, [smollm2(model_path, threads=1)], quick(watchdog="1s")) as daemon:
        before = worker_of(daemon, "smollm2")
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            answers = [
                pool.submit(daemon.post, "/v1/embeddings", {"model": "smollm2", "input": [TEXT] * 30}),
                pool.submit(daemon.post, "/v1/completions", {"model": "smollm2", "prompt": "word " * 1500, "max_tokens": 2}),
                pool.submit(daemon.post, "/v1/completions", {"model": "smollm2", "prompt": "some words " * 500, "echo": True, "logprobs": 5, "max_tokens": 1}),
            ]
            assert [answer.result()[0] for answer in answers] == [200, 200, 200]
        after = worker_of(daemon, "smollm2")
        assert (after["pid"], after["restarts"]) == (before["pid"], 0)


@pytest.fixture
def frozen_threads():
    """Stops some threads of a process for good; the others go on."""
    libc = ctypes.CDLL(None, use_errno=True)
    stopped = []

    def stop(threads):
        for thread in threads:
            if libc.ptrace(PTRACE_ATTACH, thread, None, None) != 0:
                pytest.skip(f"threads cannot be stopped here: {os.strerror(ctypes.get_errno())}")
            stopped.append(thread)
            os.waitpid(thread, WALL)
            # A process that is killed is not over before somebody has seen the end of each of its traced threads.
            threading.Thread(target=os.waitpid, args=(thread, WALL), daemon=True).start()

    yield stop
    for thread in stopped:
        libc.ptrace(PTRACE_DETACH, thread, None, None)


def cpu_ticks(pid, thread):
    with open(f"/proc/{pid}/task/{thread}/stat") as stat:
        return int(stat.read().rsplit(")", 1)[1].split()[11])


def test_a_step_that_hangs_is_found(tmp_path, model_path, frozen_threads):
    """The worker still answers what it is asked, and its engine stands still in the middle of a step."""
    with Daemon(tmp_path, [smollm2(model_path, threads=1)], quick(watchdog="2s")) as daemon:
        pid = worker_of(daemon, "smollm2")["pid"]
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            answer = pool.submit(daemon.post, "/v1/completions", {"model": "smollm2", "prompt": "Count:", "max_tokens": 800, "temperature": 0, "ignore_eos": True})
            busiest = lambda: max((cpu_ticks(pid, int(t)), int(t)) for t in os.listdir(f"/proc/{pid}/task"))
            begin = busiest()[0]
            wait_for(lambda: busiest()[0] > begin + 30, 60, "work")
            frozen_threads([busiest()[1]])
            wait_for_new(daemon, "smollm2", pid)
            assert worker_of(daemon, "smollm2")["last_exit"] == "watchdog"
            assert "no progress" in worker_of(daemon, "smollm2")["last_error"]
            assert answer.result()[0] == 200
