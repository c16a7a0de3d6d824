"""Errors that no time mends are not answered as if a repetition could help."""
import grpc
import pytest
from conftest import smollm2
from daemon import Daemon, wait_for
from test_process_faults import quick, worker_of
from test_rerank import ARCHS, rewrite

# A message's text says what goes wrong.
TEMPLATE = """{%- macro again(x) %}{{ again(x) }}{% endmacro -%}
{%- for message in messages %}{{ message.content }}
{%- if message.content == 'recurse' %}{{ again(1) }}{% endif -%}
{%- if message.content == 'repeat' %}{% for i in range(9000) %}{% for j in range(9000) %}{{ j }}{% endfor %}{% endfor %}{% endif -%}
{%- if message.content == 'grow' %}{{ range(90000000) | list | length }}{% endif -%}
{%- if message.content == 'string' %}{{ 'x' * 900000000 }}{% endif -%}
{%- endfor -%}"""


@pytest.fixture(scope="module")
def templates(tmp_path_factory):
    if not (ARCHS / "llama.gguf").exists():
        pytest.skip("the oracles' small models are not on this machine")
    folder = tmp_path_factory.mktemp("templates")
    bytes_alone = {"tokenizer.ggml.tokens": [f"<0x{byte:02X}>" for byte in range(256)], "tokenizer.ggml.token_type": [6] * 256}
    with Daemon(folder, [rewrite(ARCHS / "llama.gguf", folder / "generator.gguf", {"tokenizer.chat_template": TEMPLATE, **bytes_alone})]) as daemon:
        yield daemon


@pytest.mark.parametrize("fault,words", [("recurse", "nested"), ("repeat", "steps"), ("grow", "the sandbox allows"), ("string", "limit")])
def test_a_template_that_passes_a_limit_is_the_requests_fault(templates, protos, fault, words):
    messages = [{"role": "user", "content": fault}]
    for path in ("/v1/chat/completions", "/apply-template"):
        status, answer = templates.post(path, {"model": "generator", "messages": messages})
        assert status == 400 and words in answer["error"]["message"], (status, answer)
    pb = protos.inference
    with grpc.insecure_channel(templates.grpc) as channel, pytest.raises(grpc.RpcError) as error:
        chat = pb.ChatPrompt(messages=[pb.Message(role="user", content=fault)])
        list(protos.inference_grpc.InferenceStub(channel).Generate(pb.GenerateRequest(model="generator", chat=chat)))
    assert error.value.code() == grpc.StatusCode.INVALID_ARGUMENT, error.value
    assert "grpc-retry-pushback-ms" not in dict(error.value.trailing_metadata())


def test_a_model_whose_template_always_passes_a_limit_is_refused_once(templates, tmp_path):
    bytes_alone = {"tokenizer.ggml.tokens": [f"<0x{byte:02X}>" for byte in range(256)], "tokenizer.ggml.token_type": [6] * 256}
    endless = "{% macro again(x) %}{{ again(x) }}{% endmacro %}{{ again(1) }}"
    model = rewrite(ARCHS / "llama.gguf", tmp_path / "endless.gguf", {"tokenizer.chat_template": endless, **bytes_alone})
    with Daemon(tmp_path, [model], quick(), start=False) as daemon:
        daemon.start(ready=False)
        failed = wait_for(lambda: daemon.get("/health")[0] == 200 and (w := worker_of(daemon, model["name"]))["state"] == "FAILED" and w, 60, "FAILED")
        assert failed["exits"] == {"refused": 1} and failed["restarts"] == 0, failed
        assert "nested" in failed["last_error"]


def test_an_ambiguous_grammar_is_a_400(tmp_path, model_path):
    grammar = 'root ::= ((("a"{1,9999}){1,9999}){1,9999}){900,9999} "b"'
    with Daemon(tmp_path, [smollm2(model_path)]) as daemon:
        status, answer = daemon.post("/v1/completions", {"model": "smollm2", "prompt": "a", "grammar": grammar, "max_tokens": 500, "temperature": 0})
        assert status == 400 and "too ambiguous" in answer["error"]["message"], (status, answer)
        assert answer["error"]["code"] != "queue_full"
