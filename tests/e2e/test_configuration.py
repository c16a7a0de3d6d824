"""What the daemon says of a configuration: checks, starts and reloads refuse the same, with file and line."""
import json
import os
import pathlib
import socket
import subprocess

import pytest
from daemon import BIN, Daemon

ARCHS = pathlib.Path(os.environ.get("INFERD_TEST_ARCHS", os.path.expanduser("~/.cache/inferd/archs")))
FOO = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"  # sha256("foo")


def inferd(*arguments, **options):
    return subprocess.run([BIN / "inferd", *map(str, arguments)], capture_output=True, text=True, timeout=60, **options)


def write(folder, keys, more=""):
    (folder / "keys.yaml").write_text(keys)
    config = folder / "inferd.yaml"
    config.write_text(f"run_directory: {folder}/run\nlisten: {{http: 127.0.0.1:0, grpc: 127.0.0.1:0}}\nmodels: []\n"
                      f"auth: {{keys_file: keys.yaml}}\n{more}")
    return config


@pytest.mark.parametrize("keys,place", [
    ("keys:\n- {name: a, sha256: xyz}\n", "keys.yaml:2"),
    (f"keys:\n- {{name: a, sha256: {FOO}}}\n---\nkeys: []\n", "keys.yaml:4"),
    ("keys: [", "keys.yaml:"),
    ("", "keys.yaml"),
])
def test_a_wrong_keys_file_is_refused_before_anything_starts(tmp_path, keys, place):
    config = write(tmp_path, keys)
    for arguments in (["--check"], []):
        result = inferd("--config", config, *arguments)
        assert result.returncode == 2 and f"{tmp_path}/{place}" in result.stderr, result.stderr
        assert result.stderr.startswith("inferd: auth.keys_file: ") and len(result.stderr.splitlines()) == 1
    assert not (tmp_path / "run").exists()


def test_a_missing_keys_file_is_named(tmp_path):
    config = write(tmp_path, "")
    (tmp_path / "keys.yaml").unlink()
    result = inferd("--check", "--config", config)
    assert result.returncode == 2 and "keys.yaml" in result.stderr and "No such file" in result.stderr


def test_a_good_keys_file_passes(tmp_path):
    result = inferd("--check", "--config", write(tmp_path, f"keys:\n- {{name: a, sha256: {FOO}}}\n"))
    assert result.returncode == 0 and "ok" in result.stdout, result.stderr


@pytest.mark.parametrize("content,words", [(None, "No such file"), (b"<html>not found</html>", "is no GGUF file"), (b"", "is no GGUF file")])
def test_a_file_that_is_no_model_is_named_with_its_model_and_line(tmp_path, model_path, content, words):
    other = tmp_path / "other.gguf"
    if content is not None:
        other.write_bytes(content)
    config = tmp_path / "inferd.yaml"
    config.write_text(f"models:\n- name: good\n  path: {model_path}\n- name: bad\n  context: 100\n  path: {other}\n")
    result = inferd("--check", "--config", config)
    assert result.returncode == 2 and result.stderr.startswith(f"inferd: {config}:6: model bad: {other}: {words}"), result.stderr
    assert len(result.stderr.splitlines()) == 1


REFUSED = [  # model file, its options one a line, the line at fault among them, what is said of it
    ("{smollm2}", ["context: 128", "speculation: {{kind: draft, draft_path: '{archs}/llama.gguf'}}"], 2,
     "speculation.draft_path: {archs}/llama.gguf: its tokenizer (256 tokens) is not that of {smollm2} (49152 tokens), expected the same"),
    ("{smollm2}", ["kv_cache:", "  bytes: 1MiB"], 2, "kv_cache.bytes: 1048576 is too small, 64 tokens of one sequence take 1474560"),
    ("{archs}/mamba2-dense.gguf", ["batch: {{max_sequences: 4096}}", "kv_cache:", "  bytes: 1MiB"], 3,
     "kv_cache.bytes: 1048576 is too small, the recurrent state of"),
    ("{smollm2}", ["kv_cache:", "  bytes: 8MiB", "speculation: {{kind: draft, draft_path: '{smollm2}'}}"], 2,
     "kv_cache.bytes: the draft model {smollm2} gets 1/8 of 8388608: 1048576 is too small, 64 tokens of one sequence take 1474560"),
    ("{smollm2}", ["context: 128", "overflow: slide", "overflow_keep: 65"], 3,
     "overflow_keep: 65 is not in [0, 64]: half of a sequence can be kept, and this model's maximum context length is 128 tokens"),
    ("{smollm2}", ["context: 2048", "kv_cache: {{bytes: 4MiB}}", "overflow: slide", "overflow_keep: 1000"], 4,
     "overflow_keep: 1000 is not in [0, 64]: half of a sequence can be kept, and the KV cache holds 128 tokens"),
]


@pytest.mark.skipif(not (ARCHS / "mamba2-dense.gguf").exists(), reason="the oracles' small models are not on this machine")
@pytest.mark.parametrize("path,options,at,words", REFUSED, ids=lambda value: value[:20] if isinstance(value, str) else None)
def test_a_model_that_no_worker_would_serve_is_refused(tmp_path, model_path, path, options, at, words):
    """--check names option and line; a daemon that takes the model all the same hears it from the worker."""
    path, words, *options = (text.format(smollm2=model_path, archs=ARCHS) for text in (path, words, *options))
    config = tmp_path / "check.yaml"
    config.write_text("\n".join(["models:", f"- name: good\n  path: {model_path}", f"- name: bad\n  path: {path}",
                                 *("  " + option for option in options)]) + "\n")
    result = inferd("--check", "--config", config)
    assert result.returncode == 2 and result.stderr.startswith(f"inferd: {config}:{5 + at}: model bad: {words}"), result.stderr
    assert len(result.stderr.splitlines()) == 1
    with Daemon(tmp_path, []) as daemon:
        same = json.loads(daemon.config_path.read_text())
        del same["models"]
        daemon.config_path.write_text(config.read_text() + "".join(f"{key}: {json.dumps(value)}\n" for key, value in same.items()))
        loaded = daemon.inferctl("reload")
        assert loaded.returncode == 1 and words in loaded.stderr, loaded


def test_a_check_names_every_faulty_model_and_what_the_machine_lacks(tmp_path, model_path):
    (tmp_path / "none.gguf").write_bytes(b"nothing")
    config = tmp_path / "check.yaml"
    config.write_text(f"""models:
- name: good
  path: {model_path}
- name: no-model
  path: none.gguf
- name: far
  path: {model_path}
  cpus: 0,1000
- name: nowhere
  path: {model_path}
  kv_cache: {{save: {tmp_path}/none/prefixes}}
- name: folder
  path: {model_path}
  kv_cache: {{save: {tmp_path}}}
""")
    result = inferd("--check", "--config", config)
    lines = result.stderr.splitlines()
    assert result.returncode == 2 and len(lines) == 4, result.stderr
    for line, (at, name, words) in zip(lines, [(5, "no-model", "none.gguf"), (8, "far", "cpus: 1000 is not a processor"),
                                               (11, "nowhere", f"kv_cache.save: {tmp_path}/none: "),
                                               (14, "folder", f"kv_cache.save: {tmp_path} is no regular file")]):
        assert f"{config}:{at}: model {name}: " in line and words in line, result.stderr


def test_a_check_needs_the_worker(tmp_path, model_path):
    config = tmp_path / "check.yaml"
    config.write_text(f"models:\n- name: good\n  path: {model_path}\n")
    result = inferd("--check", "--config", config, "--programs", tmp_path)
    assert result.returncode == 2 and f"the program {tmp_path}/inferd-worker cannot be executed: No such file" in result.stderr


def test_reload_refuses_a_wrong_keys_file(own_daemon):
    (own_daemon.folder / "keys.yaml").write_text("keys:\n- {name: a, sha256: xyz}\n")
    own_daemon.extra = {"auth": {"keys_file": str(own_daemon.folder / "keys.yaml")}}
    own_daemon.write_config()
    for arguments in (["--dry-run"], []):
        result = own_daemon.inferctl("reload", *arguments)
        assert result.returncode != 0 and "keys.yaml:2" in result.stderr, result.stderr
    assert own_daemon.get("/v1/models")[0] == 200, "the old configuration, without keys, goes on"


@pytest.mark.parametrize("text,words", [
    ("", "models: required key is missing"),
    ("models: []\n---\nmodels: []\n", "inferd.yaml:3: a second document"),
    ("listen: {http: 127.0.0.1:81, grpc: 127.0.0.1:81}\nmodels: []\n", "listen.grpc: 127.0.0.1:81 is taken by listen.http"),
])
def test_mistakes_that_would_go_unnoticed_are_refused(tmp_path, text, words):
    config = tmp_path / "inferd.yaml"
    config.write_text(text)
    result = inferd("--check", "--config", config)
    assert result.returncode == 2 and words in result.stderr, result.stderr


def test_the_defaults_can_be_printed_without_a_file(tmp_path):
    if os.path.exists("/etc/inferd/inferd.yaml"):
        pytest.skip("this machine has a configuration")
    result = inferd("--print-config")
    assert result.returncode == 0 and "all_bodies" in result.stdout and "defaults" in result.stderr
    assert inferd("--print-config", "--config", tmp_path / "nothing.yaml").returncode == 2, "a file that is named must be there"


@pytest.mark.parametrize("arguments", [["--print-config"], ["--print-options"], ["--check"], ["--version"]])
def test_output_that_cannot_be_written_is_a_failure(tmp_path, arguments):
    config = write(tmp_path, f"keys:\n- {{name: a, sha256: {FOO}}}\n")
    with open("/dev/full", "w") as full:
        result = subprocess.run([BIN / "inferd", "--config", config, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert result.returncode == 1 and result.stderr.startswith("inferd: "), result.stderr


@pytest.mark.parametrize("program", ["inferd", "inferctl", "inferd-gateway", "inferd-worker"])
def test_usage_errors_begin_with_the_program(program):
    result = subprocess.run([BIN / program, "--nonsense"], capture_output=True, text=True, timeout=60)
    assert result.returncode == 2 and result.stderr.startswith(f"{program}: ") and "nonsense" in result.stderr, result.stderr


@pytest.mark.parametrize("descriptor,words", [("999", "Bad file descriptor"), ("0", "non-socket"), ("socket", "does not listen")])
def test_a_gateway_names_a_descriptor_that_it_cannot_listen_on(tmp_path, descriptor, words):
    config = write(tmp_path, f"keys:\n- {{name: a, sha256: {FOO}}}\n")
    with socket.socket() as unused:
        number = str(unused.fileno()) if descriptor == "socket" else descriptor
        result = subprocess.run([BIN / "inferd-gateway", "--config", config, "--http-fd", number], stdin=subprocess.DEVNULL,
                                pass_fds=[unused.fileno()], capture_output=True, text=True, timeout=60)
    error = json.loads(result.stderr.splitlines()[-1])
    assert result.returncode == 1 and error["level"] == "error", result.stderr
    assert error["reason"].startswith(f"--http-fd {number}: ") and words in error["reason"], error
