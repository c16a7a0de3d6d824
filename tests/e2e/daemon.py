"""Starts the real inferd with a configuration of its own, in a folder of its own, on free ports."""
import json
import os
import pathlib
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request

BUILD = pathlib.Path(os.environ.get("INFERD_BUILD", pathlib.Path(__file__).resolve().parents[2] / "build/release"))
BIN = BUILD / "bin"


def free_port():
    return free_ports(1)[0]


def free_ports(count):
    """Different ones: all are held until the last is known."""
    probes = [socket.socket() for _ in range(count)]
    try:
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]
    finally:
        for probe in probes:
            probe.close()


def samples(daemon):
    """Value of each series of /metrics."""
    out = {}
    for line in daemon.get("/metrics")[1].splitlines():
        if line and not line.startswith("#"):
            name, value = line.rsplit(" ", 1)
            out[name] = float(value)
    return out


def of_model(values, name, model):
    return sum(value for key, value in values.items() if key.startswith(name + "{") and f'model="{model}"' in key)


def wait_for(condition, seconds=60, what="the condition"):
    """Polls until condition() is true; its last value is returned."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise TimeoutError(f"{what() if callable(what) else what} did not come true within {seconds} s")
        time.sleep(0.02)


def alive(pid):
    """Whether the process exists and does not merely wait to be reaped."""
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def kill(pid):
    """SIGKILL; returns just before it and just after the process's end (monotonic times)."""
    before = time.monotonic()
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not alive(pid), 60, f"the end of {pid}")
    return before, time.monotonic()


class Daemon:
    """with Daemon(tmp_path, models=[...]) as daemon: daemon.http is the base address."""

    def __init__(self, folder, models, extra=None, start=True, environment=None):
        self.folder = pathlib.Path(folder)
        self.models = models
        self.http_port, self.grpc_port = free_ports(2)
        self.http = f"http://127.0.0.1:{self.http_port}"
        self.grpc = f"127.0.0.1:{self.grpc_port}"
        self.admin = f"unix:{self.folder}/run/admin.sock"
        self.config_path = self.folder / "inferd.yaml"
        self.log_path = self.folder / "inferd.log"
        self.extra = extra or {}
        self.environment = {**os.environ, **environment} if environment else None
        self.process = None
        self.write_config()
        if start:
            self.start()

    def write_config(self):
        # JSON is YAML.
        config = {
            "listen": {"http": f"127.0.0.1:{self.http_port}", "grpc": f"127.0.0.1:{self.grpc_port}"},
            "run_directory": str(self.folder / "run"),
            "models": self.models,
            **self.extra,
        }
        self.config_path.write_text(json.dumps(config, indent=1))

    def start(self, ready=True, arguments=()):
        log = open(self.log_path, "ab")
        self.process = subprocess.Popen([BIN / "inferd", "--config", self.config_path, *arguments], stderr=log, stdout=log, env=self.environment)
        log.close()
        if ready:
            wait_for(self.is_ready, what=lambda: "readiness\n" + self.log_path.read_text()[-2000:])

    def is_ready(self):
        if self.process.poll() is not None:
            raise RuntimeError(f"inferd ended with {self.process.returncode}:\n{self.log_path.read_text()[-2000:]}")
        return self.get("/ready")[0] == 200

    def get(self, path, headers=None):
        """(status, body); status 0 if nobody listens."""
        try:
            with urllib.request.urlopen(urllib.request.Request(self.http + path, headers=headers or {}), timeout=60) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except (ConnectionError, urllib.error.URLError):
            return 0, ""

    def post(self, path, body, headers=None):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(self.http + path, data=data, headers={"Content-Type": "application/json", **(headers or {})})
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())

    def inferctl(self, *arguments, **options):
        return subprocess.run([BIN / "inferctl", "--admin", self.admin, *arguments], capture_output=True, text=True, timeout=120, **options)

    def inferctl_bytes(self, *arguments, **options):
        return subprocess.run([BIN / "inferctl", "--admin", self.admin, *arguments], capture_output=True, timeout=120, **options)

    def status(self):
        return json.loads(self.inferctl("status", "--json").stdout)

    def children(self):
        """Process ids of the daemon's children by program name."""
        out = {}
        listing = subprocess.run(["ps", "-o", "pid=,comm=", "--ppid", str(self.process.pid)], capture_output=True, text=True).stdout
        for line in listing.splitlines():
            pid, name = line.split(None, 1)
            out.setdefault(name[:15], []).append(int(pid))
        return out

    def log_lines(self):
        return [json.loads(line) for line in self.log_path.read_text().splitlines() if line.startswith("{")]

    def stop(self, seconds=60):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(seconds)
            except subprocess.TimeoutExpired:
                self.process.kill()
                raise
        return self.process.returncode if self.process else None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
