"""What a swap or reload tells: plan, progress, and which file answers."""
import json
import os

import pytest
from daemon import Daemon
from test_process_faults import tiny_path  # noqa: F401  (tiny_path is a fixture)
from test_processes_models import complete, tiny


@pytest.fixture
def copied(tmp_path, tiny_path):  # noqa: F811
    """The small model in a file of its own, and a function that replaces it with one byte in the middle changed."""
    path = tmp_path / "model.gguf"
    content = bytearray(open(tiny_path, "rb").read())
    path.write_bytes(content)

    def change():
        content[len(content) // 2] ^= 0x08
        new = tmp_path / "new.gguf"
        new.write_bytes(content)
        os.utime(new, ns=(os.stat(path).st_atime_ns, os.stat(path).st_mtime_ns))
        os.rename(new, path)

    return path, change


def listed(daemon, name):
    return next(model for model in json.loads(daemon.get("/v1/models")[1])["data"] if model["id"] == name)


def test_weights_that_changed_have_another_fingerprint(tmp_path, copied):
    path, change = copied
    with Daemon(tmp_path, [tiny(path)]) as daemon:
        before = listed(daemon, "tiny")
        assert complete(daemon, "tiny", [1, 5, 9])[1]["system_fingerprint"] == before["fingerprint"]
        assert daemon.inferctl("swap", "tiny").returncode == 0
        assert listed(daemon, "tiny")["fingerprint"] == before["fingerprint"]  # the same file
        change()
        assert daemon.inferctl("reload", "--dry-run").stdout == "tiny: swapped, the file changed\n"
        assert daemon.inferctl("reload").returncode == 0
        after = listed(daemon, "tiny")
        assert after["fingerprint"] != before["fingerprint"] and after["updated_at"] >= before["updated_at"]
        assert complete(daemon, "tiny", [1, 5, 9])[1]["system_fingerprint"] == after["fingerprint"]


def test_a_draft_model_is_planned_for_and_its_replacement_is_noticed(tmp_path, tiny_path, copied):  # noqa: F811
    draft, change = copied
    model = tiny(tiny_path, speculation={"kind": "draft", "draft_path": str(draft)})
    with Daemon(tmp_path, [model]) as daemon:
        expected = complete(daemon, "tiny", [1, 5, 9])[1]["choices"]
        plan = daemon.inferctl("swap", "tiny", "--dry-run").stdout
        assert "the draft model's included" in plan and "KV pool 18 MiB" in plan, plan
        assert daemon.inferctl("reload").stdout == "nothing has changed\n"
        change()
        assert daemon.inferctl("reload").stdout == "tiny: swapped, the file changed\n"
        assert complete(daemon, "tiny", [1, 5, 9])[1]["choices"] == expected  # a draft changes no answer
        os.remove(draft)
        result = daemon.inferctl("reload")
        assert result.returncode == 1 and "speculation.draft_path" in result.stderr


def test_a_swap_tells_its_progress(tmp_path, tiny_path):  # noqa: F811
    with Daemon(tmp_path, [tiny(tiny_path)]) as daemon:
        result = daemon.inferctl("swap", "tiny")
        assert result.returncode == 0 and "tiny@2: READY" in result.stderr.splitlines(), result
        assert result.stdout.startswith("tiny: weights") and "tiny@2 serves" in result.stdout
        result = daemon.inferctl("drain", "tiny")
        assert result.returncode == 0 and result.stdout == "drained, 0 requests did not end in time\n"
        result = daemon.inferctl("load", "tiny")
        assert result.returncode == 0 and daemon.is_ready()
        result = daemon.inferctl("unload", "tiny")
        assert result.returncode == 0 and {"tiny@2: DRAINING", "tiny@2: gone"} & set(result.stderr.splitlines()), result
