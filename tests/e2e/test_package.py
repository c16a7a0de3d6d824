"""The Debian package and the archive, made of the build that the tests use."""
import gzip
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import urllib.request

import pytest
from daemon import BIN, BUILD, free_ports, wait_for

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = ("inferd", "inferd-gateway", "inferd-worker", "inferctl", "inferd-model")
pytestmark = pytest.mark.skipif(not shutil.which("dh"), reason="needs debhelper (Debian package)")


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("package")
    made = subprocess.run([ROOT / "deploy/package.sh", "--build", BUILD, "--output", folder], capture_output=True, text=True, timeout=600)
    assert made.returncode == 0, made.stderr
    return folder


@pytest.fixture(scope="module")
def root(packed, tmp_path_factory):
    """The files of the package, as if installed."""
    root = tmp_path_factory.mktemp("root")
    subprocess.run(["dpkg-deb", "-x", *packed.glob("*.deb"), root], check=True)
    return root


def test_lintian_finds_nothing(packed):
    if not shutil.which("lintian"):
        pytest.skip("needs lintian (Debian package)")
    found = subprocess.run(["lintian", "--allow-root", "--fail-on", "error,warning", *packed.glob("*.deb")], capture_output=True, text=True)
    assert found.returncode == 0, found.stdout


def test_the_package_has_what_it_should(packed, root):
    (package,) = packed.glob("*.deb")
    assert subprocess.run(["dpkg-deb", "--info", package, "conffiles"], capture_output=True, text=True).stdout.split() == ["/etc/inferd/inferd.yaml"]
    for program in PROGRAMS:
        assert os.access(root / "usr/bin" / program, os.X_OK)
    unit = (root / "lib/systemd/system/inferd.service").read_text()
    assert "ExecStart=/usr/bin/inferd --config /etc/inferd/inferd.yaml\n" in unit and "User=inferd\n" in unit and "/usr/local" not in unit
    assert "u inferd -" in (root / "usr/lib/sysusers.d/inferd.conf").read_text()
    assert "d /var/lib/inferd/models " in (root / "usr/lib/tmpfiles.d/inferd.conf").read_text()
    # Nothing says where it was built.
    for path in root.rglob("*"):
        if path.is_file() and path.suffix in (".gz", ".yaml", ".service", ".conf"):
            data = path.read_bytes()
            assert str(BUILD).encode() not in (gzip.decompress(data) if path.suffix == ".gz" else data), path


def options_of(program, verb=None):
    told = json.loads(subprocess.run([BIN / program, "--describe-command-line"], capture_output=True, check=True, text=True).stdout)
    command = told if verb is None else next(v for v in told["verbs"] if v["name"] == verb)
    return [name for option in command["options"] for name in option["names"] if name.startswith("--")], [v["name"] for v in told["verbs"]]


@pytest.mark.parametrize("program", PROGRAMS)
def test_man_pages_name_every_option_and_verb(root, program):
    (page,) = (root / "usr/share/man").glob(f"man*/{program}.[18].gz")
    source = gzip.decompress(page.read_bytes()).decode()
    warnings = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z"], input=source, capture_output=True, text=True).stderr
    assert warnings == ""
    text = source.replace("\\-", "-")
    options, verbs = options_of(program)
    for verb in verbs:
        options += options_of(program, verb)[0]
        assert f'.SS "{verb}"' in text
    assert all(f"\\fB{option}\\fR" in text for option in options if option != "--help")


def test_the_configurations_page_has_every_option(root):
    page = gzip.decompress((root / "usr/share/man/man5/inferd.yaml.5.gz").read_bytes()).decode().replace("\\-", "-")
    reference = subprocess.run([BIN / "inferd", "--print-options"], capture_output=True, check=True, text=True).stdout
    keys = re.findall(r"^ *(?:- )?([a-z_]+):", reference, re.M)
    assert len(keys) > 60 and all(re.search(rf"^ *(?:- )?{key}:", page, re.M) for key in keys)


def completed(root, words):
    """What bash offers for the last of these words."""
    script = (f"source {root}/usr/share/bash-completion/completions/{words[0]}\n"
              f"COMP_WORDS=({' '.join(word or chr(34) * 2 for word in words)}); COMP_CWORD={len(words) - 1}\n"
              f"_{words[0].replace('-', '_')}; printf '%s\\n' \"${{COMPREPLY[@]}}\"")
    return set(subprocess.run(["bash", "-eu", "-c", script], capture_output=True, check=True, text=True).stdout.split())


def test_bash_completes_options_verbs_and_choices(root):
    assert completed(root, ["inferctl", "st"]) == {"status"}
    assert {"--help", "--json"} <= completed(root, ["inferctl", "status", "--"])
    assert "--json" not in completed(root, ["inferctl", "--"])
    assert completed(root, ["inferd", "--print-o"]) == {"--print-options"}
    for program in PROGRAMS:
        options, verbs = options_of(program)
        assert completed(root, [program, ""]) >= {*options, *verbs}


@pytest.mark.parametrize("shell,folder", [("zsh", "zsh/vendor-completions"), ("fish", "fish/vendor_completions.d")])
def test_other_shells_take_their_completions(root, shell, folder):
    files = sorted((root / "usr/share" / folder).iterdir())
    assert len(files) == len(PROGRAMS)
    if not shutil.which(shell):
        pytest.skip(f"needs {shell}")
    for file in files:
        assert subprocess.run([shell, "-n", file], capture_output=True, text=True).stderr == ""


def test_the_archive_serves_from_any_folder(packed, tmp_path, model_path):
    subprocess.run(["tar", "-xzf", *packed.glob("*.tar.gz"), "-C", tmp_path], check=True)
    (folder,) = tmp_path.iterdir()
    models = tmp_path / "models"
    models.mkdir()
    (models / "smol.gguf").symlink_to(model_path)
    http, grpc = free_ports(2)
    config = tmp_path / "inferd.yaml"
    config.write_text(f"listen: {{http: '127.0.0.1:{http}', grpc: '127.0.0.1:{grpc}'}}\nrun_directory: {tmp_path}/run\nmodels_directory: models\n")
    with open(tmp_path / "log", "wb") as log:
        daemon = subprocess.Popen([folder / "bin/inferd", "--config", config], stderr=log, cwd="/")
    try:
        def answers():
            assert daemon.poll() is None, (tmp_path / "log").read_text()
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", http)) == 0
        wait_for(answers, what="the daemon")
        body = json.dumps({"model": "smol", "prompt": "The sea", "max_tokens": 3}).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{http}/v1/completions", body, {"Content-Type": "application/json"})
        assert json.load(urllib.request.urlopen(request, timeout=120))["choices"][0]["text"]
    finally:
        daemon.terminate()
        daemon.wait(60)


@pytest.mark.parametrize("arguments,text", [(["--nonsense"], "--nonsense: unknown"), (["--build"], "--build: needs a folder"),
                                            (["--build", "/nowhere"], "/nowhere/bin/inferd: is not there")])
def test_wrong_arguments_are_named(arguments, text):
    result = subprocess.run([ROOT / "deploy/package.sh", *arguments], capture_output=True, text=True)
    assert result.returncode == 1 and text in result.stderr
