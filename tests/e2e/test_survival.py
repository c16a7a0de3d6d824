"""Requests of every kind go on with the same bytes when their worker is killed or withdrawn, and count once."""
import json
import os
import signal
import threading

import grpc
import pytest
from conftest import smollm2
from daemon import Daemon, wait_for
from load import ask
from mixture import Mixture, model_with_tools
from test_process_faults import metric, quick, wait_for_new, worker_of

LONG = {"model": "smollm2", "prompt": "Count:", "max_tokens": 400, "temperature": 0, "ignore_eos": True}


def test_every_kind_of_request_survives_kills_and_a_swap_beyond_its_drain(tmp_path, model_path, protos):
    path = model_with_tools(model_path, tmp_path)
    with Daemon(tmp_path, [smollm2(str(path), name="mix")], quick()) as daemon:
        mixture = Mixture(daemon, "mix", protos)
        mixture.expect()
        mixture.start()

        def let_all_get_on():
            seen = mixture.seen()
            wait_for(lambda: mixture.got_further(seen, 4), 60, "tokens for all")

        def kill():
            pid = worker_of(daemon, "mix")["pid"]
            os.kill(pid, signal.SIGKILL)
            wait_for_new(daemon, "mix", pid)

        let_all_get_on()
        disturbed = mixture.under_way()
        kill()
        moved = mixture.under_way()
        let_all_get_on()
        # Answers that come whole, too: without a token between two deaths a request counts as the one to blame.
        wait_for(lambda: metric(daemon, "inferd_requests_resumed_total") >= moved, 60, "tokens for those that come whole")
        assert daemon.inferctl("swap", "mix", "--drain", "100ms").returncode == 0
        wait_for(lambda: len(daemon.status()["workers"]) == 1, 60, "the old worker's end")
        let_all_get_on()
        kill()
        mixture.check()
        assert disturbed >= 12, disturbed
        assert metric(daemon, "inferd_requests_resumed_total") >= disturbed
        assert worker_of(daemon, "mix")["version"] == 2


def run_beyond_a_drain(daemon, protos, change):
    """What came of LONG, streamed, whole and over gRPC, when `change` withdrew its worker."""
    results = {}

    def call_grpc():
        pb = protos.inference
        request = pb.GenerateRequest(model="smollm2", text=LONG["prompt"], limits=pb.Limits(max_tokens=LONG["max_tokens"]),
                                     sampling=pb.Sampling(temperature=0, ignore_eos=True))
        with grpc.insecure_channel(daemon.grpc) as channel:
            try:
                events = list(protos.inference_grpc.InferenceStub(channel).Generate(request, timeout=120))
                results["grpc"] = "".join(event.delta.text for event in events), events[-1].finished.usage.completion_tokens
            except grpc.RpcError as error:
                results["grpc"] = f"{error.code().name}: {error.details()}"

    def call(stream):
        answer = ask(daemon.http_port, "/v1/completions", {**LONG, "stream": stream, **({"stream_options": {"include_usage": True}} if stream else {})})
        content = answer.content and (answer.content["choices"][0]["text"], answer.content["usage"][1])
        results["streamed" if stream else "whole"] = content or answer.error

    threads = [threading.Thread(target=call_grpc), *(threading.Thread(target=call, args=(stream,)) for stream in (True, False))]
    for thread in threads:
        thread.start()
    wait_for(lambda: metric(daemon, "inferd_requests_running{") == len(threads), 60, "running requests")
    change()
    for thread in threads:
        thread.join(120)
    return results


@pytest.mark.parametrize("change", ["same file", "threads and KV pool", "context"])
def test_only_where_fingerprints_differ_a_withdrawn_stream_ends(tmp_path, model_path, protos, change):
    settings = quick(drain="100ms")
    with Daemon(tmp_path, [smollm2(model_path)], settings) as daemon:
        def withdraw():
            if change == "same file":
                assert daemon.inferctl("swap", "smollm2").returncode == 0
                return
            changes = {"context": 1900} if change == "context" else {"threads": 1, "kv_cache": {"bytes": "200MiB"}}
            config = json.loads(daemon.config_path.read_text())
            config["models"][0].update(changes)
            daemon.config_path.write_text(json.dumps(config))
            assert daemon.inferctl("reload").returncode == 0

        results = run_beyond_a_drain(daemon, protos, withdraw)
        assert worker_of(daemon, "smollm2")["version"] == 2
        if change == "context":
            assert all(isinstance(result, str) and "shutting down" in result for result in results.values()), results
        else:
            undisturbed = ask(daemon.http_port, "/v1/completions", LONG).content
            expected = undisturbed["choices"][0]["text"], undisturbed["usage"][1]
            assert results == dict.fromkeys(["streamed", "whole", "grpc"], expected)
            assert metric(daemon, "inferd_requests_resumed_total") == 3
            assert metric(daemon, "inferd_request_completion_tokens_total") == 4 * LONG["max_tokens"]
