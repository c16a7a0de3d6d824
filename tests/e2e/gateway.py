"""Starts the real inferd-gateway in front of gateway-stub, which plays the supervisor and one worker."""
import json
import os
import pathlib
import signal
import subprocess
import urllib.request

from daemon import BIN, BUILD, free_ports, wait_for

STUB = BUILD / "gateway" / "gateway-stub"


class Gateway:
    """with Gateway(tmp_path) as gateway: gateway.http is the base address. The prompt tells the stub what to do."""

    def __init__(self, folder, extra=None, worker_arguments=()):
        self.worker_arguments = worker_arguments
        self.folder = pathlib.Path(folder)
        self.http_port, self.grpc_port = free_ports(2)
        self.http, self.grpc = f"http://127.0.0.1:{self.http_port}", f"127.0.0.1:{self.grpc_port}"
        self.worker_address = f"unix:{self.folder}/w.sock"
        self.admin = f"unix:{self.folder}/admin.sock"
        self.log_path = self.folder / "gateway.log"
        self.config = self.folder / "inferd.yaml"
        self.config.write_text(json.dumps({
            "listen": {"http": f"127.0.0.1:{self.http_port}", "grpc": self.grpc},
            "models": [{"name": "chat", "path": str(self.folder / "none.gguf")}], **(extra or {})}))
        self.supervisor = self.start_stub("--admin", self.admin, "--route", f"chat={self.worker_address}",
                                          "--route", f"other={self.worker_address}")
        self.start_worker()
        self.lifeline, write_end = os.pipe()
        self.write_end = write_end
        self.process = subprocess.Popen(
            [str(BIN / "inferd-gateway"), "--config", str(self.config), "--admin", self.admin,
             "--lifeline-fd", str(self.lifeline)], stderr=open(self.log_path, "wb"), pass_fds=[self.lifeline])
        wait_for(self.is_ready, what="/ready")

    def start_stub(self, *arguments):
        process = subprocess.Popen([str(STUB), *arguments], stdout=subprocess.PIPE)
        assert process.stdout.readline() == b"ready\n"
        return process

    def start_worker(self):
        self.worker = self.start_stub("--listen", self.worker_address, "--model", "chat", *self.worker_arguments)

    def kill_worker(self):
        self.worker.send_signal(signal.SIGKILL)
        self.worker.wait()

    def is_ready(self):
        assert self.process.poll() is None, self.log_path.read_text()
        try:
            return urllib.request.urlopen(self.http + "/ready", timeout=5).status == 200
        except OSError:
            return False

    def log_lines(self):
        return [json.loads(line) for line in self.log_path.read_text().splitlines()]

    def request_line(self, request_id):
        """The log line of a request; it comes a moment after the answer."""
        lines = lambda: [line for line in self.log_lines() if line.get("request_id") == request_id]
        return wait_for(lines, 60, f"a log line of {request_id}")[0]

    def metrics(self):
        return urllib.request.urlopen(self.http + "/metrics", timeout=60).read().decode()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in (self.process, self.worker, self.supervisor):
            process.kill()
            process.wait()
        os.close(self.write_end)
        os.close(self.lifeline)
