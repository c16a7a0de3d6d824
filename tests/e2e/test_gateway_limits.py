"""What clients that behave badly get from the gateway, in front of a stub of a worker."""
import http.client
import json
import select
import socket
import time

from daemon import wait_for
from gateway import Gateway


def ended(connection):
    """The peer has closed; what it sent before does not count."""
    while select.select([connection], [], [], 0)[0]:
        try:
            if not connection.recv(1 << 16):
                return True
        except ConnectionResetError:
            return True
    return False


def test_a_name_that_is_no_utf8_gets_valid_json(tmp_path):
    with Gateway(tmp_path) as gateway:
        connection = http.client.HTTPConnection("127.0.0.1", gateway.http_port, timeout=60)
        connection.request("GET", "/v1/models/a%FFb")
        answer = connection.getresponse()
        assert answer.status == 404
        assert json.loads(answer.read().decode("utf-8"))["error"]["message"] == "the model 'a\ufffdb' does not exist"


def test_idle_grpc_connections_count_and_are_closed(tmp_path):
    with Gateway(tmp_path, {"limits": {"connections": 4, "idle_timeout": "3s"}}) as gateway:
        idle = [socket.create_connection(("127.0.0.1", gateway.grpc_port)) for _ in range(12)]
        # gRPC greets whom it accepts: the others wait in the backlog.
        wait_for(lambda: select.select(idle, [], [], 0)[0], 60, "an accepted connection")
        time.sleep(0.5)
        assert len(select.select(idle, [], [], 0)[0]) <= 5
        # The room comes back when they have been idle for long, and HTTP is served again.
        wait_for(lambda: [ended(connection) for connection in idle].count(True) >= 4, 60, "the end of idle connections")
        for connection in idle:
            connection.close()
        wait_for(gateway.is_ready, 60, "room for HTTP")


def test_a_client_that_leaves_between_two_tries_does_no_harm(tmp_path):
    with Gateway(tmp_path) as gateway:
        gateway.kill_worker()
        body = json.dumps({"model": "chat", "input": "x"})
        for delay in (0, 0.01, 0.05, 0.1, 0.15):
            connection = http.client.HTTPConnection("127.0.0.1", gateway.http_port, timeout=60)
            connection.request("POST", "/v1/embeddings", body, {"Content-Type": "application/json"})
            time.sleep(delay)
            connection.close()
        gateway.start_worker()
        wait_for(gateway.is_ready, 60, "/ready")


def test_a_head_beyond_the_largest_limit_is_refused_at_once(tmp_path):
    with Gateway(tmp_path, {"limits": {"header": "64KiB"}}) as gateway:
        connection = http.client.HTTPConnection("127.0.0.1", gateway.http_port, timeout=60)
        connection.request("GET", "/ready", headers={"X": "x" * (64 << 10)})
        assert connection.getresponse().status == 431
