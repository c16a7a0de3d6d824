"""What a captured process may do: attempts from inside a real worker, and what the kernel says of each process."""
import errno
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile

import pytest
from daemon import BIN, Daemon, wait_for
from worker_process import Worker

PROBE = pathlib.Path(__file__).parent / "sandbox_probe.c"
REFUSED = {errno.EPERM, errno.EACCES}


def status_of(pid):
    """Fields of /proc/PID/status, the same for all threads of the process."""
    threads = [dict(line.split(":\t", 1) for line in pathlib.Path(f"/proc/{pid}/task/{thread}/status").read_text().splitlines()
                    if ":\t" in line) for thread in os.listdir(f"/proc/{pid}/task")]
    for field in ("NoNewPrivs", "Seccomp", "Seccomp_filters", "CapEff", "CapPrm"):
        assert len({thread[field] for thread in threads}) == 1, (field, [thread[field] for thread in threads])
    return threads[0]


def test_attempts_from_inside_a_worker_are_refused_while_it_loads_and_when_it_serves(tmp_path, model_path, protos, monkeypatch):
    library = tmp_path / "probe.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, PROBE], check=True)
    target = tmp_path / "elsewhere" / "file"
    target.parent.mkdir()
    target.write_text("whole")
    target.chmod(0o640)
    victim = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket(socket.AF_UNIX) as admin:
        admin.bind(str(tmp_path / "admin.sock"))
        admin.listen()
        for name, value in {"LD_PRELOAD": library, "PROBE_OUTPUT": tmp_path / "attempts", "PROBE_VICTIM": victim.pid,
                            "PROBE_FILE": target, "PROBE_PORT": listener.getsockname()[1],
                            "PROBE_ADMIN": tmp_path / "admin.sock"}.items():
            monkeypatch.setenv(name, str(value))
        folder = tmp_path / "worker"
        folder.mkdir()
        worker = Worker(folder, model_path, protos, start=False, kv_cache={"bytes": "64MiB"})
        worker.start()
        monkeypatch.delenv("LD_PRELOAD")
        with worker:
            worker.wait_until_serving()
            attempts = lambda: [line.split() for line in (tmp_path / "attempts").read_text().splitlines()]
            wait_for(lambda: worker.health() == "SERVING" and ["ready", "end"] in [line[:2] for line in attempts()], what="attempts")
            assert worker.process.poll() is None
        allowed = [f"{stage} {name} {errno.errorcode.get(int(number), number)}" for stage, name, number in attempts()
                   if int(number) not in REFUSED and name != "end"]
        assert allowed == []
        names = {stage: [name for at, name, _ in attempts() if at == stage] for stage in ("loading", "ready")}
        assert len(names["loading"]) > 30 and names["loading"] == names["ready"]
        for server in (listener, admin):
            server.setblocking(False)
            with pytest.raises(BlockingIOError):
                server.accept()
    assert victim.poll() is None and target.read_text() == "whole" and target.stat().st_mode & 0o777 == 0o640
    victim.communicate(b"\n")


CAPABILITIES = {"CAP_DAC_READ_SEARCH": 1 << 2, "CAP_KILL": 1 << 5, "CAP_SETGID": 1 << 6, "CAP_SETUID": 1 << 7}
FIRST_USER = 60600
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only a daemon that is root gives its children users")


def processes(daemon):
    status = daemon.status()
    workers = {f"worker {worker['model']}": worker["pid"] for worker in status["workers"]}
    return {"supervisor": status["pid"], "gateway": status["gateway"]["pid"], **workers}


def ids(pid):
    """User and group, and further groups, as the kernel has them."""
    fields = status_of(pid)
    users, groups = (set(map(int, fields[name].split())) for name in ("Uid", "Gid"))
    assert len(users) == len(groups) == 1, fields
    return users.pop(), groups.pop(), set(map(int, fields["Groups"].split()))


def connect_as(path, user, group):
    """What somebody else is told who connects and waits for an answer."""
    script = ("import os, socket, sys; os.setgroups([]); os.setgid(%d); os.setuid(%d)\n"
              "peer = socket.socket(socket.AF_UNIX)\n"
              "try: peer.connect(sys.argv[1]); print(len(peer.recv(9)))\n"
              "except OSError as error: print(type(error).__name__)" % (group, user))
    return subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def open_folder():
    """That everybody can enter, unlike pytest's."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield pathlib.Path(folder)


def test_each_process_has_a_filter_few_capabilities_and_no_core_file(tmp_path, model_path):
    with Daemon(tmp_path, [{"name": "m", "path": str(model_path), "kv_cache": {"bytes": "64MiB"}}]) as daemon:
        pids = processes(daemon)
        allowed = {"supervisor": set(CAPABILITIES), "gateway": {"CAP_DAC_READ_SEARCH"}, "worker m": {"CAP_DAC_READ_SEARCH"}}
        for name, pid in pids.items():
            fields = status_of(pid)
            assert (fields["Seccomp"], fields["NoNewPrivs"]) == ("2", "1"), (name, fields)
            mask = sum(CAPABILITIES[each] for each in allowed[name]) if os.geteuid() == 0 else 0
            assert int(fields["CapEff"], 16) & ~mask == 0 and int(fields["CapPrm"], 16) & ~mask == 0, (name, fields["CapEff"])
            limits = pathlib.Path(f"/proc/{pid}/limits").read_text()
            core = next(line for line in limits.splitlines() if line.startswith("Max core file size"))
            assert core.split()[4:6] == ["0", "0"], (name, core)
        # Filters add up: the supervisor's, and a child's own.
        count = {name: int(status_of(pid)["Seccomp_filters"]) for name, pid in pids.items()}
        assert count == {"supervisor": 1, "gateway": 2, "worker m": 3}
        told = {line["process"]: line for line in daemon.log_lines() if line["message"] == "sandbox"}
        assert set(told) == {"inferd-gateway", "worker m"} and all(line["enabled"] for line in told.values()), told


@as_root
def test_each_child_of_a_daemon_that_is_root_has_a_user_of_its_own(open_folder, model_path):
    private = open_folder / "private" / "model.gguf"  # that only root can read
    private.parent.mkdir(mode=0o700)
    private.write_bytes(pathlib.Path(model_path).read_bytes())
    private.chmod(0o600)
    models = [{"name": name, "path": str(path), "kv_cache": {"bytes": "64MiB"}}
              for name, path in (("one", private), ("two", model_path))]
    with Daemon(open_folder, models) as daemon:
        pids = processes(daemon)
        found = {name: ids(pid) for name, pid in pids.items()}
        assert found["supervisor"][0] == 0 and found["gateway"] == (FIRST_USER, FIRST_USER, set())
        workers = [found["worker one"][0], found["worker two"][0]]
        assert len(set(workers)) == 2 and min(workers) > FIRST_USER + 1
        assert all(found[f"worker {name}"] == (user, user, set()) for name, user in zip(("one", "two"), workers))
        for model in ("one", "two"):
            assert daemon.post("/v1/completions", {"model": model, "prompt": "x", "max_tokens": 2})[0] == 200
        # One of them is killed: the next has the same user, and the same socket.
        os.kill(pids["worker one"], signal.SIGKILL)
        wait_for(lambda: processes(daemon)["worker one"] not in (0, -1, pids["worker one"]) and daemon.is_ready(), what="a restart")
        assert ids(processes(daemon)["worker one"])[0] == workers[0]
        assert daemon.post("/v1/completions", {"model": "one", "prompt": "x", "max_tokens": 2})[0] == 200
        # A worker's user reaches neither the admin socket nor other workers; who is of the gateway's group but is not
        # the gateway is hung up on.
        admin, socket_of_two = str(open_folder / "run/admin.sock"), str(next((open_folder / "run/w").glob("two-*.sock")))
        assert connect_as(admin, workers[0], workers[0]) == "PermissionError"
        assert connect_as(socket_of_two, workers[0], workers[0]) == "PermissionError"
        assert connect_as(admin, 61000, FIRST_USER) in ("0", "ConnectionResetError")
        assert any(line["message"] == "admin connection refused" for line in daemon.log_lines())
        assert daemon.inferctl("status").returncode == 0
    check = subprocess.run([BIN / "inferd", "--check", "--config", daemon.config_path], capture_output=True, text=True)
    assert (check.returncode, check.stderr) == (0, "")


@as_root
def test_children_share_the_user_of_the_daemon_where_that_is_wanted(tmp_path, model_path):
    with Daemon(tmp_path, [{"name": "m", "path": str(model_path), "kv_cache": {"bytes": "64MiB"}}], start=False) as daemon:
        daemon.start(arguments=["--first-user", "0"])
        assert {ids(pid)[0] for pid in processes(daemon).values()} == {0}
        assert any(line["message"] == "children run as root" for line in daemon.log_lines())
