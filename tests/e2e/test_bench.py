"""The programs of tests/bench as their user meets them: what is wrong is told before anything runs, and a short run gives figures."""
import json
import subprocess
import sys

import pytest
from conftest import ROOT
from daemon import BIN


PROGRAMS = [path for path in sorted((ROOT / "tests/bench").rglob("*.py")) if '__name__ == "__main__"' in path.read_text()]


def run(program, *arguments):
    return subprocess.run([sys.executable, program, *arguments], capture_output=True, text=True)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.name)
def test_each_program_explains_itself(program):
    result = run(program, "--help")
    assert result.returncode == 0 and result.stdout.startswith("usage: ") and not result.stderr
    result = run(program, "--no-such-option")
    assert result.returncode == 2 and "usage: " in result.stderr and "Traceback" not in result.stderr


@pytest.mark.parametrize("arguments,text", [
    (["/nowhere.gguf"], "MODEL: there is no file /nowhere.gguf"),
    (["{model}", "swop"], "'swop' is none of swap, killed_worker, killed_gateway, thousand_models"),
])
def test_supervision_names_a_wrong_argument_at_once(model_path, arguments, text):
    result = run(ROOT / "tests/bench/supervision.py", *[argument.format(model=model_path) for argument in arguments])
    assert result.returncode == 2 and text in result.stderr, result.stderr


def serve(*arguments):
    return subprocess.run([sys.executable, ROOT / "tests/bench/serve.py", "--ours", BIN, *arguments], capture_output=True, text=True)


@pytest.mark.parametrize("arguments,text", [
    (["{model}", "--clients", "4,1"], "--clients: 4,1 is not ascending"),
    (["{model}", "--clients", "0"], "--clients: 0 is less than 1"),
    (["{model}", "--clients", "few"], "--clients"),
    (["{model}", "--runs", "0"], "--runs: 0 is less than 1"),
    (["{model}", "--rate", "0"], "--rate: 0 is not above 0"),
    (["{model}", "--rate", "nan"], "--rate: nan is not above 0"),
    (["{model}", "--only", "clients,foo"], "--only: 'foo' is none of clients, mixed"),
    (["/nowhere.gguf"], "MODEL: there is no file /nowhere.gguf"),
    (["{model}", "--peer", "/nowhere"], "--peer: there is no file /nowhere/llama-server"),
    (["{model}", "--json", "/nowhere/x.json"], "--json: /nowhere is no folder"),
    (["{model}", "--plot", "x.png", "--only", "arrivals"], "--plot shows the scenarios clients and mixed"),
])
def test_a_wrong_argument_is_named_at_once(model_path, arguments, text):
    result = serve(*[argument.format(model=model_path) for argument in arguments])
    assert result.returncode == 2 and text in result.stderr, result.stderr


def test_a_short_run_gives_a_table_and_figures(model_path, tmp_path):
    figures = tmp_path / "figures.json"
    result = serve(model_path, "--runs", "1", "--clients", "2", "--requests", "1", "--only", "clients,arrivals,speculation",
                   "--arrivals", "2", "--rate", "5", "--json", str(figures))
    assert result.returncode == 0, result.stderr
    rows = {line[:44].strip(): line[44:].split() for line in result.stdout.splitlines()}
    medians = json.loads(figures.read_text())["medians"]["inferd"]
    for test in ("2 clients", "5/s arrive, 20..4000 tokens"):
        assert medians[test]["failed"] == 0 and medians[test]["tokens_per_second"] > 0 and medians[test]["ttft_p95"] > 0
        assert rows[test][0] == "inferd" and rows[test][-1] == "0"
    edit = medians["code edit, n-gram speculation, 1 client"]
    assert edit["failed"] == 0 and edit["speedup"] > 0
    assert rows["code edit, n-gram speculation, 1 client"][-3:] == ["the", "tokens/s", "without"]
