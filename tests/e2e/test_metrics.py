"""/metrics in the eyes of Prometheus, and the log in those of its readers."""
import os
import pathlib
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest
from conftest import ROOT
from daemon import Daemon, of_model, samples, wait_for

ARCHS = pathlib.Path(os.environ.get("INFERD_TEST_ARCHS", os.path.expanduser("~/.cache/inferd/archs")))
POOL = 48 << 20

LABELLED = ["inferd_requests_total", "inferd_prompt_tokens_total", "inferd_generation_tokens_total",
            "inferd_request_duration_seconds_count", "inferd_time_to_first_token_seconds_count"]


def test_promtool_finds_nothing_to_complain_about(daemon):
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed (Debian package prometheus)")
    daemon.post("/v1/completions", {"model": "smollm2", "prompt": "a", "max_tokens": 2})
    result = subprocess.run([promtool, "check", "metrics"], input=daemon.get("/metrics")[1], capture_output=True, text=True)
    assert result.returncode == 0 and not result.stderr and not result.stdout, result.stdout + result.stderr


def documented():
    """(type, labels beside model, help) by metric, of the table."""
    rows = re.findall(r"^\| (inferd_\w+) \| (\w+) \| ([\w, ]*) \| (.*) \|$", (ROOT / "gateway/metrics/README.md").read_text(), re.M)
    assert len(rows) == len({name for name, *_ in rows}) > 50
    return {name: (kind, {label for label in labels.split(", ") if label.strip()}, text) for name, kind, labels, text in rows}


def test_the_table_lists_every_metric_and_no_others(daemon):
    daemon.post("/v1/completions", {"model": "smollm2", "prompt": "a", "max_tokens": 3})
    page, table = daemon.get("/metrics")[1], documented()
    helps, kinds = (dict(re.findall(rf"^# {word} (\S+) (.*)$", page, re.M)) for word in ("HELP", "TYPE"))
    for name, text in helps.items():
        assert table[name][0] == kinds[name] and table[name][2] == text, name
    for series, labels in re.findall(r"^(inferd_\w+){(.*)} ", page, re.M):
        name = series if series in table else re.sub("_(bucket|count|sum)$", "", series)
        assert set(re.findall(r'(\w+)="', labels)) - {"le", "model"} == table[name][1], series
    sources = "".join(path.read_text() for path in (ROOT / "gateway").rglob("*.cc"))
    assert not [name for name in table if name not in helps and f'"{name}"' not in sources]


def test_counters_count(daemon):
    before = samples(daemon)
    status, answer = daemon.post("/v1/completions", {"model": "default", "prompt": "One two three", "max_tokens": 5, "ignore_eos": True})
    assert status == 200
    wanted = {"inferd_requests_total": 1, "inferd_prompt_tokens_total": answer["usage"]["prompt_tokens"],
              "inferd_generation_tokens_total": 5, "inferd_request_duration_seconds_count": 1,
              "inferd_time_to_first_token_seconds_count": 1}

    def change():
        after = samples(daemon)
        return {name: of_model(after, name, "smollm2") - of_model(before, name, "smollm2") for name in LABELLED}

    # Counted when the answer is sent, which its reader may see first.
    wait_for(lambda: change() == wanted, 60, "the counts")


def test_choices_are_sequences_of_one_request(daemon):
    wanted = {"model": "smollm2", "prompt": "1, 2, 3,", "n": 3, "max_tokens": 300, "ignore_eos": True}

    def running():
        values = samples(daemon)
        return [of_model(values, f"inferd_{what}_running", "smollm2") for what in ("requests", "sequences")]

    with ThreadPoolExecutor() as pool_of_one:
        answer = pool_of_one.submit(daemon.post, "/v1/completions", wanted)
        wait_for(lambda: running() == [1, 3], 60, "three choices at work")
        assert answer.result()[0] == 200
    wait_for(lambda: running() == [0, 0], 60, "their end")


def test_one_log_line_a_request_with_its_id(daemon):
    daemon.post("/v1/completions", {"model": "smollm2", "prompt": "secret words", "max_tokens": 3}, {"X-Request-Id": "my-id-123"})

    def lines_of_request():
        return [line for line in daemon.log_lines() if line.get("request_id") == "my-id-123" and "gateway" in line.get("process", "")]

    lines = wait_for(lines_of_request, 60, "the log line")
    assert len(lines) == 1
    assert {"model", "prompt_tokens", "completion_tokens", "duration_ms", "tokens_per_second", "status"} <= lines[0].keys()
    assert "secret words" not in daemon.log_path.read_text()


def test_health_and_ready(daemon):
    assert daemon.get("/health")[0] == 200
    status, body = daemon.get("/ready")
    assert status == 200 and "smollm2" in body


# Bytes of a page: 64 tokens of one layer's keys and values, by heads, width of a head and type (q8_0: 34 bytes for 32).
# gemma3's first layers have a window; of the others, the states take a part of the pool.
PAGES = {"llama": ("llama", "f16", 64 * 2 * 2 * 64 * 2), "llama-q8": ("llama", "q8_0", 64 * 2 * 2 * 64 * 34 // 32),
         "gemma3": ("gemma3", "f16", None), "lfm2": ("lfm2-dense", "f16", None), "mamba2": ("mamba2-dense", "f16", 0)}
STATES = {"lfm2", "mamba2"}


@pytest.mark.skipif(not (ARCHS / "gemma3.gguf").exists(), reason="the oracles' small models are not on this machine")
def test_the_bytes_of_pages_and_states_make_up_the_pool(tmp_path):
    models = [{"name": name, "path": str(ARCHS / f"{file}.gguf"), "kv_cache": {"bytes": POOL, "type": kind}}
              for name, (file, kind, _) in PAGES.items()]
    with Daemon(tmp_path, models) as running:
        values = samples(running)
    for name, (_, _, expected) in PAGES.items():
        total, pages, states = (of_model(values, f"inferd_{metric}", name) for metric in ("kv_bytes", "kv_pages", "recurrent_state_bytes"))
        page = total / pages if pages else 0
        assert expected in (None, page), name
        assert (states > 0) == (name in STATES), name
        assert total + states <= POOL and (name == "mamba2" or POOL - total - states < page), name


def test_a_draft_models_pool_and_weights_are_shown(tmp_path, model_path):
    pool = 256 << 20
    plain = {"name": "plain", "path": str(model_path), "context": 1024, "kv_cache": {"bytes": pool}}
    another, same = tmp_path / "another.gguf", tmp_path / "same.gguf"
    shutil.copy(model_path, another)
    same.symlink_to(model_path)
    guessing, itself = (plain | {"name": name, "speculation": {"kind": "draft", "draft_path": str(path)}}
                        for name, path in (("guessing", another), ("itself", same)))
    wanted = {"model": "guessing", "prompt": "1, 2, 3,", "max_tokens": 400, "ignore_eos": True, "temperature": 0}
    with Daemon(tmp_path, [plain, guessing, itself]) as running, ThreadPoolExecutor() as pool_of_one:
        def value(metric, model="guessing"):
            return of_model(samples(running), f"inferd_{metric}", model)

        assert value("draft_kv_bytes", "plain") == value("draft_kv_pages", "plain") == 0
        assert value("draft_kv_bytes") / value("draft_kv_pages") == value("kv_bytes") / value("kv_pages"), "the same model, so the same pages"
        assert 0 < value("draft_kv_bytes") <= pool / 8
        assert value("weights_bytes") == 2 * value("weights_bytes", "plain") == 2 * os.path.getsize(model_path)
        assert value("weights_bytes", "itself") == value("weights_bytes", "plain"), "one file is in memory once"
        answer = pool_of_one.submit(running.post, "/v1/completions", wanted)
        assert wait_for(lambda: value("draft_kv_pages_used"), 60, "guesses") > 0
        assert answer.result()[0] == 200
