#!/usr/bin/env python3
"""Events that the gateway alone relays: a stub plays the worker, raw sockets the clients.

    INFERD_BUILD=build/release tests/bench/gateway.py [--clients 16] [--tokens 4000] [--api messages]

Prints, for tokens that come in step (as the sequences of an engine's step do) and out of step, the events of all
clients for each second of the gateway's processor time, which other load on the machine does not change much.
"""
import argparse
import json
import os
import pathlib
import selectors
import socket
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from gateway import Gateway

APIS = {"chat": ("/v1/chat/completions", b"data: [DONE]"), "messages": ("/v1/messages", b'{"type":"message_stop"}')}
PATTERNS = {"in step": "tick_us=5000", "out of step": "delay_us=5000", "as fast as they come": ""}


def processor_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def open_stream(port, path, prompt, tokens):
    body = json.dumps({"model": "chat", "stream": True, "max_tokens": tokens, "messages": [{"role": "user", "content": f"tokens={tokens} {prompt}"}]})
    connection = socket.create_connection(("127.0.0.1", port))
    connection.sendall(f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
    return connection


def read_all(connections, end):
    """Events of all streams, each read to its end."""
    events, tails = 0, {connection: b"" for connection in connections}
    with selectors.DefaultSelector() as selector:
        for connection in connections:
            selector.register(connection, selectors.EVENT_READ)
        while tails:
            for key, _ in selector.select():
                part = key.fileobj.recv(1 << 18)
                if not part:
                    raise EOFError(f"a stream ended without {end}")
                events += (tails[key.fileobj][-5:] + part).count(b"data: ") - tails[key.fileobj][-5:].count(b"data: ")
                tails[key.fileobj] = (tails[key.fileobj] + part)[-64:]
                if end in tails[key.fileobj]:
                    selector.unregister(key.fileobj)
                    del tails[key.fileobj]
    return events


def measure(gateway, api, prompt, clients, tokens):
    path, end = APIS[api]
    before, began = processor_seconds(gateway.process.pid), time.monotonic()
    connections = [open_stream(gateway.http_port, path, prompt, tokens) for _ in range(clients)]
    events = read_all(connections, end)
    seconds, processor = time.monotonic() - began, processor_seconds(gateway.process.pid) - before
    for connection in connections:
        connection.close()
    assert events >= clients * tokens, f"{events} events, expected {clients} x {tokens}"
    return events, seconds, processor


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--tokens", type=int, default=4000)
    parser.add_argument("--api", choices=APIS, default="chat")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, Gateway(folder) as gateway:
        measure(gateway, arguments.api, "", arguments.clients, 100)
        print(f"{'tokens':<22}{'events':>9}{'seconds':>9}{'processor s':>13}{'events/s a core':>17}")
        for name, prompt in PATTERNS.items():
            events, seconds, processor = measure(gateway, arguments.api, prompt, arguments.clients, arguments.tokens)
            print(f"{name:<22}{events:>9}{seconds:>9.2f}{processor:>13.2f}{events / processor:>17.0f}")


if __name__ == "__main__":
    main()
