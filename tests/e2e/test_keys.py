"""What is told to whom where API keys are asked for, and how long whoever tries keys may do so."""
import hashlib
import json
import subprocess

import grpc
import pytest
from conftest import smollm2
from daemon import BIN, Daemon, free_ports, wait_for


def key(name, secret, **limits):
    return {"name": name, "sha256": hashlib.sha256(secret.encode()).hexdigest(), **limits}


def bearer(secret):
    return {"Authorization": f"Bearer {secret}"}


def guarded(folder, model_path, **auth):
    keys = folder / "keys.yaml"
    keys.write_text(json.dumps({"keys": [key("all", "all"), key("some", "some", models=["smol*"])]}))
    other = {"name": "hidden", "path": model_path, "context": 512, "kv_cache": {"bytes": "16MiB"}}
    return Daemon(folder, [smollm2(model_path), other], extra={"auth": {"keys_file": str(keys), **auth}})


@pytest.fixture(scope="module")
def daemon(tmp_path_factory, model_path):
    with guarded(tmp_path_factory.mktemp("keys"), model_path) as running:
        yield running


def names(daemon, headers):
    status, body = daemon.get("/ready", headers)
    assert status == 200
    return [model["model"] for model in json.loads(body).get("models", [])]


def test_ready_names_no_model_without_a_right_key(daemon):
    status, body = daemon.get("/ready")
    assert (status, json.loads(body)) == (200, {"status": "ready"})
    assert names(daemon, bearer("wrong")) == []
    assert names(daemon, bearer("all")) == ["hidden", "smollm2"]
    assert names(daemon, bearer("some")) == ["smollm2"]


def test_metrics_of_models_that_a_key_may_use(daemon):
    assert daemon.get("/metrics")[0] == 401
    assert 'model="hidden"' in daemon.get("/metrics", bearer("all"))[1]
    status, page = daemon.get("/metrics", bearer("some"))
    assert status == 200 and "hidden" not in page
    assert 'model="smollm2"' in page and 'process="gateway"' in page


def test_both_can_be_opened(tmp_path, model_path):
    with guarded(tmp_path, model_path, ready_for_all=True, metrics_for_all=True) as daemon:
        assert names(daemon, {}) == ["hidden", "smollm2"]
        assert 'model="hidden"' in daemon.get("/metrics", bearer("some"))[1]


def test_grpc_listens_beyond_loopback_where_keys_are_asked_for(tmp_path, model_path, protos):
    keys = tmp_path / "keys.yaml"
    keys.write_text(json.dumps({"keys": [key("all", "all")]}))
    ports = free_ports(2)
    listen = {"http": f"127.0.0.1:{ports[0]}", "grpc": f"0.0.0.0:{ports[1]}"}
    daemon = Daemon(tmp_path, [smollm2(model_path)], {"listen": listen, "auth": {"keys_file": str(keys)}}, start=False)
    daemon.http = f"http://127.0.0.1:{ports[0]}"
    daemon.start()
    with daemon, grpc.insecure_channel(f"127.0.0.1:{ports[1]}") as channel:
        stub = protos.inference_grpc.InferenceStub(channel)
        with pytest.raises(grpc.RpcError) as error:
            stub.ListModels(protos.inference.ListModelsRequest())
        assert error.value.code() == grpc.StatusCode.UNAUTHENTICATED
        assert stub.ListModels(protos.inference.ListModelsRequest(), metadata=[("authorization", "Bearer all")]).models[0].name == "smollm2"
    daemon.extra = {"listen": listen}
    daemon.write_config()
    refused = subprocess.run([BIN / "inferd", "--check", "--config", daemon.config_path], capture_output=True, text=True)
    assert refused.returncode == 2 and "listen.grpc: 0.0.0.0:" in refused.stderr and "needs auth.keys_file" in refused.stderr, refused.stderr


def test_an_address_that_tries_keys_must_wait(tmp_path, model_path):
    with guarded(tmp_path, model_path, wrong_keys_per_minute=5) as daemon:
        assert daemon.get("/v1/models", bearer("all"))[0] == 200
        answers = [daemon.get("/v1/models", bearer(f"guess {i}"))[0] for i in range(20)]
        assert answers[:5] == [401] * 5 and 429 in answers[5:7]
        status, body = daemon.get("/v1/models", bearer("some"))
        assert status == 429 and "wrong API keys" in body, "a right key must look like a wrong one"
        codes = []
        with grpc.insecure_channel(daemon.grpc) as channel:
            for _ in range(20):
                with pytest.raises(grpc.RpcError) as caught:
                    channel.unary_unary("/inferd.v1.Inference/ListModels")(b"", metadata=[("authorization", "Bearer x")], timeout=60)
                codes.append(caught.value.code())
        assert grpc.StatusCode.RESOURCE_EXHAUSTED in codes
        assert daemon.get("/v1/models", bearer("all"))[0] == 200, "it was right from there before"
        assert daemon.get("/v1/models")[0] == 401, "no key is no guess"
        wait_for(lambda: daemon.get("/v1/models", bearer("some"))[0] == 200, what="the end of the wait")
