"""Models that come and go: loaded at need, judged as canaries, planned for, and watched over TLS."""
import json
import os
import subprocess
import threading

import gguf
import pytest
from conftest import smollm2
from daemon import Daemon, wait_for
from test_process_faults import metric, quick, tiny_path, worker_of  # noqa: F401  (tiny_path is a fixture)

BROKEN_TOKEN = 200


def tiny(path, **changes):
    return {"name": "tiny", "path": str(path), "context": 64, "kv_cache": {"bytes": "16MiB"}, **changes}


def complete(daemon, model, prompt, **more):
    return daemon.post("/v1/completions", {"model": model, "prompt": prompt, "max_tokens": 4, "temperature": 0, **more})


@pytest.fixture
def broken_path(tmp_path, tiny_path):  # noqa: F811
    """The small model, of which one token's embedding is not a number: a request with that token cannot be answered."""
    path = tmp_path / "broken.gguf"
    content = bytearray(open(tiny_path, "rb").read())
    reader = gguf.GGUFReader(tiny_path)
    [embedding] = [tensor for tensor in reader.tensors if tensor.name == "token_embd.weight"]
    width = int(embedding.shape[0])
    row = embedding.data_offset + BROKEN_TOKEN * width * 4
    content[row:row + width * 4] = b"\x00\x00\xc0\x7f" * width  # NaN, little-endian
    content[:4096] = content[:4096].replace(b"tiny-llama", b"tiny-other")  # a fingerprint of its own
    path.write_bytes(content)
    return path


def test_logits_that_are_not_numbers_end_the_request_alone(tmp_path, broken_path):
    with Daemon(tmp_path / ".", [tiny(broken_path)]) as daemon:
        good = complete(daemon, "tiny", [1, 5, 9])
        assert good[0] == 200
        results = []
        threads = [threading.Thread(target=lambda: results.append(complete(daemon, "tiny", [1, 5, 9]))) for _ in range(8)]
        for thread in threads:
            thread.start()
        status, body = complete(daemon, "tiny", [1, BROKEN_TOKEN])
        assert status == 500 and "request" in body["error"]["message"]
        for thread in threads:
            thread.join()
        assert all(result[1]["choices"] == good[1]["choices"] for result in results)
        assert metric(daemon, "inferd_nonfinite_logits_total") == 1
        assert worker_of(daemon, "tiny")["restarts"] == 0


def test_a_model_is_loaded_at_its_first_request_and_unloaded_when_idle(tmp_path, model_path):
    with Daemon(tmp_path, [smollm2(model_path, preload=False, idle_unload="2s")]) as daemon:
        assert worker_of(daemon, "smollm2")["state"] == "UNLOADED" and "inferd-worker" not in daemon.children()
        listed = json.loads(daemon.get("/v1/models")[1])["data"][0]
        assert listed["id"] == "smollm2" and listed["status"] == "UNLOADED"
        results = []
        threads = [threading.Thread(target=lambda: results.append(complete(daemon, "smollm2", "Hello"))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [status for status, _ in results] == [200] * 8
        assert len({json.dumps(body["choices"]) for _, body in results}) == 1
        wait_for(lambda: worker_of(daemon, "smollm2")["state"] == "UNLOADED" and "inferd-worker" not in daemon.children(), 60, "the idle model's end")
        assert daemon.is_ready()
        status, vectors = daemon.post("/v1/embeddings", {"model": "smollm2", "input": "Hello"})
        assert status == 200 and vectors["data"], vectors


def test_requests_just_when_a_model_is_unloaded_are_answered(tmp_path, tiny_path):  # noqa: F811
    with Daemon(tmp_path, [tiny(tiny_path, idle_unload="500ms")]) as daemon:
        expected = complete(daemon, "tiny", [1, 5, 9])[1]["choices"]
        unloaded = 0
        for turn in range(12):
            # From before its end to after it, in small steps.
            wait = threading.Event()
            wait.wait(0.4 + turn * 0.1)
            unloaded += worker_of(daemon, "tiny")["state"] == "UNLOADED"
            status, body = complete(daemon, "tiny", [1, 5, 9])
            assert status == 200 and body["choices"] == expected, (turn, body)
        assert unloaded > 0


def test_the_least_recently_used_model_makes_room(tmp_path, tiny_path):  # noqa: F811
    # Each takes about 5 + 16 + 96 MiB: two of three fit.
    models = [{**tiny(tiny_path), "name": name} for name in ("a", "b", "c")]
    models[0]["pinned"] = True
    with Daemon(tmp_path, models, {"supervisor": {"memory_budget": "250MiB"}}) as daemon:
        states = lambda: {worker["model"]: worker["state"] for worker in daemon.status()["workers"]}  # noqa: E731
        assert states() == {"a": "READY", "b": "READY", "c": "UNLOADED"}
        for name in ("c", "b", "c", "a"):
            status, body = complete(daemon, name, [1, 5])
            assert status == 200, body
            assert states()[name] == "READY" and states()["a"] == "READY"
            status = daemon.status()
            assert status["memory_planned_bytes"] <= status["memory_budget_bytes"] == 250 << 20
        assert daemon.is_ready() and "models take" in daemon.inferctl("status").stdout


def test_a_model_that_can_never_fit_is_a_clear_error(tmp_path, tiny_path):  # noqa: F811
    models = [{**tiny(tiny_path, pinned=True), "name": "a"}, {**tiny(tiny_path, preload=False), "name": "b"}]
    with Daemon(tmp_path, models, {"supervisor": {"memory_budget": "150MiB"}}) as daemon:
        status, body = complete(daemon, "b", [1, 5])
        assert status == 503 and "memory_budget, 150 MiB" in body["error"]["message"], body


def test_a_canary_that_fails_is_taken_back(tmp_path, tiny_path, broken_path):  # noqa: F811
    with Daemon(tmp_path, [tiny(tiny_path)]) as daemon:
        assert daemon.inferctl("load", "tiny", str(broken_path)).returncode == 0
        wrong = daemon.inferctl("traffic", "tiny", "1=50", "2=50", "--rollback-on", "error_rate>2")
        assert wrong.returncode == 2 and "error_rate>NUMBER" in wrong.stderr
        result = daemon.inferctl("traffic", "tiny", "1=50", "2=50", "--rollback-on", "error_rate>0.2", "--window", "5m")
        assert result.returncode == 0, result.stderr
        # Sticky: one user always gets the same version.
        versions = {}
        for user in range(40):
            for _ in range(2):
                status, body = complete(daemon, "tiny", [1, 5], user=f"user {user}")
                versions.setdefault(user, set()).add(body["system_fingerprint"])
        assert all(len(seen) == 1 for seen in versions.values())
        assert len(set.union(*versions.values())) == 2
        canary = wait_for(lambda: [c for c in daemon.status()["canaries"] if c["requests"] > 0], 60, "reports")[0]
        assert canary["versions"] == [2] and canary["errors"] == 0
        assert "taken back when error_rate>0.2" in daemon.inferctl("status").stdout
        for user in range(40):
            complete(daemon, "tiny", [1, BROKEN_TOKEN], user=f"user {user}")
        wait_for(lambda: daemon.status()["rollbacks"] == 1, 60, "the rollback")
        weights = {worker["version"]: worker["weight"] for worker in daemon.status()["workers"]}
        assert weights == {1: 100, 2: 0}
        assert "requests failed" in daemon.status()["last_rollback"]
        assert metric(daemon, "inferd_rollbacks_total") == 1
        assert metric(daemon, 'inferd_version_requests_total{model="tiny",result="error",version="2"}') > 0
        for user in range(20):
            assert complete(daemon, "tiny", [1, BROKEN_TOKEN], user=f"user {user}")[0] == 200


def test_a_plan_names_the_whole_file(tmp_path, model_path, tiny_path):  # noqa: F811
    with Daemon(tmp_path, [smollm2(model_path)]) as daemon:
        mib = (os.path.getsize(model_path) + (1 << 20) - 1) >> 20
        same = daemon.inferctl("load", "other", model_path, "--dry-run").stdout
        assert f"weights {mib} MiB (mapped already, not counted)" in same
        mib = (os.path.getsize(tiny_path) + (1 << 20) - 1) >> 20
        assert f"weights {mib} MiB +" in daemon.inferctl("load", "other", tiny_path, "--dry-run").stdout
        assert daemon.inferctl("load", "other", tiny_path).stdout.startswith("other: weights")


@pytest.fixture(scope="session")
def certificates(tmp_path_factory):
    """A certificate authority, the daemon's certificate for 127.0.0.1, a client's, and a stranger's."""
    folder = tmp_path_factory.mktemp("certificates")

    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    for ca in ("ca", "strange-ca"):
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", f"{ca}.key", "-out", f"{ca}.pem",
                "-days", "2", "-subj", f"/CN={ca}")
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1\n")
    for name, ca in (("daemon", "ca"), ("client", "ca"), ("stranger", "strange-ca")):
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        openssl("x509", "-req", "-in", f"{name}.csr", "-CA", f"{ca}.pem", "-CAkey", f"{ca}.key", "-CAcreateserial", "-days", "2", "-extfile", "names", "-out", f"{name}.pem")
    return folder


def test_admin_over_tcp_needs_a_certificate(tmp_path, tiny_path, certificates):  # noqa: F811
    from daemon import BIN, free_port
    port = free_port()
    tls = {"certificate": str(certificates / "daemon.pem"), "key": str(certificates / "daemon.key"), "client_ca": str(certificates / "ca.pem")}
    daemon = Daemon(tmp_path, [tiny(tiny_path)], {"admin_tls": tls}, start=False)
    config = json.loads(daemon.config_path.read_text())
    config["listen"]["admin_tcp"] = f"127.0.0.1:{port}"
    daemon.config_path.write_text(json.dumps(config))

    def ctl(*arguments):
        return subprocess.run([BIN / "inferctl", "--admin", f"127.0.0.1:{port}", *arguments], capture_output=True, text=True, timeout=60)

    def with_files(name):
        return ["--cert", certificates / f"{name}.pem", "--key", certificates / f"{name}.key", "--ca", certificates / "ca.pem"]

    with daemon:
        daemon.start()
        assert ctl(*with_files("client"), "status").stdout.startswith("inferd ")
        refused = ctl(*with_files("stranger"), "status")
        assert refused.returncode == 1 and "no inferd answers" in refused.stderr
        assert ctl("status").returncode == 2
        assert daemon.inferctl("status").returncode == 0  # the unix socket goes on
        # Started as root, the gateway has a user of its own, whose group may connect, and nobody else.
        assert os.stat(daemon.folder / "run/admin.sock").st_mode & 0o777 == (0o660 if os.geteuid() == 0 else 0o600)
    for change, words in (({"certificate": str(tmp_path / "none.pem")}, "admin_tls.certificate"), ({"key": str(daemon.config_path)}, "admin_tls.key")):
        config["admin_tls"] = {**tls, **change}
        daemon.config_path.write_text(json.dumps(config))
        result = subprocess.run([BIN / "inferd", "--config", daemon.config_path], capture_output=True, text=True, timeout=60)
        assert result.returncode in (1, 2) and words in result.stderr, result.stderr


def test_a_group_may_use_the_admin_socket(tmp_path, tiny_path):  # noqa: F811
    if os.geteuid() != 0:
        pytest.skip("needs root to give a file to a group that it is not in")
    daemon = Daemon(tmp_path, [tiny(tiny_path)], start=False)
    config = json.loads(daemon.config_path.read_text())
    config["listen"]["admin_group"] = "games"
    daemon.config_path.write_text(json.dumps(config))
    with daemon:
        daemon.start()
        run, admin = os.stat(daemon.folder / "run"), os.stat(daemon.folder / "run/admin.sock")
        import grp
        games = grp.getgrnam("games").gr_gid
        assert (run.st_gid, run.st_mode & 0o777) == (games, 0o710)
        assert (admin.st_gid, admin.st_mode & 0o777) == (games, 0o660)


def test_restarting_what_is_no_process_is_a_usage_error(tmp_path, tiny_path):  # noqa: F811
    with Daemon(tmp_path, [tiny(tiny_path)], quick()) as daemon:
        result = daemon.inferctl("restart", "tiny")
        assert result.returncode == 2 and "gateway" in result.stderr
