"""Text that a model's vocabulary has no tokens for is refused with the name that the request itself has for it."""
import grpc
import pytest
from daemon import Daemon
from test_rerank import ARCHS, RANK, heads, rewrite  # noqa: F401

pytestmark = pytest.mark.skipif(not (ARCHS / "bert.gguf").exists(), reason="the oracles' small models are not on this machine")
BAD = "\u65e5"  # begins with byte 0xE6
LACKS = "the vocabulary has neither a token for byte <0xE6> nor an unknown token"


@pytest.fixture(scope="module")
def daemon(tmp_path_factory, heads):  # noqa: F811
    """A generating and a ranking model whose vocabulary is all bytes but 0xE6."""
    folder = tmp_path_factory.mktemp("lacking")
    lacking = {"tokenizer.ggml.tokens": [f"<0x{byte:02X}>" if byte != 0xE6 else "another" for byte in range(256)],
               "tokenizer.ggml.token_type": [6 if byte != 0xE6 else 1 for byte in range(256)]}
    models = [{**rewrite(ARCHS / "llama.gguf", folder / "generator.gguf", lacking), "chat_template": "chatml"},
              rewrite(ARCHS / "bert.gguf", folder / "ranker.gguf", {"bert.pooling_type": RANK, **lacking}, heads["encoder"])]
    with Daemon(folder, models) as running:
        yield running


@pytest.mark.parametrize("path,body,param", [
    ("/v1/completions", {"prompt": BAD}, "prompt"),
    ("/v1/completions", {"prompt": ["a", BAD]}, "prompt[1]"),
    ("/v1/chat/completions", {"messages": [{"role": "user", "content": BAD}]}, "messages"),
    ("/v1/chat/completions", {"messages": [{"role": "user", "content": BAD}], "stream": True}, "messages"),
    ("/v1/embeddings", {"input": BAD}, "input[0]"),
    ("/v1/embeddings", {"input": ["a", BAD]}, "input[1]"),
    ("/tokenize", {"content": BAD}, "content"),
    ("/tokenize", {"prompt": BAD}, "prompt"),
    ("/v1/rerank", {"model": "ranker", "query": BAD, "documents": ["a"]}, "query"),
    ("/v1/rerank", {"model": "ranker", "query": "a", "documents": ["a", BAD]}, "documents[1]"),
    ("/v1/rerank", {"model": "ranker", "query": "a", "documents": ["a", BAD], "truncate": True}, "documents[1]"),
])
def test_http_names_its_own_field(daemon, path, body, param):
    status, answer = daemon.post(path, {"model": "generator", **body})
    assert (status, answer["error"]["param"], answer["error"]["message"]) == (400, param, f"{param}: {LACKS}")


def test_grpc_names_its_own_field(daemon, protos):
    pb = protos.inference
    chat = pb.ChatPrompt(messages=[pb.Message(role="user", content=BAD)])
    with grpc.insecure_channel(daemon.grpc) as channel:
        stub = protos.inference_grpc.InferenceStub(channel)
        for call, field in [(lambda: list(stub.Generate(pb.GenerateRequest(model="generator", text=BAD))), "text"),
                            (lambda: list(stub.Generate(pb.GenerateRequest(model="generator", chat=chat))), "chat.messages"),
                            (lambda: stub.Validate(pb.GenerateRequest(model="generator", text=BAD)), "text"),
                            (lambda: stub.Tokenize(pb.TokenizeRequest(model="generator", text=BAD)), "text"),
                            (lambda: stub.Embed(pb.EmbedRequest(model="generator", inputs=[pb.EmbedInput(text=BAD)])), "inputs[0]")]:
            with pytest.raises(grpc.RpcError) as error:
                call()
            assert error.value.code() == grpc.StatusCode.INVALID_ARGUMENT and error.value.details() == f"{field}: {LACKS}"
            assert dict(error.value.trailing_metadata())["inferd-error-field-bin"] == field.encode()
