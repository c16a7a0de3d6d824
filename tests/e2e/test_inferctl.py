"""inferctl as an operator and a chatting person use it, the latter on a real terminal."""
import json
import os
import pty
import re
import select
import signal
import socket
import subprocess
import time

import pytest
from conftest import smollm2
from daemon import BIN, Daemon

ESCAPES = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|\r")


class Terminal:
    """A program on a pseudo-terminal: type() and expect()."""

    def __init__(self, arguments, home):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execve(arguments[0], arguments, {**os.environ, "HOME": str(home), "TERM": "xterm"})
        self.seen = b""

    def type(self, text):
        os.write(self.fd, text.encode())

    def expect(self, pattern, seconds=60):
        """Reads until the pattern matches what came since the last match; returns the text up to its end."""
        end = time.monotonic() + seconds
        while True:
            plain = ESCAPES.sub(b"", self.seen)
            match = re.search(pattern.encode(), plain)
            if match:
                self.seen = plain[match.end():]
                return plain[: match.end()].decode(errors="replace")
            if time.monotonic() > end or not select.select([self.fd], [], [], max(0, end - time.monotonic()))[0]:
                raise TimeoutError(f"no {pattern!r} in {plain!r}")
            try:
                self.seen += os.read(self.fd, 65536)
            except OSError:
                raise EOFError(f"ended without {pattern!r}: {plain!r}") from None

    def wait(self, seconds=60):
        """The exit code of the program, which has to end within that time."""
        end = time.monotonic() + seconds
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
            if time.monotonic() > end:
                raise TimeoutError(f"did not end within {seconds} s, showed {self.seen!r}")
            time.sleep(0.01)


@pytest.fixture
def chat(daemon, tmp_path):
    terminal = Terminal([str(BIN / "inferctl"), "--admin", daemon.admin, "chat", "smollm2", "--temperature", "0"], tmp_path)
    terminal.expect("> ")
    yield terminal
    try:
        os.kill(terminal.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    os.close(terminal.fd)


def test_chat_answers_remembers_and_forgets(chat):
    chat.type("My name is Aurelia. Say hello to me by name.\n")
    assert "Aurelia" in chat.expect(r"\[\d+ tokens, .*?\]").split("by name.", 1)[1]
    chat.expect("> ")
    chat.type("/reset\n")
    chat.expect("forgotten")
    chat.type("What is the capital of France? Answer in one sentence.\n")
    answer = chat.expect(r"\[\d+ tokens, .*?\]")
    assert "Paris" in answer and "Aurelia" not in answer.split("sentence.", 1)[1]
    chat.type("/quit\n")
    assert chat.wait() == 0


def test_ctrl_c_stops_the_answer_and_not_the_program(chat):
    chat.type("Write a very long story about a dragon.\n")
    chat.expect(r"dragon\.\s*\S+ \S+ \S+")
    chat.type("\x03")
    chat.expect(r"\[stopped\]", 20)
    chat.expect("> ")
    chat.type("/nonsense\n")
    chat.expect("/nonsense is no command")
    chat.type("/help\n")
    chat.expect("/reset")
    chat.type("\x04")
    assert chat.wait() == 0


def test_ctrl_d_typed_during_an_answer_ends_the_program_after_it(chat):
    chat.type("Say hello.\n")
    chat.expect(r"hello\.\s*\S+")
    chat.type("\x04")
    chat.expect(r"\[\d+ tokens, .*?\]")
    assert chat.wait() == 0


def test_system_message_is_told(chat):
    chat.type("/system You always answer with the single word BANANA.\n")
    chat.expect("system message is set")


def test_a_conversation_that_is_too_long_says_what_to_do(chat):
    chat.type("a " * 2100 + "\n")
    chat.expect("maximum context length is 2048 tokens")
    chat.expect("/reset forgets the conversation")
    chat.expect("> ")
    chat.type("What is the capital of France? Answer in one sentence.\n")
    assert "Paris" in chat.expect(r"\[\d+ tokens, .*?\]")


def test_status_and_models(daemon):
    text = daemon.inferctl("status").stdout
    assert "smollm2" in text and "READY" in text
    status = daemon.status()
    assert status["workers"][0]["state"] == "READY" and status["workers"][0]["pid"] in daemon.children()["inferd-worker"]
    assert "smollm2" in daemon.inferctl("models").stdout


@pytest.mark.parametrize("arguments,code,words", [
    (["--admin", "unix:/nowhere/admin.sock", "status"], 1, ["no inferd answers at unix:/nowhere/admin.sock"]),
    (["--admin", "unix:/nowhere/admin.sock", "top"], 1, ["no inferd answers at unix:/nowhere/admin.sock"]),
    (["chat", "--seed", "-1"], 2, ["--seed", "-1"]), (["chat", "--max-tokens", "-1"], 2, ["--max-tokens", "-1"]),
    (["chat", "--seed", "99999999999999999999"], 2, ["--seed", "is not a whole number"]), (["unload", "m", "0"], 2, ["version"]),
    (["traffic", "m", "1=50", "1=60"], 2, ['"1=60": version 1 has a weight already']), (["traffic", "m", "1=5", "--window", "0s"], 2, ["--window: 0s"]),
    (["fly"], 2, ["fly"]), ([], 2, ["subcommand"]), (["chat", "--temperature", "9"], 2, ["temperature"]),
])
def test_mistakes_are_explained(arguments, code, words):
    result = subprocess.run([BIN / "inferctl", *arguments], capture_output=True, text=True, timeout=60)
    assert result.returncode == code
    for word in words:
        assert word in result.stderr


def test_unknown_model_is_named(daemon):
    result = daemon.inferctl("chat", "nobody", "--message", "hi")
    assert result.returncode == 1 and "nobody" in result.stderr


def test_top_shows_what_each_worker_does(daemon):
    prompt = {"model": "smollm2", "prompt": "A sentence that comes twice. " * 20, "max_tokens": 2}
    assert [daemon.post("/v1/completions", prompt)[0] for _ in range(2)] == [200, 200]
    result = daemon.inferctl("top", "--rounds", "1")
    assert result.returncode == 0, result.stderr
    header, line = result.stdout.splitlines()
    assert header.split() == ["MODEL", "STATE", "RUNNING", "WAITING", "SEQUENCES", "PROMPT/s", "TOKENS/s", "KV", "CACHED", "MiB"]
    fields = dict(zip(header.split(), line.split()))
    assert fields["MODEL"].startswith("smollm2@") and fields["STATE"] == "READY" and fields["WAITING"] == "0"
    assert 0 < float(fields["CACHED"].rstrip("%")) <= 100 and int(fields["MiB"]) > 50


def test_configuration_prints_and_checks(daemon, tmp_path):
    printed = subprocess.run([BIN / "inferd", "--print-config", "--config", daemon.config_path], capture_output=True, text=True, timeout=60)
    assert printed.returncode == 0 and "smollm2" in printed.stdout and "prefill_tokens" in printed.stdout
    again = tmp_path / "again.yaml"
    again.write_text(printed.stdout)
    checked = subprocess.run([BIN / "inferd", "--check", "--config", again], capture_output=True, text=True, timeout=60)
    assert checked.returncode == 0, checked.stderr
    reprinted = subprocess.run([BIN / "inferd", "--print-config", "--config", again], capture_output=True, text=True, timeout=60)
    assert reprinted.stdout == printed.stdout


def test_version_names_the_kernels():
    result = subprocess.run([BIN / "inferd", "--version"], capture_output=True, text=True, timeout=60)
    assert result.returncode == 0 and re.search(r"reference|avx2|avxvnni|avx512|neon", result.stdout), result.stdout


def test_reload_reports_errors_and_keeps_serving(own_daemon):
    own_daemon.config_path.write_text("models: [{name: smollm2}]\n")
    result = own_daemon.inferctl("reload")
    assert result.returncode == 2 and "path" in result.stderr and "inferd.yaml:1" in result.stderr
    assert own_daemon.post("/v1/completions", {"model": "smollm2", "prompt": "a", "max_tokens": 1})[0] == 200
    assert json.loads(own_daemon.inferctl("status", "--json").stdout)["reloads_failed"] == 1


@pytest.mark.parametrize("arguments,words", [
    (["unload", "smollm2", "0"], "version: 0 is no version"),
    (["unload", "smollm2", "00"], "version: 0 is no version"),
    (["unload", "smollm2", "x"], 'version: "x" is not a whole number'),
    (["unload", "smollm2", "--drain", "soon"], '--drain: "soon" is not a duration'),
    (["drain", "--deadline", "-1s"], '--deadline: "-1s" is not a duration'),
    (["traffic", "smollm2", "1=1", "--window", "5parsecs"], '--window: "5parsecs" is not a duration'),
])
def test_wrong_numbers_are_named_with_their_argument(daemon, arguments, words):
    result = daemon.inferctl(*arguments)
    assert result.returncode == 2 and words in result.stderr and len(result.stderr) < 200, result.stderr
    assert daemon.is_ready()


def doctor(config, *arguments):
    result = subprocess.run([BIN / "inferctl", "--config", config, "doctor", "--json", *arguments], capture_output=True, text=True, timeout=60)
    return result.returncode, {entry["subject"]: entry for entry in json.loads(result.stdout)}


def test_the_doctor_finds_what_would_keep_a_daemon_from_starting(tmp_path, model_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        config = tmp_path / "inferd.yaml"
        text = f"listen: {{http: '127.0.0.1:{port}', grpc: '127.0.0.1:0'}}\nrun_directory: {tmp_path}/run\nmodels: [{{name: m, path: {model_path}}}]\n"
        config.write_text(text)
        code, found = doctor(config)
        assert code == 1 and found["listen.http"]["verdict"] == "fault" and "in use" in found["listen.http"]["found"]
        assert found["models"]["verdict"] == found["listen.grpc"]["verdict"] == "good" and found["daemon"]["found"] == "does not run"
    config.write_text(text.replace(str(model_path), "/gone.gguf"))
    code, found = doctor(config)
    assert code == 1 and "/gone.gguf" in found["model m"]["found"] and found["model m"]["advice"]


def test_the_doctor_knows_a_daemon_that_runs(tmp_path, model_path):
    with Daemon(tmp_path, [smollm2(model_path)]) as daemon:
        code, found = doctor(daemon.config_path)
        assert code == 0 and found["daemon"]["found"].startswith("answers") and "held by the daemon" in found["listen.http"]["found"]
    assert {"memory", "instructions", "sandbox", "gpu", "open files", "clock"} <= set(found)
