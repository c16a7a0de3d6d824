"""What a stranger's bytes over gRPC may cost: nothing is parsed before the key, and little more than it was sent after it."""
import concurrent.futures
import hashlib
import json
import re

import grpc
import pytest
from conftest import smollm2
from daemon import Daemon

MIB = 1 << 20


def peak_bytes(pid):
    with open(f"/proc/{pid}/status") as status:
        return int(re.search(r"VmHWM:\s+(\d+) kB", status.read()).group(1)) * 1024


@pytest.fixture(scope="module")
def guarded(tmp_path_factory, model_path):
    folder = tmp_path_factory.mktemp("guarded")
    keys = folder / "keys.yaml"
    keys.write_text(json.dumps({"keys": [{"name": "team", "sha256": hashlib.sha256(b"secret").hexdigest()}]}))
    with Daemon(folder, [smollm2(model_path)], extra={"auth": {"keys_file": str(keys)}}, start=False) as daemon:
        daemon.start(ready=True)
        yield daemon


def call(daemon, method, message, key=None, **options):
    """The status of a unary call whose message is these bytes: (code, details)."""
    with grpc.insecure_channel(daemon.grpc, options=[("grpc.max_send_message_length", -1)]) as channel:
        raw = channel.unary_unary(f"/inferd.v1.Inference/{method}")
        try:
            raw(message, timeout=120, metadata=[("authorization", f"Bearer {key}")] if key else [], **options)
            return grpc.StatusCode.OK, ""
        except grpc.RpcError as error:
            return error.code(), error.details()


def length_delimited(field, payload):
    size, head = len(payload), bytearray([field << 3 | 2])
    while size >= 128:
        head.append(size & 127 | 128)
        size >>= 7
    return bytes(head) + bytes([size]) + payload


def chat_of_empty_messages(protos, count):
    chat = protos.inference.GenerateRequest.DESCRIPTOR.fields_by_name["chat"]
    messages = chat.message_type.fields_by_name["messages"]
    return length_delimited(chat.number, length_delimited(messages.number, b"") * count)


def test_small_elements_cost_nothing_without_the_key(guarded, protos):
    bomb = chat_of_empty_messages(protos, 5_000_000)
    [gateway] = guarded.children()["inferd-gateway"]
    before = peak_bytes(gateway)
    with concurrent.futures.ThreadPoolExecutor(5) as pool:
        answers = list(pool.map(lambda _: call(guarded, "Validate", bomb, key="wrong"), range(5)))
    assert {code for code, _ in answers} == {grpc.StatusCode.UNAUTHENTICATED}
    assert peak_bytes(gateway) - before < 5 * 4 * len(bomb)


def test_small_elements_are_refused_by_name_before_they_are_built(guarded, protos):
    bomb = chat_of_empty_messages(protos, 5_000_000)
    pids = guarded.children()
    processes = pids["inferd-gateway"] + pids["inferd-worker"]
    before = [peak_bytes(pid) for pid in processes]
    code, details = call(guarded, "Validate", bomb, key="secret")
    assert code == grpc.StatusCode.INVALID_ARGUMENT and details.startswith("chat.messages: "), details
    for pid, peak in zip(processes, before):
        assert peak_bytes(pid) - peak < 8 * len(bomb)


@pytest.mark.parametrize("compression", [grpc.Compression.Gzip, grpc.Compression.Deflate])
def test_compressed_messages_are_refused_uninflated(guarded, protos, compression):
    request = protos.inference.TokenizeRequest(model="smollm2", text="x" * (300 * MIB)).SerializeToString()
    [gateway] = guarded.children()["inferd-gateway"]
    before = peak_bytes(gateway)
    code, details = call(guarded, "Tokenize", request, key="secret", compression=compression)
    assert code == grpc.StatusCode.UNIMPLEMENTED and "ompression" in details
    assert peak_bytes(gateway) - before < 32 * MIB


@pytest.mark.parametrize("method,message,says", [
    ("Tokenize", b"\x0a\xff\xff\xff\xff\x07", "the message is not a valid inferd.v1.TokenizeRequest"),
    ("Tokenize", length_delimited(2, b"caf\xe9"), "text: is not valid UTF-8"),
    ("Embed", length_delimited(2, length_delimited(1, b"\xff")), "inputs.text: is not valid UTF-8"),
    ("Validate", length_delimited(1, b"\xc0\x80"), "model: is not valid UTF-8"),
])
def test_malformed_messages_say_what_is_wrong(guarded, method, message, says):
    code, details = call(guarded, method, message, key="secret")
    assert code == grpc.StatusCode.INVALID_ARGUMENT and details == says


def test_the_log_stays_json_whatever_came(guarded):
    call(guarded, "Tokenize", length_delimited(2, b"caf\xe9"), key="secret")
    for line in guarded.log_path.read_text().splitlines():
        json.loads(line)
