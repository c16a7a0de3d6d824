"""Fixtures of the end-to-end tests: the real model, a daemon for the whole session, gRPC stubs."""
import importlib
import os
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from daemon import BIN, Daemon

ROOT = pathlib.Path(__file__).resolve().parents[2]
ORACLES = ROOT.parent / "shared" / "oracles"


def pytest_addoption(parser):
    parser.addoption("--long", action="store_true", help="also run the tests that take many minutes")


def pytest_collection_modifyitems(config, items):
    for item in items:
        if "long" not in item.keywords:
            item.add_marker(pytest.mark.timeout(300))  # a test that hangs is a failure with its name, not a run without end
        elif config.getoption("--long"):
            item.add_marker(pytest.mark.timeout(3600))
        else:
            item.add_marker(pytest.mark.skip(reason="takes many minutes: run with --long"))


def pytest_configure(config):
    config.addinivalue_line("markers", "long: takes many minutes; runs with --long")


@pytest.fixture(scope="session")
def model_path():
    path = os.environ.get("INFERD_TEST_MODEL", os.path.expanduser("~/.cache/inferd/SmolLM2-135M-Instruct.Q4_1.gguf"))
    if not os.path.exists(path):
        pytest.skip(f"the default model is not at {path}: tests/run.sh fetches it")
    return path


def smollm2(path, **changes):
    return {"name": "smollm2", "path": path, "aliases": ["default"], "context": 2048,
            "kv_cache": {"bytes": "256MiB"}, **changes}


@pytest.fixture(scope="session")
def daemon(tmp_path_factory, model_path):
    with Daemon(tmp_path_factory.mktemp("daemon"), [smollm2(model_path)]) as running:
        yield running
        assert running.process.poll() is None, running.log_path.read_text()[-2000:]


@pytest.fixture
def own_daemon(tmp_path, model_path):
    """A daemon of one test, for tests that break it."""
    running = Daemon(tmp_path, [smollm2(model_path)])
    yield running
    if running.process.poll() is None:
        running.stop()


@pytest.fixture(scope="session")
def protos(tmp_path_factory):
    """The generated Python modules: protos.inference, protos.inference_grpc, protos.admin, ..."""
    out = tmp_path_factory.mktemp("protos")
    names = ["inference", "worker", "admin"]
    subprocess.run([sys.executable, "-m", "grpc_tools.protoc", f"-I{ROOT}/proto", f"--python_out={out}", f"--grpc_python_out={out}",
                    *[f"inferd/v1/{name}.proto" for name in names]], check=True)
    sys.path.insert(0, str(out))

    class Modules:
        pass

    for name in names:
        setattr(Modules, name, importlib.import_module(f"inferd.v1.{name}_pb2"))
        setattr(Modules, name + "_grpc", importlib.import_module(f"inferd.v1.{name}_pb2_grpc"))
    return Modules


@pytest.fixture(scope="session")
def programs():
    return BIN
