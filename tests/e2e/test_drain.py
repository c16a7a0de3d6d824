"""What clients get while a gateway or the whole daemon finishes what it has begun."""
import concurrent.futures
import http.client
import json
import signal
import socket

import grpc
import openai
import pytest
from daemon import samples, wait_for
from gateway import Gateway

JSON = {"Content-Type": "application/json"}


def ask(text):
    return [{"role": "user", "content": text}]


def call(connection, method, path, body=None):
    connection.request(method, path, json.dumps(body) if body else None, JSON if body else {})
    response = connection.getresponse()
    return response, json.loads(response.read())


def kept_connection(port):
    """One that has been used and that the server keeps."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    assert call(connection, "GET", "/health")[0].status == 200
    assert connection.sock is not None
    return connection


def check_refusals(http_port, grpc_address, model, kept, protos):
    """New requests are refused at once on every way in, and those who watch are told why."""
    chat = {"model": model, "messages": ask("tokens=1"), "max_tokens": 1}
    for connection in (kept, http.client.HTTPConnection("127.0.0.1", http_port, timeout=60)):
        response, body = call(connection, "POST", "/v1/chat/completions", chat)
        assert response.status == 503 and body["error"]["code"] == "model_unavailable"
        assert int(response.getheader("Retry-After")) >= 1 and response.getheader("Connection") == "close"
    watch = http.client.HTTPConnection("127.0.0.1", http_port, timeout=60)
    assert call(watch, "GET", "/health")[0].status == 200
    response, body = call(watch, "GET", "/ready")
    assert response.status == 503 and body["status"] == "draining"
    with grpc.insecure_channel(grpc_address) as channel:
        stub = protos.inference_grpc.InferenceStub(channel)
        for start in (lambda: list(stub.Generate(protos.inference.GenerateRequest(model=model, text="x"), timeout=60)),
                      lambda: stub.Tokenize(protos.inference.TokenizeRequest(model=model, text="x"), timeout=60),
                      lambda: stub.ListModels(protos.inference.ListModelsRequest(), timeout=60)):
            with pytest.raises(grpc.RpcError) as refused:
                start()
            assert refused.value.code() == grpc.StatusCode.UNAVAILABLE and "shutting down" in refused.value.details()
            assert "grpc-retry-pushback-ms" in dict(refused.value.trailing_metadata())


def samples_of(daemon, name):
    return sum(value for series, value in samples(daemon).items() if series.startswith(name))


def refused(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


def test_new_requests_are_refused_while_the_daemon_ends(own_daemon, protos):
    """The supervisor's part: nobody waits in a listener's queue for an answer that never comes."""
    own_daemon.stop()
    own_daemon.extra = {"supervisor": {"drain": "3m"}}
    own_daemon.write_config()
    own_daemon.start()
    client = openai.OpenAI(base_url=own_daemon.http + "/v1", api_key="none", max_retries=0)
    kept = kept_connection(own_daemon.http_port)
    stream = client.completions.create(model="smollm2", prompt="Once", stream=True, max_tokens=600, temperature=0,
                                       extra_body={"ignore_eos": True})
    chunks = iter(stream)
    next(chunks)
    own_daemon.process.send_signal(signal.SIGTERM)
    wait_for(lambda: own_daemon.get("/ready")[1].find('"draining"') > 0, 60, "the drain")
    check_refusals(own_daemon.http_port, own_daemon.grpc, "smollm2", kept, protos)
    last = None
    for chunk in chunks:
        last = chunk
    assert last.choices[0].finish_reason == "length"
    wait_for(lambda: refused(own_daemon.http_port), 60, "the end of the listener")
    assert own_daemon.process.wait(60) == 0


@pytest.mark.parametrize("over", ["http", "grpc"])
def test_every_call_ends_with_a_status_where_the_drain_is_too_short_for_it(own_daemon, protos, over):
    own_daemon.stop()
    own_daemon.extra = {"supervisor": {"drain": "2s"}}
    own_daemon.write_config()
    own_daemon.start()
    texts = ["word " * 1500] * 400  # minutes of work
    with concurrent.futures.ThreadPoolExecutor(1) as pool, grpc.insecure_channel(own_daemon.grpc) as channel:
        if over == "http":
            ended = pool.submit(own_daemon.post, "/v1/embeddings", {"model": "smollm2", "input": texts})
        else:
            pb = protos.inference
            request = pb.EmbedRequest(model="smollm2", inputs=[pb.EmbedInput(text=text) for text in texts])
            ended = protos.inference_grpc.InferenceStub(channel).Embed.future(request)
        wait_for(lambda: samples_of(own_daemon, "inferd_requests_running{") == 1, 60, "a running request")
        own_daemon.process.send_signal(signal.SIGTERM)
        if over == "http":
            status, body = ended.result()
            assert status == 503 and "shutting down" in body["error"]["message"], (status, body)
        else:
            assert ended.code() == grpc.StatusCode.UNAVAILABLE and "shutting down" in ended.details(), ended.details()
    assert own_daemon.process.wait(60) == 0


def test_an_idle_daemon_ends_at_once_with_open_connections(own_daemon):
    own_daemon.stop()
    own_daemon.extra = {"supervisor": {"drain": "10m"}}  # for which nobody waits
    own_daemon.write_config()
    own_daemon.start()
    kept = kept_connection(own_daemon.http_port)
    own_daemon.process.send_signal(signal.SIGTERM)
    assert own_daemon.process.wait(60) == 0
    with pytest.raises((http.client.RemoteDisconnected, ConnectionError)):
        call(kept, "GET", "/health")


def test_new_requests_are_refused_by_the_last_gateway(tmp_path, protos):
    with Gateway(tmp_path) as gateway:
        client = openai.OpenAI(base_url=gateway.http + "/v1", api_key="none", max_retries=0)
        kept = kept_connection(gateway.http_port)
        stream = client.chat.completions.create(model="chat", messages=ask("tokens=200 delay_us=20000"), stream=True)
        text = next(iter(stream)).choices[0].delta.content
        gateway.process.send_signal(signal.SIGUSR2)
        gateway.process.send_signal(signal.SIGTERM)
        wait_for(lambda: '"draining"' in json.dumps(call(http.client.HTTPConnection("127.0.0.1", gateway.http_port), "GET", "/ready")[1]),
                 10, "the drain")
        check_refusals(gateway.http_port, gateway.grpc, "chat", kept, protos)
        text += "".join(chunk.choices[0].delta.content or "" for chunk in stream)
        assert text == "".join(f"w{i} " for i in range(200))
        assert gateway.process.wait(60) == 0


def test_a_gateway_that_hands_over_serves_kept_connections_once_more(tmp_path):
    with Gateway(tmp_path) as gateway:
        kept = kept_connection(gateway.http_port)
        gateway.process.send_signal(signal.SIGTERM)
        wait_for(lambda: refused(gateway.http_port), 60, "the end of accepting")
        response, body = call(kept, "POST", "/v1/chat/completions", {"model": "chat", "messages": ask("tokens=3")})
        assert response.status == 200 and body["choices"][0]["message"]["content"] == "w0 w1 w2 "
        assert response.getheader("Connection") == "close"
        assert gateway.process.wait(60) == 0
