"""/metrics in the eyes of Prometheus, and the log in those of its readers."""
import shutil
import subprocess

import pytest
from daemon import of_model, samples, wait_for

LABELLED = ["inferd_requests_total", "inferd_prompt_tokens_total", "inferd_generation_tokens_total",
            "inferd_request_duration_seconds_count", "inferd_time_to_first_token_seconds_count"]


def test_promtool_finds_nothing_to_complain_about(daemon):
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed (Debian package prometheus)")
    daemon.post("/v1/completions", {"model": "smollm2", "prompt": "a", "max_tokens": 2})
    result = subprocess.run([promtool, "check", "metrics"], input=daemon.get("/metrics")[1], capture_output=True, text=True)
    assert result.returncode == 0 and not result.stderr and not result.stdout, result.stdout + result.stderr


def test_counters_count(daemon):
    before = samples(daemon)
    status, answer = daemon.post("/v1/completions", {"model": "default", "prompt": "One two three", "max_tokens": 5, "ignore_eos": True})
    assert status == 200
    after = samples(daemon)
    change = {name: of_model(after, name, "smollm2") - of_model(before, name, "smollm2") for name in LABELLED}
    assert change == {"inferd_requests_total": 1, "inferd_prompt_tokens_total": answer["usage"]["prompt_tokens"],
                      "inferd_generation_tokens_total": 5, "inferd_request_duration_seconds_count": 1,
                      "inferd_time_to_first_token_seconds_count": 1}


def test_one_log_line_a_request_with_its_id(daemon):
    daemon.post("/v1/completions", {"model": "smollm2", "prompt": "secret words", "max_tokens": 3}, {"X-Request-Id": "my-id-123"})

    def lines_of_request():
        return [line for line in daemon.log_lines() if line.get("request_id") == "my-id-123" and "gateway" in line.get("process", "")]

    lines = wait_for(lines_of_request, 10, "the log line")
    assert len(lines) == 1
    assert {"model", "prompt_tokens", "completion_tokens", "duration_ms", "tokens_per_second", "status"} <= lines[0].keys()
    assert "secret words" not in daemon.log_path.read_text()


def test_health_and_ready(daemon):
    assert daemon.get("/health")[0] == 200
    status, body = daemon.get("/ready")
    assert status == 200 and "smollm2" in body
