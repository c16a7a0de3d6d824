"""Attacks by what is sent: each is a function of the daemon and returns what went wrong."""
import concurrent.futures
import http.client
import json

import grpc

KEY = "secret"
MIB = 1 << 20


def post(daemon, path, body, key=KEY):
    """Status and text of the answer."""
    connection = http.client.HTTPConnection("127.0.0.1", daemon.http_port, timeout=240)
    try:
        connection.request("POST", path, body if isinstance(body, (bytes, str)) else json.dumps(body),
                           {"Content-Type": "application/json", "Authorization": f"Bearer {key}"})
        answer = connection.getresponse()
        return answer.status, answer.read().decode(errors="replace")
    except ConnectionError as error:
        return 0, repr(error)
    finally:
        connection.close()


def call(daemon, method, message, key=KEY, **options):
    with grpc.insecure_channel(daemon.grpc, options=[("grpc.max_send_message_length", -1)]) as channel:
        try:
            channel.unary_unary(f"/inferd.v1.Inference/{method}")(message, timeout=240, metadata=[("authorization", f"Bearer {key}")], **options)
            return grpc.StatusCode.OK
        except grpc.RpcError as error:
            return error.code()


def delimited(field, payload):
    size, head = len(payload), bytearray([field << 3 | 2])
    while size >= 128:
        head.append(size & 127 | 128)
        size >>= 7
    return bytes(head) + bytes([size]) + payload


# GenerateRequest.chat is field 2 and Chat.messages field 1: 5 million messages of two bytes each.
ELEMENTS = delimited(2, delimited(1, b"") * 5_000_000)


def _all(results, allowed, what):
    return [f"{what}: {each}" for each in results if each not in allowed][:3]


def elements_without_key(daemon):
    with concurrent.futures.ThreadPoolExecutor(5) as pool:
        codes = list(pool.map(lambda _: call(daemon, "Validate", ELEMENTS, key="wrong"), range(5)))
    return _all(codes, {grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.RESOURCE_EXHAUSTED}, "with a wrong key")


def elements_with_key(daemon):
    return _all([call(daemon, method, ELEMENTS) for method in ("Validate", "Validate", "Generate")],
                {grpc.StatusCode.INVALID_ARGUMENT}, "5 million messages")


def compressed(daemon):
    """300 MB that are 300 KB on the wire."""
    text = delimited(2, b"x" * (300 * MIB))
    return _all([call(daemon, "Tokenize", text, compression=grpc.Compression.Gzip)], {grpc.StatusCode.UNIMPLEMENTED}, "gzip")


def wrong_keys(daemon):
    statuses = [post(daemon, "/v1/completions", {"model": "smollm2", "prompt": "x"}, key=f"guess-{i}")[0] for i in range(300)]
    slowed = statuses.count(429)
    return _all(statuses, {401, 429}, "a wrong key") or ([] if slowed else ["300 guesses were not slowed down"])


def bodies():
    """Name, JSON text of about ten megabytes, and what may be answered."""
    size = 10 * MIB - 1000
    yield "spaces", "{" + " " * size + "}", {400}
    yield "numbers", '{"model": "smollm2", "prompt": [' + "1," * (size // 2 - 30) + "1]}", {400}
    yield "objects", '{"model": "smollm2", "messages": [' + "{}," * (size // 3 - 30) + "{}]}", {400}
    yield "names", "{" + ",".join(f'"k{i}":1' for i in range(size // 12)) + "}", {400}
    yield "depth", "[" * size, {400}
    yield "one text", json.dumps({"model": "smollm2", "prompt": "7" * (size - 60)}), {400}


def large_bodies(daemon):
    faults = []
    for name, body, allowed in bodies():
        # "objects" goes to the endpoint that has messages.
        status, text = post(daemon, "/v1/chat/completions" if name == "objects" else "/v1/completions", body)
        if status not in allowed: faults.append(f"{name}: {status} {text[:80]}")
    return faults


def bodies_at_once(daemon):
    """Eight bodies of ten megabytes at a time, of shapes that take many bytes for each; others are answered meanwhile."""
    shapes = [(name, body) for name, body, _ in bodies() if name in ("numbers", "objects")] * 4
    faults = []

    def send(shape):
        status, text = post(daemon, "/v1/chat/completions" if shape[0] == "objects" else "/v1/completions", shape[1])
        if status not in (400, 503): faults.append(f"{shape[0]}: {status} {text[:80]}")
    with concurrent.futures.ThreadPoolExecutor(len(shapes)) as pool:
        list(pool.map(send, shapes))
    return faults


def large_texts(daemon):
    """For calls that read a text whole, of a worker that has a memory limit."""
    faults = []
    for path, field in (("/v1/completions", "prompt"), ("/v1/embeddings", "input"), ("/tokenize", "content")):
        status, text = post(daemon, path, {"model": "smollm2", field: "7" * 5_000_000})
        if status not in (200, 400): faults.append(f"{path}: {status} {text[:80]}")
    return faults


CHAT = {"model": "smollm2", "messages": [{"role": "user", "content": "x"}], "max_tokens": 1}


def schema(text):
    return {**CHAT, "response_format": {"type": "json_schema", "json_schema": {"name": "s", "schema": text}}}


def deep_schema(depth):
    inner = {"type": "string"}
    for _ in range(depth): inner = {"type": "object", "properties": {"a": inner, "b": inner}, "required": ["a", "b"]}
    return inner


def constraints():
    for grammar in ("root ::= " + "(" * 60000, 'root ::= ("a"?){0,99999}', 'root ::= root', 'root ::= root root | "a"',
                    "root ::= " + " | ".join(f'"{i}"' for i in range(100_000)), 'root ::= ("a" | "a")* ("a" | "a")* "b"',
                    "\n".join(f"r{i} ::= r{i + 1} r{i + 1}" for i in range(5000)) + '\nr5000 ::= "a"\nroot ::= r0'):
        yield {**CHAT, "grammar": grammar}
    for regex in ("(" * 60000, "(a*)*" * 200, "((a{0,200}){0,200}){0,200}", "[^" + "a-z" * 20000 + "]", "(a|a)*" * 300 + "b", "\\p{L}{9999}"):
        yield {**CHAT, "guided_regex": regex}
    yield schema({"$ref": "#"})
    yield schema({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"})
    yield schema({"type": "array", "items": {"type": "string"}, "minItems": 10**9})
    yield schema({"type": "string", "minLength": 10**9})
    yield schema({"enum": [f"value {i}" for i in range(200_000)]})
    yield schema({"allOf": [{"anyOf": [{"type": "string"}, {"type": "number"}]} for _ in range(2000)]})
    yield schema({"type": "string", "pattern": "^(a+)+$" + "(b*)*" * 500})
    yield schema({"type": "object", "properties": {f"p{i}": {"type": "string"} for i in range(50_000)}})


def constraint_bombs(daemon):
    faults = []
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for body, (status, text) in zip(constraints(), pool.map(lambda body: post(daemon, "/v1/chat/completions", body), constraints())):
            if status not in (200, 400): faults.append(f"{json.dumps(body)[:120]}: {status} {text[:120]}")
    return faults
