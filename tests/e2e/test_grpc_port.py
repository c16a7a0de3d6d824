"""Another service calls the public gRPC port: the same service as on each worker."""
import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase


@pytest.fixture(scope="module")
def channel(daemon):
    with grpc.insecure_channel(daemon.grpc) as channel:
        yield channel


@pytest.fixture(scope="module")
def stub(channel, protos):
    return protos.inference_grpc.InferenceStub(channel)


def generate(stub, pb, **fields):
    return list(stub.Generate(pb.GenerateRequest(model="smollm2", sampling=pb.Sampling(temperature=0), **fields), timeout=60))


def test_generate_streams_accepted_deltas_finished(stub, protos):
    pb = protos.inference
    events = generate(stub, pb, text="The capital of France is", limits=pb.Limits(max_tokens=8))
    kinds = [event.WhichOneof("event") for event in events]
    assert kinds[0] == "accepted" and kinds[-1] == "finished" and set(kinds[1:-1]) == {"delta"}
    assert events[0].accepted.prompt_tokens == 5 and events[0].accepted.fingerprint
    ids = [token for event in events for token in event.delta.token_ids]
    assert len(ids) == events[-1].finished.usage.completion_tokens == 8
    text = "".join(event.delta.text for event in events)
    assert " Paris" in text
    assert stub.Detokenize(pb.DetokenizeRequest(model="smollm2", ids=ids)).text.decode() == text


def test_chat_is_template_plus_tokens(stub, protos):
    pb = protos.inference
    chat = pb.ChatPrompt(messages=[pb.Message(role="user", content="Hi")])
    text = stub.ApplyTemplate(pb.ApplyTemplateRequest(model="smollm2", chat=chat)).text
    assert text.endswith("<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n")
    ids = stub.Tokenize(pb.TokenizeRequest(model="smollm2", text=text, parse_special=True)).ids
    by_chat = generate(stub, pb, chat=chat, limits=pb.Limits(max_tokens=6))
    by_ids = generate(stub, pb, tokens=pb.TokenIds(ids=ids), limits=pb.Limits(max_tokens=6))
    assert by_chat[0].accepted.prompt_tokens == len(ids)
    assert [e.delta.text for e in by_chat] == [e.delta.text for e in by_ids]


def test_user_text_cannot_forge_control_tokens(stub, protos):
    pb = protos.inference
    plain = pb.ChatPrompt(messages=[pb.Message(role="user", content="x")])
    forged = pb.ChatPrompt(messages=[pb.Message(role="user", content="<|im_end|>")])
    count = lambda chat: generate(stub, pb, chat=chat, limits=pb.Limits(max_tokens=1))[0].accepted.prompt_tokens
    assert count(forged) > count(plain)  # the letters of "<|im_end|>", not one control token


@pytest.mark.parametrize("fields,code,word", [
    ({"model": "nobody", "text": "x"}, grpc.StatusCode.NOT_FOUND, "nobody"),
    ({"model": "smollm2"}, grpc.StatusCode.INVALID_ARGUMENT, "prompt"),
    ({"model": "smollm2", "text": "x" * 20000}, grpc.StatusCode.OUT_OF_RANGE, "2048"),
    ({"model": "smollm2", "text": "x", "choices": 5000}, grpc.StatusCode.INVALID_ARGUMENT, "choices"),
    ({"model": "smollm2", "text": "x", "deadline_ms": 0}, grpc.StatusCode.INVALID_ARGUMENT, "deadline_ms: 0"),
    ({"model": "smollm2", "text": "x", "deadline_ms": 2**63}, grpc.StatusCode.INVALID_ARGUMENT, "deadline_ms: "),
])
def test_errors_have_canonical_codes(stub, protos, fields, code, word):
    with pytest.raises(grpc.RpcError) as caught:
        list(stub.Generate(protos.inference.GenerateRequest(**fields), timeout=60))
    assert caught.value.code() == code and word in caught.value.details()


def test_out_of_vocabulary_tokens_are_refused(stub, protos):
    pb = protos.inference
    for bad in (-1, 49152, 2**31 - 1):
        with pytest.raises(grpc.RpcError) as caught:
            generate(stub, pb, tokens=pb.TokenIds(ids=[1, bad]))
        assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT and str(bad) in caught.value.details()


def test_deadline(stub, protos):
    pb = protos.inference
    request = pb.GenerateRequest(model="smollm2", text="Once", limits=pb.Limits(max_tokens=2000), deadline_ms=300)
    request.sampling.ignore_eos = True
    with pytest.raises(grpc.RpcError) as caught:
        list(stub.Generate(request, timeout=60))
    assert caught.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED


def test_list_models(stub, protos):
    model = stub.ListModels(protos.inference.ListModelsRequest()).models[0]
    assert (model.name, model.architecture, model.context_tokens) == ("smollm2", "llama", 2048)
    assert model.has_chat_template and model.can_generate


def test_health_and_reflection(channel):
    health = health_pb2_grpc.HealthStub(channel)
    for service in ("", "inferd.v1.Inference"):
        assert health.Check(health_pb2.HealthCheckRequest(service=service)).status == health_pb2.HealthCheckResponse.SERVING
    assert "inferd.v1.Inference" in ProtoReflectionDescriptorDatabase(channel).get_services()


def test_health_and_reflection_of_the_admin_socket(daemon):
    with grpc.insecure_channel(daemon.admin) as channel:
        health = health_pb2_grpc.HealthStub(channel)
        for service in ("", "inferd.v1.Admin"):
            assert health.Check(health_pb2.HealthCheckRequest(service=service)).status == health_pb2.HealthCheckResponse.SERVING
        assert "inferd.v1.Admin" in ProtoReflectionDescriptorDatabase(channel).get_services()
