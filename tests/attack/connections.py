"""Attacks by how bytes are sent: each is a function of the daemon and returns what went wrong."""
import concurrent.futures
import json
import select
import socket
import struct

COMPLETION = json.dumps({"model": "smollm2", "prompt": "One, two,", "max_tokens": 64, "stream": True, "ignore_eos": True})
HEALTH = "GET /health HTTP/1.1\r\nHost: a\r\n\r\n"
POST = "POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nAuthorization: Bearer secret\r\n"
HIDDEN = "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n"  # what must never be taken for a request of its own


def connect(daemon):
    return socket.create_connection(("127.0.0.1", daemon.http_port), timeout=120)


def read_to_end(peer):
    out = b""
    try:
        while part := peer.recv(1 << 16):
            out += part
    except ConnectionResetError:
        pass
    return out


def heads_that_smuggle():
    """Heads whose length one reader would see otherwise than another, each before a hidden request."""
    for lengths in ("Content-Length: 5\r\nContent-Length: 6\r\n", "Content-Length: 5, 6\r\n", "Content-Length: +5\r\n",
                    "Content-Length: 0x5\r\n", "Content-Length: -1\r\n", "Content-Length: 99999999999999999999\r\n",
                    "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
                    "Transfer-Encoding: gzip\r\n", "Transfer-Encoding: chunked, chunked\r\n", "Transfer-Encoding: xchunked\r\n",
                    "Transfer-Encoding: \x0bchunked\r\n", "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
                    "Transfer-Encoding : chunked\r\n", "Content-Length : 5\r\n", " Content-Length: 5\r\n"):
        yield POST + lengths + "\r\n" + "0\r\n\r\n" + HIDDEN
    yield "POST /v1/completions HTTP/1.1\nHost: a\nContent-Length: 0\n\n" + HIDDEN
    yield "GET /health HTTP/1.1\r\nHost: a\r\nX: y\r\n folded\r\n\r\n" + HIDDEN
    yield "GET /health HTTP/1.1\r\nHost: a\r\nX: y\0z\r\n\r\n" + HIDDEN
    yield POST + "Transfer-Encoding: chunked\r\n\r\n5;\r\nhello\r\n0\n\n" + HIDDEN
    yield POST + "Transfer-Encoding: chunked\r\n\r\n-1\r\nx\r\n0\r\n\r\n" + HIDDEN
    yield POST + "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nx\r\n0\r\n\r\n" + HIDDEN


def smuggling(daemon):
    faults = []
    for request in heads_that_smuggle():
        with connect(daemon) as peer:
            peer.sendall(request.encode("latin1"))
            peer.shutdown(socket.SHUT_WR)
            answer = read_to_end(peer)
        if answer.count(b"HTTP/1.1 ") > 1 or b"inferd_" in answer or b" 200 " in answer.split(b"\r\n", 1)[0]:
            faults.append(f"{request!r} was answered with {answer[:80]!r}")
    return faults


def _slow(daemon, count, begin):
    """Clients that send `begin` and then a byte now and then; all must be hung up on."""
    peers = []
    for _ in range(count):
        peers.append(connect(daemon))
        peers[-1].sendall(begin.encode())
    try:
        while open_peers := [peer for peer in peers if peer.fileno() >= 0]:
            ended, _, _ = select.select(open_peers[:500], [], [], 0.3)
            for peer in ended:
                try:
                    if not peer.recv(1 << 16): peer.close()
                except ConnectionError:
                    peer.close()
            for peer in open_peers:
                try:
                    if peer.fileno() >= 0: peer.send(b"x")
                except OSError:
                    peer.close()
    finally:
        for peer in peers: peer.close()
    return []


def slow_heads(daemon):
    return _slow(daemon, 300, "GET /health HTTP/1.1\r\nHost: a\r\nX-Slow: ")


def slow_bodies(daemon):
    return _slow(daemon, 300, POST + "Content-Length: 1000000\r\n\r\n")


def _abort(peer):
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    peer.close()


def resets(daemon):
    """In the middle of heads, of bodies, and of answers."""
    for text in ("GET /he", POST + "Content-Length: 100000\r\n\r\n{", POST + f"Content-Length: {len(COMPLETION)}\r\n\r\n{COMPLETION}"):
        for _ in range(300):
            peer = connect(daemon)
            peer.sendall(text.encode())
            _abort(peer)
    for _ in range(50):
        with connect(daemon) as peer:
            peer.sendall((POST + f"Content-Length: {len(COMPLETION)}\r\n\r\n{COMPLETION}").encode())
            if not peer.recv(1): return ["a stream ended before it began"]
            _abort(peer)
    return []


def pipeline(daemon, count=1000):
    with connect(daemon) as peer, concurrent.futures.ThreadPoolExecutor(1) as sender:
        requests = (HEALTH * (count - 1) + HEALTH.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n")).encode()
        sending = sender.submit(peer.sendall, requests)
        answers = read_to_end(peer)
        sending.result()
    found = answers.count(b"HTTP/1.1 200 ")
    return [] if found == count else [f"{found} of {count} requests were answered"]


def pipeline_unread(daemon):
    """Nobody reads the answers: the server stops to read."""
    peer = connect(daemon)
    peer.settimeout(3)
    sent = 0
    try:
        while sent < 256 << 20: sent += peer.send((HEALTH * 1000).encode())
    except TimeoutError:
        pass
    peer.close()
    return [] if sent < 256 << 20 else [f"{sent} bytes were taken"]


def idle(daemon, count=5000):
    peers = [connect(daemon) for _ in range(count)]
    with connect(daemon) as peer:
        peer.sendall(HEALTH.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n").encode())
        answer = read_to_end(peer)
    for peer in peers: peer.close()
    return [] if b" 200 " in answer[:20] else [f"beside idle connections: {answer[:40]!r}"]
