"""What a captured process may do: attempts from inside a real worker."""
import errno
import pathlib
import socket
import subprocess
import sys

import pytest
from daemon import wait_for
from worker_process import Worker

PROBE = pathlib.Path(__file__).parent / "sandbox_probe.c"
REFUSED = {errno.EPERM, errno.EACCES}


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
