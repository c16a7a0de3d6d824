"""The servers that serve.py measures: each is started alone on a free port, and asked for what it holds in memory."""
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from daemon import free_port  # noqa: E402


class Server:
    """with Server(...) as server: server.port is where it listens."""

    name = ""
    ready_path = ""

    def __init__(self, model, sequences, context, threads):
        self.model, self.sequences, self.context, self.threads = model, sequences, context, threads
        self.port = free_port()

    def command(self, folder):
        raise NotImplementedError

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.log = open(f"{self.folder.name}/log", "w+b")
        began = time.monotonic()
        self.process = subprocess.Popen(self.command(self.folder.name), stdout=self.log, stderr=self.log)
        while not self.is_ready():
            if self.process.poll() is not None or time.monotonic() > began + 120:
                self.log.seek(0)
                said = self.log.read().decode()[-2000:]
                self.__exit__()
                raise RuntimeError(f"{self.name} did not start:\n{said}")
            time.sleep(0.02)
        self.seconds_to_ready = time.monotonic() - began
        return self

    def is_ready(self):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{self.ready_path}", timeout=5) as answer:
                return answer.status == 200
        except (OSError, urllib.error.URLError):
            return False

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()
        self.folder.cleanup()

    def processes(self):
        """The server's process id and those of its children."""
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return [self.process.pid, *map(int, children)]

    def resident_bytes(self):
        """Largest resident set so far, summed over the server's processes; mapped weights count where they were read."""
        total = 0
        for process in self.processes():
            status = pathlib.Path(f"/proc/{process}/status").read_text()
            total += int(status.split("VmHWM:")[1].split()[0]) * 1024
        return total


class Inferd(Server):
    name = "inferd"
    ready_path = "/ready"

    def __init__(self, folder, *arguments, **options):
        """options: more keys of the model."""
        super().__init__(*arguments)
        self.programs, self.options = folder, options

    def another(self, **options):
        """A server like this one but for these options."""
        return Inferd(self.programs, self.model, self.sequences, self.context, self.threads, **options)

    def command(self, folder):
        config = {
            "listen": {"http": f"127.0.0.1:{self.port}", "grpc": f"unix:{folder}/grpc.sock"},
            "run_directory": f"{folder}/run",
            "models": [{
                "name": "model", "path": str(pathlib.Path(self.model).resolve()), "context": self.context, "threads": self.threads,
                "batch": {"max_sequences": self.sequences}, "queue": {"max_wait": "600s"},
                "kv_cache": {"bytes": "1GiB"}, **self.options,
            }],
        }
        pathlib.Path(f"{folder}/inferd.yaml").write_text(json.dumps(config))
        return [f"{self.programs}/inferd", "--config", f"{folder}/inferd.yaml"]


class LlamaServer(Server):
    name = "llama-server"
    ready_path = "/health"

    def __init__(self, folder, *arguments):
        super().__init__(*arguments)
        self.programs = folder

    def command(self, folder):
        return [f"{self.programs}/llama-server", "-m", str(self.model), "--port", str(self.port), "-np", str(self.sequences),
                "-c", str(self.context * self.sequences), "-t", str(self.threads), "-tb", str(self.threads)]
