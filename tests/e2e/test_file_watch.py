"""Model files that change, go and come back under a running daemon."""
import os
import shutil

import pytest
from daemon import Daemon, wait_for
from test_process_faults import TINY_PROMPT, tiny_path, worker_of  # noqa: F401 (a fixture)


def tiny(path, **changes):
    return {"name": "tiny", "path": str(path), "context": 64, "kv_cache": {"bytes": "16MiB"}, **changes}


def said(daemon, words):
    return any(words in line.get("message", "") or words in str(line) for line in daemon.log_lines())


def overwrite(path, change):
    """In place: the file stays the same one, its last weights are others."""
    with open(path, "r+b") as file:
        file.seek(-64, os.SEEK_END)
        file.write(change * 64)


def ask(daemon):
    return daemon.post("/v1/completions", TINY_PROMPT)


def test_a_file_overwritten_in_place_is_reloaded(tmp_path, tiny_path):  # noqa: F811
    path = tmp_path / "model.gguf"
    shutil.copyfile(tiny_path, path)
    with Daemon(tmp_path, [tiny(path)]) as daemon:
        before = worker_of(daemon, "tiny")
        overwrite(path, b"\0")
        after = wait_for(lambda: (w := worker_of(daemon, "tiny"))["version"] > before["version"] and w["state"] == "READY" and w, 60, "the new version")
        assert after["pid"] != before["pid"] and said(daemon, "overwritten in place")
        assert ask(daemon)[0] == 200


def test_a_file_overwritten_by_rubbish_ends_the_service_and_a_good_one_brings_it_back(tmp_path, tiny_path):  # noqa: F811
    path = tmp_path / "model.gguf"
    shutil.copyfile(tiny_path, path)
    with Daemon(tmp_path, [tiny(path)]) as daemon:
        with open(path, "r+b") as file:
            file.write(b"rubbish" * 100)
        wait_for(lambda: daemon.get("/ready")[0] == 503, 60, "the end of the service")
        status, answer = ask(daemon)
        assert status == 503, answer
        assert said(daemon, "not loaded")
        with open(path, "r+b") as file, open(tiny_path, "rb") as good:
            file.write(good.read(700))
        assert daemon.inferctl("reload").returncode == 0
        assert ask(daemon)[0] == 200


@pytest.mark.parametrize("choice", ["refuse", "warn"])
def test_what_is_configured_happens(tmp_path, tiny_path, choice):  # noqa: F811
    path = tmp_path / "model.gguf"
    shutil.copyfile(tiny_path, path)
    with Daemon(tmp_path, [tiny(path, on_file_change=choice)]) as daemon:
        before = worker_of(daemon, "tiny")
        overwrite(path, b"\0")
        wait_for(lambda: said(daemon, "overwritten in place"), 60, "the warning")
        if choice == "refuse":
            wait_for(lambda: ask(daemon)[0] == 503, 60, "the refusal")
        else:
            assert ask(daemon)[0] == 200 and worker_of(daemon, "tiny")["pid"] == before["pid"]
            assert worker_of(daemon, "tiny")["file_change"] == "overwritten"
            assert f"tiny@{before['version']}: {path} is overwritten" in daemon.inferctl("status").stdout


def test_a_file_that_is_replaced_waits_for_a_reload(tmp_path, tiny_path):  # noqa: F811
    path = tmp_path / "model.gguf"
    shutil.copyfile(tiny_path, path)
    with Daemon(tmp_path, [tiny(path)]) as daemon:
        before, answer = worker_of(daemon, "tiny"), ask(daemon)[1]["choices"]
        shutil.copyfile(tiny_path, tmp_path / "next.gguf")
        os.rename(tmp_path / "next.gguf", path)
        wait_for(lambda: said(daemon, "a reload serves the new one"), 60, "the note")
        assert worker_of(daemon, "tiny")["pid"] == before["pid"] and ask(daemon)[1]["choices"] == answer
        assert worker_of(daemon, "tiny")["file_change"] == "replaced"
        assert daemon.inferctl("reload").returncode == 0
        assert worker_of(daemon, "tiny")["version"] == before["version"] + 1
        assert not worker_of(daemon, "tiny").get("file_change")


def test_a_failed_model_serves_when_its_file_comes(tmp_path, tiny_path):  # noqa: F811
    path = tmp_path / "model.gguf"
    with Daemon(tmp_path, [tiny(path)], start=False) as daemon:
        daemon.start(ready=False)
        wait_for(lambda: daemon.get("/health")[0] == 200 and worker_of(daemon, "tiny")["state"] == "FAILED", 60, "FAILED")
        shutil.copyfile(tiny_path, path)
        wait_for(lambda: ask(daemon)[0] == 200, 60, "an answer")


def test_a_failed_model_serves_when_its_file_is_back(tmp_path, tiny_path):  # noqa: F811
    path = tmp_path / "model.gguf"
    shutil.copyfile(tiny_path, path)
    with Daemon(tmp_path, [tiny(path)]) as daemon:
        answer = ask(daemon)[1]["choices"]
        os.rename(path, tmp_path / "away.gguf")
        os.kill(worker_of(daemon, "tiny")["pid"], 9)
        wait_for(lambda: worker_of(daemon, "tiny")["state"] == "FAILED", 60, "FAILED")
        wait_for(lambda: said(daemon, "cannot be read"), 60, "the note")
        os.rename(tmp_path / "away.gguf", path)
        wait_for(lambda: ask(daemon)[0] == 200, 60, "an answer")
        assert ask(daemon)[1]["choices"] == answer
