"""What inferd tells its service manager (sd_notify), which here is a socket of the test."""
import signal
import socket

import pytest
from conftest import smollm2
from daemon import Daemon


class Manager:
    """The socket behind NOTIFY_SOCKET."""

    def __init__(self, path):
        self.path = str(path)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        self.socket.settimeout(30)

    def await_message(self, key):
        """The next message that has the assignment, as a dictionary; the ones before it are passed over."""
        while True:
            message = dict(line.split("=", 1) for line in self.socket.recv(4096).decode().splitlines())
            if key in message:
                return message


@pytest.fixture
def manager(tmp_path, monkeypatch):
    made = Manager(tmp_path / "notify.sock")
    monkeypatch.setenv("NOTIFY_SOCKET", made.path)
    monkeypatch.setenv("WATCHDOG_USEC", "400000")
    yield made
    made.socket.close()


def test_the_service_manager_hears_of_every_step(tmp_path, model_path, manager):
    with Daemon(tmp_path, [smollm2(model_path)], start=False) as daemon:
        daemon.start(ready=False)
        assert manager.await_message("READY") == {"READY": "1", "STATUS": "1 of 1 model versions ready"}
        assert daemon.get("/ready")[0] == 200
        for _ in range(3):
            assert manager.await_message("WATCHDOG") == {"WATCHDOG": "1"}
        daemon.process.send_signal(signal.SIGHUP)
        reloading = manager.await_message("RELOADING")
        assert reloading["RELOADING"] == "1" and int(reloading["MONOTONIC_USEC"]) > 0
        assert manager.await_message("READY")["READY"] == "1"
        daemon.process.send_signal(signal.SIGTERM)
        assert manager.await_message("STOPPING")["STOPPING"] == "1"
        assert daemon.process.wait(60) == 0


def test_children_do_not_speak_for_the_daemon(tmp_path, model_path, manager):
    with Daemon(tmp_path, [smollm2(model_path)]) as daemon:
        children = [pid for pids in daemon.children().values() for pid in pids]
        assert len(children) == 2
        for pid in children:
            with open(f"/proc/{pid}/environ", "rb") as environment:
                names = {entry.split(b"=")[0] for entry in environment.read().split(b"\0")}
            assert b"PATH" in names and not names & {b"NOTIFY_SOCKET", b"WATCHDOG_USEC"}


def test_a_daemon_that_cannot_start_is_never_ready(tmp_path, model_path, manager):
    with socket.socket() as holder:
        daemon = Daemon(tmp_path, [smollm2(model_path)], start=False)
        holder.bind(("127.0.0.1", daemon.http_port))
        holder.listen()
        daemon.start(ready=False)
        assert daemon.process.wait(60) == 1
    manager.socket.settimeout(0)
    with pytest.raises(BlockingIOError):
        manager.await_message("READY")
