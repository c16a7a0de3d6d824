"""Ranking models over HTTP and gRPC: what clients of Jina, Cohere, vLLM and llama-server send, and scores that are computed
again from the same models' hidden states."""
import json
import math
import os
import pathlib
import subprocess

import gguf
import grpc
import numpy as np
import pytest
from daemon import BIN, Daemon

ARCHS = pathlib.Path(os.environ.get("INFERD_TEST_ARCHS", os.path.expanduser("~/.cache/inferd/archs")))
pytestmark = pytest.mark.skipif(not (ARCHS / "bert.gguf").exists(), reason="the oracles' small models are not on this machine")
CLS, LAST, RANK = 2, 3, 4
TEMPLATE = "<q>{query}</q> <d>{document}</d>"
DOCUMENTS = ["The sea is wide.", "Bread needs flour, water and salt.", "How to bake bread", "A ship", "bread"]


def rewrite(source, path, changes, tensors=None):
    """A model file with other metadata, and other or more tensors ([rows][columns] f32)."""
    tensors = tensors or {}
    reader = gguf.GGUFReader(source)
    fields = {name: field for name, field in reader.fields.items() if not name.startswith("GGUF.") and name not in changes}
    writer = gguf.GGUFWriter(path, fields.pop("general.architecture").contents())
    for name, field in fields.items():
        writer.add_key_value(name, field.contents(), field.types[0], field.types[1] if len(field.types) > 1 else None)
    for name, value in changes.items():
        kind = {bool: "BOOL", int: "UINT32", str: "STRING", list: "ARRAY"}[type(value)]
        element = (gguf.GGUFValueType.STRING if isinstance(value[0], str) else gguf.GGUFValueType.INT32) if kind == "ARRAY" else None
        writer.add_key_value(name, value, gguf.GGUFValueType[kind], element)
    for tensor in (tensor for tensor in reader.tensors if tensor.name not in tensors):
        writer.add_tensor(tensor.name, np.array(tensor.data), raw_dtype=tensor.tensor_type)
    for name, values in tensors.items():
        writer.add_tensor(name, values.astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return {"name": path.stem, "path": str(path), "context": 128, "kv_cache": {"bytes": "16MiB"}}


def random(seed, *shape):
    return np.random.default_rng(seed).uniform(-1, 1, shape) / math.sqrt(shape[-1])


@pytest.fixture(scope="module")
def heads():
    """Of an encoder whose first token is judged, and of a decoder whose last token says yes or no."""
    width = 256
    return {"encoder": {"cls.weight": random(1, width, width), "cls.bias": random(2, width),
                        "cls.output.weight": random(3, 1, width), "cls.output.bias": random(4, 1)},
            "decoder": {"cls.output.weight": random(5, 2, width)}}


def second_text_in_positions(source, begin):
    """The encoder's position embeddings with what tells a second text at `begin` from a first one: its type, which is row 1."""
    tensors = {tensor.name: np.array(tensor.data) for tensor in gguf.GGUFReader(source).tensors}
    positions, types = tensors["position_embd.weight"], tensors["token_types.weight"]
    positions[begin:] += types[1] - types[0]
    return {"position_embd.weight": positions}


def token_count(source, text):
    shown = subprocess.run([BIN / "inferd-model", "tokenize", source, "--text", text, "--json", "--no-special"], check=True,
                           capture_output=True, text=True).stdout
    return len(json.loads(shown)["tokens"])


@pytest.fixture(scope="module")
def daemon(tmp_path_factory, heads):
    folder = tmp_path_factory.mktemp("rank")
    ends = {"tokenizer.ggml.add_bos_token": True, "tokenizer.ggml.add_eos_token": True}
    models = [rewrite(ARCHS / "bert.gguf", folder / "encoder.gguf", {"bert.pooling_type": RANK, **ends}, heads["encoder"]),
              rewrite(ARCHS / "bert.gguf", folder / "encoder-states.gguf", {"bert.pooling_type": CLS, **ends},
                      second_text_in_positions(ARCHS / "bert.gguf", token_count(ARCHS / "bert.gguf", "bake bread") + 2)),
              rewrite(ARCHS / "qwen3.gguf", folder / "decoder.gguf",
                      {"qwen3.pooling_type": RANK, "qwen3.classifier.output_labels": ["yes", "no"],
                       "tokenizer.chat_template.rerank": TEMPLATE}, heads["decoder"]),
              rewrite(ARCHS / "qwen3.gguf", folder / "decoder-states.gguf", {"qwen3.pooling_type": LAST})]
    with Daemon(folder, models) as running:
        yield running


def rerank(daemon, path="/v1/rerank", **fields):
    return daemon.post(path, {"model": "encoder", "query": "bake bread", "documents": DOCUMENTS, **fields})


def scores_of(answer):
    return {entry["index"]: entry["relevance_score"] for entry in answer["results"]}


def states(daemon, model, ids):
    return np.array(daemon.post("/v1/embeddings", {"model": model, "input": [ids], "normalize": False})[1]["data"][0]["embedding"])


def tokens(daemon, model, text):
    return daemon.post("/tokenize", {"model": model, "content": text, "text": text})[1]["tokens"]


def test_an_encoders_scores_are_those_of_its_head(daemon, heads):
    status, answer = rerank(daemon)
    assert status == 200
    raw = scores_of(rerank(daemon, normalize=False)[1])
    head = heads["encoder"]
    query = tokens(daemon, "encoder", "bake bread")
    for index, score in scores_of(answer).items():
        hidden = states(daemon, "encoder-states", [1, *query, 2, *tokens(daemon, "encoder", DOCUMENTS[index]), 2])
        logit = (head["cls.output.weight"] @ np.tanh(head["cls.weight"] @ hidden + head["cls.bias"]) + head["cls.output.bias"])[0]
        assert raw[index] == pytest.approx(logit, rel=1e-4)
        assert score == pytest.approx(1 / (1 + math.exp(-logit)), rel=1e-4)


def test_a_decoders_score_is_its_share_of_yes(daemon, heads):
    scores = scores_of(rerank(daemon, model="decoder")[1])
    assert scores == scores_of(rerank(daemon, model="decoder", normalize=False)[1])  # a share is in 0..1 already
    for index, score in scores.items():
        ids = tokens(daemon, "decoder", TEMPLATE.format(query="bake bread", document=DOCUMENTS[index]))
        yes, no = heads["decoder"]["cls.output.weight"] @ states(daemon, "decoder-states", ids)
        assert score == pytest.approx(1 / (1 + math.exp(no - yes)), rel=1e-3)


def test_the_answer_has_the_form_that_clients_know(daemon):
    status, answer = rerank(daemon)
    assert status == 200 and answer["object"] == "list" and answer["model"] == "encoder" and answer["id"].startswith("rerank-")
    assert sorted(scores_of(answer)) == list(range(len(DOCUMENTS)))
    scores = [entry["relevance_score"] for entry in answer["results"]]
    assert scores == sorted(scores, reverse=True) and all(0 < score < 1 for score in scores)
    assert answer["usage"]["prompt_tokens"] == answer["usage"]["total_tokens"] > sum(map(len, DOCUMENTS))
    assert all(set(entry) == {"index", "relevance_score"} for entry in answer["results"])
    for path in ("/rerank", "/v2/rerank"):
        assert rerank(daemon, path)[1]["results"] == answer["results"]


def test_top_n_and_documents(daemon):
    every = rerank(daemon)[1]["results"]
    best = rerank(daemon, top_n=2, return_documents=True)[1]["results"]
    assert [(entry["index"], entry["relevance_score"]) for entry in best] == [(entry["index"], entry["relevance_score"]) for entry in every[:2]]
    assert all(entry["document"] == {"text": DOCUMENTS[entry["index"]]} for entry in best)
    assert len(rerank(daemon, top_n=100)[1]["results"]) == len(DOCUMENTS)
    objects = [{"text": text} for text in DOCUMENTS]
    assert rerank(daemon, documents=objects, return_documents=True)[1]["results"][0]["document"] == {"text": DOCUMENTS[every[0]["index"]]}
    assert rerank(daemon, max_chunks_per_doc=3)[1]["warnings"] == ["unknown field 'max_chunks_per_doc' was ignored"]


def test_equal_documents_keep_their_order_and_many_do_not_disturb_each_other(daemon):
    many = [f"Document {i % 40} " + "of some words " * (i % 5) for i in range(200)]
    together = rerank(daemon, documents=many)[1]
    scores = scores_of(together)
    assert [entry["index"] for entry in together["results"]] == sorted(scores, key=lambda index: (-scores[index], index))
    for index in (0, 7, 199):
        assert scores_of(rerank(daemon, documents=[many[index]])[1]) == {0: scores[index]}


@pytest.mark.parametrize("fields,status,param,text", [
    ({"query": None}, 400, "query", "is missing"),
    ({"query": 3}, 400, "query", "string"),
    ({"documents": None}, 400, "documents", "is missing"),
    ({"documents": []}, 400, "documents", "is empty"),
    ({"documents": "one"}, 400, "documents", "not an array"),
    ({"documents": ["a", 7]}, 400, "documents[1]", "not a string"),
    ({"documents": ["a", {"title": "b"}]}, 400, "documents[1]", "not a string"),
    ({"documents": ["a"] * 1025}, 400, "documents", "1025 entries"),
    ({"top_n": 0}, 400, "top_n", "0"),
    ({"top_n": "two"}, 400, "top_n", "not an integer"),
    ({"return_documents": "yes"}, 400, "return_documents", "boolean"),
    ({"documents": ["a", "long " * 60]}, 400, "documents[1]", "maximum context length is 128 tokens"),
    ({"query": "long " * 4000, "documents": ["a"] * 1000}, 400, "query", "too many"),
    ({"query": "long " * 60, "truncate": True}, 400, "query", "maximum context length is 128 tokens"),
    ({"model": "nobody"}, 404, "model", "nobody"),
    ({"model": "encoder-states"}, 400, "query", "no head that ranks"),
])
def test_a_wrong_request_is_named(daemon, fields, status, param, text):
    got, answer = rerank(daemon, **fields)
    assert got == status and answer["error"]["param"] == param and text in answer["error"]["message"], answer
    if "maximum context" in text:
        assert answer["error"]["code"] == "context_length_exceeded"


@pytest.mark.parametrize("model", ["encoder", "decoder"])
def test_a_document_that_is_too_long_is_cut_only_when_asked(daemon, model):
    long = "Words about bread. " * 40
    assert rerank(daemon, model=model, documents=[long])[0] == 400
    status, cut = rerank(daemon, model=model, documents=[long, "bread"], truncate=True)
    assert status == 200
    rest = scores_of(rerank(daemon, model=model, documents=["bread"])[1])
    assert scores_of(cut)[1] == rest[0]
    fits = next(n for n in range(len(long)) if rerank(daemon, model=model, documents=[long[:n + 1]])[0] == 400)
    assert scores_of(rerank(daemon, model=model, documents=[long[:fits]])[1])[0] == scores_of(cut)[0]


def test_embeddings_of_a_ranking_model_are_its_scores(daemon):
    ids = [1, 5, 6, 2]
    [raw] = states(daemon, "encoder", ids)
    [share] = daemon.post("/v1/embeddings", {"model": "encoder", "input": [ids]})[1]["data"][0]["embedding"]
    assert share == pytest.approx(1 / (1 + math.exp(-raw)), rel=1e-5)


def test_the_same_over_grpc(daemon, protos):
    pb = protos.inference
    with grpc.insecure_channel(daemon.grpc) as channel:
        stub = protos.inference_grpc.InferenceStub(channel)
        inputs = [pb.EmbedInput(text=text) for text in DOCUMENTS]
        answer = stub.Embed(pb.EmbedRequest(model="encoder", query="bake bread", inputs=inputs))
        assert {i: entry.values[0] for i, entry in enumerate(answer.embeddings)} == pytest.approx(scores_of(rerank(daemon)[1]), rel=1e-6)
        infos = {info.name: info for info in stub.ListModels(pb.ListModelsRequest()).models}
        assert infos["encoder"].can_rank and infos["decoder"].can_rank and not infos["encoder-states"].can_rank
        cases = [(pb.EmbedRequest(model="encoder-states", query="q", inputs=inputs), grpc.StatusCode.FAILED_PRECONDITION, "query:"),
                 (pb.EmbedRequest(model="encoder", query="q", inputs=[pb.EmbedInput(tokens=pb.TokenIds(ids=[5]))]),
                  grpc.StatusCode.INVALID_ARGUMENT, "inputs[0]: is not a text"),
                 (pb.EmbedRequest(model="encoder", query="q", inputs=inputs * 300), grpc.StatusCode.INVALID_ARGUMENT, "expected 1 to 1024"),
                 (pb.EmbedRequest(model="encoder", query="q", inputs=[pb.EmbedInput(text="long " * 60)]), grpc.StatusCode.OUT_OF_RANGE,
                  "maximum context length is 128 tokens")]
        for wire, code, text in cases:
            with pytest.raises(grpc.RpcError) as error:
                stub.Embed(wire)
            assert error.value.code() == code and text in error.value.details()
