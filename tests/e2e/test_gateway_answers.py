"""Rules of single requests at the gateway, in front of a stub of a worker that does what the prompt says."""
import http.client
import json
import socket
import urllib.request

import grpc
import openai
import pytest
from daemon import wait_for
from gateway import Gateway


@pytest.fixture(scope="module")
def gateway(tmp_path_factory):
    with Gateway(tmp_path_factory.mktemp("gateway")) as gateway:
        yield gateway


@pytest.fixture(scope="module")
def client(gateway):
    with openai.OpenAI(base_url=gateway.http + "/v1", api_key="none", max_retries=0) as client:
        yield client


@pytest.fixture(scope="module")
def stub(gateway, protos):
    with grpc.insecure_channel(gateway.grpc) as channel:
        yield protos.inference_grpc.InferenceStub(channel)


def ask(text):
    return [{"role": "user", "content": text}]


def post(gateway, path, body, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", gateway.http_port, timeout=60)
    connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json", **headers})
    response = connection.getresponse()
    return response.status, json.loads(response.read())


def test_a_choice_that_fails_by_the_clients_fault_is_a_400(gateway, client):
    with pytest.raises(openai.BadRequestError) as refused:
        client.chat.completions.create(model="chat", messages=ask("tokens=0 fail_choice=3"))
    assert refused.value.param == "logit_bias"


def test_the_log_has_the_reason_of_an_internal_error_and_the_client_has_not(gateway, client, stub, protos):
    pb = protos.inference
    status, body = post(gateway, "/v1/completions", {"model": "chat", "prompt": "tokens=0 fail_choice=13"}, **{"X-Request-Id": "why-1"})
    assert status == 500 and "no token is left" not in json.dumps(body)
    assert gateway.request_line("why-1")["reason"] == "logit_bias: no token is left"
    status, body = post(gateway, "/v1/completions", {"model": "chat", "prompt": "tokens=3 fail_at=1 fail=13"}, **{"X-Request-Id": "why-2"})
    assert status == 500 and gateway.request_line("why-2")["reason"] == "failed"
    events = list(stub.Generate(pb.GenerateRequest(model="chat", text="tokens=0 fail_choice=13", request_id="why-3")))
    assert "no token is left" not in events[-1].finished.error and "why-3" in events[-1].finished.error
    assert gateway.request_line("why-3")["reason"] == "logit_bias: no token is left"


def test_tokens_of_requests_that_are_cut_off_are_counted(gateway, client, stub, protos):
    pb = protos.inference
    stream = client.chat.completions.create(model="chat", messages=ask("tokens=100000 delay_us=1000"), stream=True,
                                            extra_headers={"X-Request-Id": "cut-1"})
    for _, _ in zip(range(10), stream):
        pass
    stream.close()
    line = gateway.request_line("cut-1")
    assert line["client_gone"] and line["completion_tokens"] >= 9 and line["prompt_tokens"] > 0
    status, body = post(gateway, "/v1/completions", {"model": "chat", "prompt": "tokens=100000 delay_us=1000", "max_tokens": 100000, "deadline_ms": 300},
                        **{"X-Request-Id": "cut-2"})
    assert status == 504 and body["error"]["message"] == "the request's deadline passed"
    line = gateway.request_line("cut-2")
    assert line["completion_tokens"] > 10 and line["prompt_tokens"] > 0 and not line["client_gone"]
    call = stub.Generate(pb.GenerateRequest(model="chat", text="tokens=100000 delay_us=1000", request_id="cut-3"))
    for _, _ in zip(range(10), call):
        pass
    call.cancel()
    assert gateway.request_line("cut-3")["completion_tokens"] >= 9
    counted = sum(int(line.split()[-1]) for line in gateway.metrics().splitlines() if line.startswith("inferd_request_completion_tokens_total{"))
    assert counted >= 28


def test_a_half_closed_connection_gets_its_answer(gateway):
    body = json.dumps({"model": "chat", "messages": ask("tokens=20 delay_us=10000")})
    with socket.create_connection(("127.0.0.1", gateway.http_port)) as connection:
        connection.sendall(f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                           f"X-Request-Id: half-1\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
        connection.shutdown(socket.SHUT_WR)
        received = b""
        while part := connection.recv(65536):
            received += part
    assert b"HTTP/1.1 200 OK" in received and b"w19 " in received
    assert not gateway.request_line("half-1")["client_gone"]


def test_a_list_of_prompts_is_checked_before_any_runs(gateway, client):
    active = 'inferd_time_to_first_token_seconds_count{model="other"}'
    prompts = ["tokens=3"] * 5 + ["refuse=11 field=prompt message=too~long"]
    for stream in (False, True):
        with pytest.raises(openai.BadRequestError) as refused:
            client.completions.create(model="other", prompt=prompts, stream=stream)
        assert refused.value.param == "prompt[5]" and refused.value.code == "context_length_exceeded"
    assert active not in gateway.metrics()


def test_a_list_longer_than_the_workers_queue_is_answered(client):
    answer = client.completions.create(model="chat", prompt=["tokens=2 most=5 delay_us=1000"] * 100)
    assert [choice.text for choice in answer.choices] == ["w0 w1 "] * 100


@pytest.mark.parametrize("path,body,param", [
    ("/v1/chat/completions", {"messages": ask("refuse=11 field=prompt message=too~long")}, "messages"),
    ("/v1/chat/completions", {"messages": ask("refuse=3 field=chat.messages[0].role message=bad")}, "messages[0].role"),
    ("/v1/completions", {"prompt": "refuse=3 field=choices message=too~many"}, "n"),
])
def test_errors_of_the_worker_name_the_fields_that_clients_know(gateway, path, body, param):
    status, answer = post(gateway, path, {"model": "chat", **body})
    assert status == 400 and answer["error"]["param"] == param, answer


def test_the_public_port_goes_on_where_an_answer_broke_off(stub, protos):
    pb = protos.inference
    whole = "".join(f"w{i} " for i in range(9))
    resumed = pb.GenerateRequest(model="chat", text="tokens=9", rendered_unix_seconds=1_700_000_000,
                                 resume_tokens=[pb.ResumeState(ids=range(4), delivered_bytes=12)])
    events = list(stub.Generate(resumed))
    assert "".join(event.delta.text for event in events) == whole[12:]
    resumed.resume_tokens.add(choice=7)
    with pytest.raises(grpc.RpcError) as refused:
        list(stub.Generate(resumed))
    assert refused.value.code() == grpc.StatusCode.INVALID_ARGUMENT and "choice 7" in refused.value.details()


def test_validate_says_what_generate_would(stub, protos):
    pb = protos.inference
    assert stub.Validate(pb.GenerateRequest(model="chat", text="tokens=9")).prompt_tokens == len("tokens=9")
    with pytest.raises(grpc.RpcError) as refused:
        stub.Validate(pb.GenerateRequest(model="chat", text="refuse=3 message=bad"))
    assert refused.value.code() == grpc.StatusCode.INVALID_ARGUMENT


def test_requests_without_a_model_share_one_label(gateway):
    for model in ("nobody-1", "nobody-2"):
        assert post(gateway, "/v1/completions", {"model": model, "prompt": "x"})[0] == 404
    labels = {line.split('model="')[1].split('"')[0] for line in gateway.metrics().splitlines() if line.startswith("inferd_requests_total{")}
    assert "unknown" in labels and labels <= {"unknown", "chat", "other"}


def test_bodies_held_at_a_time_are_bounded(tmp_path, protos):
    with Gateway(tmp_path, {"limits": {"body": "64KiB", "all_bodies": "100KiB"}}) as gateway:
        held = {"model": "chat", "prompt": "tokens=100000 delay_us=1000 " + "x" * 60_000, "stream": True, "max_tokens": 100000}
        connection = http.client.HTTPConnection("127.0.0.1", gateway.http_port, timeout=60)
        connection.request("POST", "/v1/completions", json.dumps(held), {"Content-Type": "application/json"})
        response = connection.getresponse()
        assert response.status == 200
        other = http.client.HTTPConnection("127.0.0.1", gateway.http_port, timeout=60)
        other.request("POST", "/v1/completions", json.dumps(held), {"Content-Type": "application/json"})
        refused = other.getresponse()
        assert refused.status == 503 and int(refused.getheader("Retry-After")) >= 1
        assert json.loads(refused.read())["error"]["code"] == "overloaded"
        with grpc.insecure_channel(gateway.grpc) as channel:
            with pytest.raises(grpc.RpcError) as over:
                protos.inference_grpc.InferenceStub(channel).Tokenize(protos.inference.TokenizeRequest(model="chat", text="x" * 60_000))
            assert over.value.code() == grpc.StatusCode.UNAVAILABLE
        response.close()
        connection.close()
        small = {"model": "chat", "prompt": "tokens=1 " + "x" * 60_000}
        wait_for(lambda: post(gateway, "/v1/completions", small)[0] == 200, 60, "the room that the ended stream gave back")


def test_models_are_asked_all_at_once(tmp_path):
    with Gateway(tmp_path, worker_arguments=["--together", "2"]) as gateway:
        models = json.loads(urllib.request.urlopen(gateway.http + "/v1/models", timeout=60).read())["data"]
    assert [(model["id"], model["meta"]["architecture"]) for model in models] == [("chat", "stub"), ("other", "stub")]
