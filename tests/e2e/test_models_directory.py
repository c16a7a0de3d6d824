"""models_directory: the GGUF files of a folder are models, without a line of configuration for each."""
import json
import os
import pathlib
import subprocess

from daemon import BIN, Daemon


def ask(daemon, model):
    return daemon.post("/v1/completions", {"model": model, "prompt": "The sea", "max_tokens": 4, "temperature": 0})


def models_of(daemon):
    return sorted(entry["id"] for entry in json.loads(daemon.get("/v1/models")[1])["data"])


def control(daemon, *arguments):
    return subprocess.run([BIN / "inferctl", "--admin", daemon.admin, *arguments], capture_output=True, text=True, timeout=120)


def test_files_of_a_folder_are_models(tmp_path, model_path):
    folder = tmp_path / "models"
    folder.mkdir()
    name = pathlib.Path(model_path).stem
    os.symlink(model_path, folder / f"{name}.gguf")
    (folder / "README.txt").write_text("no model")
    with Daemon(tmp_path, [], {"models_directory": "models"}) as daemon:
        assert models_of(daemon) == [name]
        status, answer = ask(daemon, name)
        assert status == 200 and answer["choices"][0]["text"]

        os.symlink(model_path, folder / "second model.gguf")
        assert control(daemon, "reload").returncode == 0
        assert models_of(daemon) == [name, "second-model"]
        assert ask(daemon, "second-model")[1]["choices"] == answer["choices"]

        # A faulty file is its model's fault alone, and a check names it.
        (folder / "broken.gguf").write_text("<html>not found</html>")
        check = subprocess.run([BIN / "inferd", "--check", "--config", daemon.config_path], capture_output=True, text=True)
        assert check.returncode != 0 and "model broken: " in check.stderr and "is no GGUF file" in check.stderr, check.stderr
        assert control(daemon, "reload").returncode == 0
        assert ask(daemon, "broken")[0] in (500, 503) and ask(daemon, name)[1]["choices"] == answer["choices"]

        for file in ("broken.gguf", "second model.gguf"):
            (folder / file).unlink()
        assert control(daemon, "reload").returncode == 0
        assert models_of(daemon) == [name] and ask(daemon, "second-model")[0] == 404


def test_a_folder_that_is_not_there_is_named_with_its_line(tmp_path):
    config = tmp_path / "inferd.yaml"
    config.write_text("# first line\nmodels_directory: gone\n")
    check = subprocess.run([BIN / "inferd", "--check", "--config", config], capture_output=True, text=True)
    assert check.returncode == 2 and f"inferd.yaml:2: models_directory: {tmp_path}/gone: No such file" in check.stderr, check.stderr
