"""inferd-model inspect and verify: on the real model, on the same model damaged, on files that mean harm; bench on a tiny one."""
import json
import os
import re
import struct
import subprocess

import pytest
from daemon import BIN


def tool(*arguments, **options):
    return subprocess.run([BIN / "inferd-model", *map(str, arguments)], capture_output=True, timeout=60, **options)


def text(data):
    return struct.pack("<Q", len(data)) + data


def gguf(entries, tensors=0, rest=b""):
    """Version 3; each entry is a key and its type and value, as bytes."""
    return b"GGUF" + struct.pack("<IQQ", 3, tensors, len(entries)) + b"".join(text(key) + value for key, value in entries) + rest


def string(data):
    return struct.pack("<I", 8) + text(data)


def test_inspect_shows_metadata_and_tensors(model_path):
    shown = tool("inspect", model_path)
    assert shown.returncode == 0 and not shown.stderr
    out = shown.stdout.decode()
    assert "general.architecture" in out and '"llama"' in out and "token_embd.weight" in out and "134515008 parameters" in out
    whole = tool("inspect", model_path, "--json")
    file = json.loads(whole.stdout)
    assert whole.returncode == 0 and file["version"] == 3 and file["size_bytes"] == 98362432
    assert file["metadata"]["llama.block_count"] == 30 and len(file["metadata"]["tokenizer.ggml.tokens"]) == 49152
    embedding = next(tensor for tensor in file["tensors"] if tensor["name"] == "token_embd.weight")
    assert embedding["shape"] == [576, 49152] and embedding["type"] == "Q8_0" and embedding["bytes"] == 576 * 49152 // 32 * 34


def test_verify_makes_every_check(model_path):
    result = tool("verify", model_path)
    lines = result.stdout.decode().splitlines()
    assert result.returncode == 0 and [line.split()[:2] for line in lines] == [
        ["ok", "file"], ["ok", "model"], ["ok", "tokenizer"], ["ok", "template"], ["ok", "forward"]]
    checks = json.loads(tool("verify", model_path, "--json").stdout)
    assert checks["ok"] and [check["check"] for check in checks["checks"]] == ["file", "model", "tokenizer", "template", "forward"]


def damaged(model_path, folder, old, new):
    """A copy of the model with one value replaced by another of the same length."""
    data = open(model_path, "rb").read()
    assert len(old) == len(new) and data.count(old, 0, 4 << 20) >= 1
    path = folder / "damaged.gguf"
    path.write_bytes(data.replace(old, new, 1))
    return path


@pytest.mark.parametrize("check,old,new,words", [
    ("file", b"GGUF\x03", b"GGUF\x04", "version: 4"),
    ("model", text(b"llama.block_count"), text(b"llama.block_counx"), "llama.block_count: is missing"),
    ("model", text(b"token_embd.weight"), text(b"token_embx.weight"), "token_embd.weight"),
    ("model", string(b"llama"), string(b"lluma"), "lluma"),
    ("tokenizer", string(b"gpt2"), string(b"gpt9"), "gpt9"),
    ("template", b"{% for message in messages %}", b"{% far message in messages %}", "tokenizer.chat_template"),
])
def test_verify_names_what_is_wrong(model_path, tmp_path, check, old, new, words):
    path = damaged(model_path, tmp_path, old, new)
    result = tool("verify", path)
    last = result.stdout.decode().splitlines()[-1]
    assert result.returncode == 1 and last.split()[:2] == ["FAILED", check] and words in last, last
    assert result.stderr.decode() == f"inferd-model: {path}: {check} failed\n"
    assert json.loads(tool("verify", path, "--json").stdout)["ok"] is False


@pytest.mark.parametrize("content,words", [
    (None, "No such file"), (b"", "file is empty"), (b"GGUF", "version"), (b"something else", "magic"),
    (b"GGUF" + struct.pack("<IQQ", 3, 2**63 - 1, 0), "tensors declared"),
    (b"GGUF" + struct.pack("<IQQ", 3, 0, 2**63 - 1), "metadata"),
])
def test_what_is_no_model_is_one_line(tmp_path, content, words):
    path = tmp_path / "a.gguf"
    if content is not None:
        path.write_bytes(content)
    result = tool("inspect", path)
    error = result.stderr.decode()
    assert result.returncode == 1 and not result.stdout
    assert error.startswith(f"inferd-model: {path}: ") and words in error and error.count("\n") == 1, error


def test_a_hostile_file_drives_no_terminal_and_makes_valid_json(tmp_path):
    evil = b"\x1b]0;title\x07\xc2\x9b31m"
    path = tmp_path / "evil.gguf"
    path.write_bytes(gguf([(b"general.architecture", string(evil)), (b"key \xff " + evil, string(b"\xff" + evil)), (b"plain " + evil, string(evil))]))
    for verb in ("inspect", "verify"):
        result = tool(verb, path)
        for output in (result.stdout, result.stderr):
            assert not any(byte in output for byte in (b"\x1b", b"\x07", b"\xc2\x9b")), output
        file = json.loads(tool(verb, path, "--json").stdout)
        assert file["path"] == str(path)
    assert "31m" in result.stderr.decode() or "31m" in result.stdout.decode()


@pytest.mark.parametrize("arguments, words", [
    (["logits", "{model}", "--tokens", "1,x", "--output", "{out}"], "'x' is no token id, expected numbers joined by commas"),
    (["logits", "{model}", "--tokens", "", "--output", "{out}"], "expected at least one token id"),
    (["bench"], "Exactly 1 option from [FILE,--make-model]"),
    (["bench", "{model}", "--make-model", "{out}"], "2 were given"),
    (["bench", "--make-model", "{out}", "--type", "Q9"], "'Q9' is no tensor type, expected one of"),
    (["bench", "--make-model", "{out}", "--head-type", "Q9"], "'Q9' is no tensor type, expected one of"),
    (["bench", "--make-model", "{out}", "--shape", "cube"], "cube"),
    (["pull", "hf:nothing"], "expected hf:OWNER/REPOSITORY"),
    (["pull", "{model}", "--sha256", "12"], "'12' has 2 digits, expected 64"),
    (["pull", "{model}", "--sha256", "xy"], "'xy' has other than hex digits"),
])
def test_a_wrong_argument_is_a_usage_error(model_path, tmp_path, arguments, words):
    filled = [argument.format(model=model_path, out=tmp_path / "out") for argument in arguments]
    result = tool(*filled)
    assert result.returncode == 2, result
    assert words in result.stderr.decode(), result
    assert not (tmp_path / "out").exists()


def test_logits_are_never_written_over_the_model(tmp_path):
    model = tmp_path / "a.gguf"
    assert tool("bench", "--make-model", model, "--shape", "llama-tiny").returncode == 0
    (tmp_path / "link.gguf").symlink_to(model)
    assert tool("split", model, "--output", tmp_path / "p", "--max-size", model.stat().st_size // 2).returncode == 0
    parts = sorted(tmp_path.glob("p-*.gguf"))
    before = {path: path.read_bytes() for path in [model, *parts]}
    for source, output in [(model, model), (model, tmp_path / "link.gguf"), (parts[0], parts[1])]:
        result = tool("logits", source, "--tokens", "1,2", "--output", output)
        assert result.returncode == 1 and b"is the model" in result.stderr, result
    assert before == {path: path.read_bytes() for path in before}
    assert tool("logits", parts[0], "--tokens", "1,2", "--output", tmp_path / "logits").returncode == 0


def bench(tmp_path, isa, *arguments):
    """What a short bench of a tiny model prints, with the kernels named or with the best."""
    model = tmp_path / "tiny.gguf"
    assert tool("bench", "--make-model", model, "--shape", "llama-tiny").returncode == 0
    environment = {key: value for key, value in os.environ.items() if key != "INFERD_ISA"} | ({"INFERD_ISA": isa} if isa else {})
    result = tool("bench", model, "--threads", 2, "--prefill", 32, "--decode", 4, "--sequences", "1,2", "--runs", 1, *arguments, env=environment)
    assert result.returncode == 0 and not result.stderr, result
    return result.stdout.decode()


BENCH_TESTS = [("prefill", 32, 1), ("decode", 4, 1), ("decode", 4, 2)]


@pytest.mark.parametrize("isa", [None, "reference"])
def test_bench_measures_the_machine_and_a_model_as_json(tmp_path, isa):
    measured = json.loads(bench(tmp_path, isa, "--json"))
    machine, results = measured.pop("machine"), measured.pop("results")
    assert not measured and machine.pop("threads") == 2
    assert machine.pop("isa") == isa or isa is None
    assert set(machine) == {"int8_ops_per_second", "f32_flops_per_second", "read_bytes_per_second"}
    assert all(rate > 0 for rate in machine.values()), machine
    assert [(result.pop("test"), result.pop("tokens"), result.pop("sequences")) for result in results] == BENCH_TESTS
    for result in results:
        assert set(result) == {"tokens_per_second", "share_of_limit"} and all(value > 0 for value in result.values()), result


def test_bench_decodes_after_as_many_tokens_as_asked_for(tmp_path):
    assert [row.split()[:3] for row in bench(tmp_path, None, "--depth", 400).splitlines()[2:]] == [list(map(str, row)) for row in BENCH_TESTS]
    result = tool("bench", tmp_path / "tiny.gguf", "--depth", 1 << 20)
    assert result.returncode == 1 and b"1048640 tokens asked for" in result.stderr, result


@pytest.mark.parametrize("isa", [None, "reference"])
def test_bench_prints_a_table(tmp_path, isa):
    machine, heads, *rows = bench(tmp_path, isa).splitlines()
    limits = re.fullmatch(r"machine: (\w+), 2 threads, int8 (\S+) T ops/s, f32 (\S+) GFLOP/s, read (\S+) GB/s", machine)
    assert limits and limits[1] == (isa or limits[1]) and float(limits[4]) > 0, machine
    assert heads.split() == ["test", "tokens", "sequences", "tokens/s", "of", "limit"]
    cells = [row.split() for row in rows]
    assert [(test, int(tokens), int(sequences)) for test, tokens, sequences, _, _ in cells] == BENCH_TESTS
    for *_, speed, share in cells:
        assert float(speed) > 0 and re.fullmatch(r"\d+%", share), rows
