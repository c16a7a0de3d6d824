"""Every command in the README runs as pasted, in order, on a network and a /run of its own."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT
from daemon import BIN, wait_for

BLOCK = re.compile(r"^```(sh serve|sh|python)\n(.*?)^```$", re.M | re.S)
BUILD_COMMANDS = ("cmake -C", "ninja -C")  # the tests run from a build already


def blocks():
    return BLOCK.findall((ROOT / "README.md").read_text())


def inside(script, folder):
    """A command that runs a script with its own loopback, so that the README's ports are free, and its own /run."""
    setup = "mount -t tmpfs none /run && ip link set lo up && exec bash -euo pipefail \"$0\""
    return ["unshare", "--mount", "--net", "bash", "-c", setup, str(script)]


def test_commands_run_as_pasted(tmp_path, model_path):
    if os.geteuid() != 0 or not shutil.which("ip"):
        pytest.skip("needs root and ip (Debian package iproute2) for a network of its own")
    lines = []
    for kind, text in blocks():
        if kind == "sh serve":
            lines += [text.strip() + " 2>inferd.log &", "daemon=$!", "trap 'kill $daemon; wait $daemon' EXIT",
                      "until curl -sf http://127.0.0.1:8080/ready >/dev/null; do kill -0 $daemon; read -rt 0.1 <> <(:) || true; done"]
        elif kind == "python":
            (tmp_path / "example.py").write_text(text)
            lines.append(f"{sys.executable} example.py")
        else:
            lines.append(adapted(text, tmp_path))
    script = tmp_path / "readme.sh"
    script.write_text("\n".join(lines))
    home = tmp_path / "home"
    (home / ".cache/inferd").mkdir(parents=True)
    (home / ".cache/inferd" / "SmolLM2-135M-Instruct.Q4_1.gguf").symlink_to(model_path)
    result = subprocess.run(inside(script, tmp_path), cwd=tmp_path, capture_output=True, text=True, timeout=300,
                            env={**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", "HOME": str(home)})
    log = tmp_path / "inferd.log"
    assert result.returncode == 0, result.stdout[-2000:] + result.stderr[-2000:] + (log.read_text()[-2000:] if log.exists() else "")
    assert result.stdout.count("Paris") >= 3, result.stdout[-3000:]
    assert "data: [DONE]" in result.stdout and "inferd_requests_total" in result.stdout


def adapted(text, tmp_path):
    """The README's commands, but for the build (done already) and the place of the installation."""
    kept = [line for line in text.splitlines() if not line.startswith(BUILD_COMMANDS)]
    return "\n".join(kept).replace("build/release", str(BIN.parent)).replace("/usr/local", str(tmp_path / "prefix"))


def test_installation_is_complete(tmp_path):
    subprocess.run(["cmake", "--install", BIN.parent, "--prefix", tmp_path], check=True, capture_output=True)
    installed = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    for program in ("inferd", "inferd-gateway", "inferd-worker", "inferctl", "inferd-model"):
        assert f"bin/{program}" in installed
    assert "etc/inferd/inferd.yaml" in installed
    unit = (tmp_path / "lib/systemd/system/inferd.service").read_text()
    for installed_file in re.findall(r"^(?:ExecStart|ExecReload)=(\S+)|--config (\S+)|^Documentation=file:(\S+)", unit, re.M):
        path = pathlib.Path("".join(installed_file))
        assert path.is_absolute() and any(path.match(name) for name in installed), f"{path} of the unit is not installed"


def test_the_unit_is_sound(tmp_path):
    if not shutil.which("systemd-analyze"):
        pytest.skip("needs systemd-analyze (Debian package systemd)")
    text = (BIN.parent / "deploy/systemd/inferd.service").read_text()
    unit = tmp_path / "inferd.service"
    unit.write_text(re.sub(r"^(Exec\w+)=\S*/", rf"\1={BIN}/", re.sub(r"^Documentation=.*\n", "", text, flags=re.M), flags=re.M))
    verified = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, timeout=60)
    assert verified.returncode == 0 and "inferd.service" not in verified.stderr, verified.stderr
    exposure = subprocess.run(["systemd-analyze", "security", "--offline=true", unit], capture_output=True, text=True, timeout=60).stdout
    assert float(re.search(r"exposure level for inferd.service: ([0-9.]+)", exposure).group(1)) <= 1.0, exposure[-200:]


def test_help_of_each_program_says_what_it_is():
    for program in ("inferd", "inferd-gateway", "inferd-worker", "inferctl", "inferd-model"):
        result = subprocess.run([BIN / program, "--help"], capture_output=True, text=True, timeout=60)
        assert result.returncode == 0 and program in result.stdout, program
        assert subprocess.run([BIN / program, "--no-such-option"], capture_output=True, timeout=60).returncode == 2, program


def test_links_lead_somewhere():
    for target in re.findall(r"\]\(([^)#]+)\)", (ROOT / "README.md").read_text()):
        assert target.startswith("http") or (ROOT / pathlib.Path(target)).exists(), target
