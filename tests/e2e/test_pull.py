"""inferd-model pull against a local server that speaks the hub's paths, breaks, lies and redirects."""
import hashlib
import http.server
import json
import subprocess
import threading

import pytest
from daemon import BIN


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    path = tmp_path_factory.mktemp("tiny") / "tiny.Q8_0.gguf"
    subprocess.run([BIN / "inferd-model", "bench", "--make-model", path, "--shape", "llama-tiny", "--type", "Q8_0"], check=True)
    return path.read_bytes()


class Hub:
    """behaviour(handler, offset) may answer in its own way and return True."""

    def __init__(self, content):
        self.content, self.etag, self.behaviour, self.requests = content, '"v1"', None, []
        hub = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                hub.requests.append((self.path, dict(self.headers)))
                wanted = self.headers.get("Range", "")
                fresh = self.headers.get("If-Range", hub.etag) == hub.etag
                offset = int(wanted[6:-1]) if wanted and fresh else 0
                if hub.behaviour and hub.behaviour(self, offset):
                    return
                if self.path.startswith("/api/models/owner/repo/tree/main"):
                    self.send_body(json.dumps(hub.listing()).encode())
                elif self.path.startswith("/owner/repo/resolve/main/"):
                    self.send_body(hub.content, offset)
                else:
                    self.send_response(404)
                    self.send_header("Content-Length", "0")
                    self.end_headers()

            def send_body(self, body, offset=0, length=None):
                if offset >= len(body) > 0:
                    self.send_response(416)
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                self.send_response(206 if offset else 200)
                if offset:
                    self.send_header("Content-Range", f"bytes {offset}-{len(body) - 1}/{len(body)}")
                self.send_header("ETag", hub.etag)
                self.send_header("Content-Length", str(length or len(body) - offset))
                self.end_headers()
                self.wfile.write(body[offset:])

        self.handler = Handler
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def listing(self):
        lfs = {"oid": hashlib.sha256(self.content).hexdigest(), "size": len(self.content)}
        return [{"type": "file", "path": "README.md", "size": 10},
                {"type": "file", "path": "tiny.Q8_0.gguf", "size": len(self.content), "lfs": lfs},
                {"type": "file", "path": "tiny.Q4_K.gguf", "size": len(self.content), "lfs": lfs}]


@pytest.fixture
def hub(tiny):
    hub = Hub(tiny)
    yield hub
    hub.server.shutdown()


def pull(hub, folder, source="hf:owner/repo:q8_0", *more):
    return subprocess.run([BIN / "inferd-model", "pull", source, "--hub", hub.address, "--output", folder, *more],
                          capture_output=True, text=True, timeout=120)


def leftovers(folder):
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_fetches_the_named_quantization(hub, tiny, tmp_path):
    result = pull(hub, tmp_path, "hf:owner/repo:q8_0", "--json")
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)[0]["sha256"] == hashlib.sha256(tiny).hexdigest()
    assert leftovers(tmp_path) == ["tiny.Q8_0.gguf"] and (tmp_path / "tiny.Q8_0.gguf").read_bytes() == tiny


def test_goes_on_where_a_broken_connection_ended(hub, tiny, tmp_path):
    def break_twice(handler, offset):
        if "/resolve/" not in handler.path or len([r for r in hub.requests if "/resolve/" in r[0]]) > 2:
            return False
        end = offset + len(tiny) // 3
        handler.send_response(206 if offset else 200)
        if offset:
            handler.send_header("Content-Range", f"bytes {offset}-{len(tiny) - 1}/{len(tiny)}")
        handler.send_header("ETag", hub.etag)
        handler.send_header("Content-Length", str(len(tiny) - offset))
        handler.end_headers()
        handler.wfile.write(tiny[offset:end])
        handler.close_connection = True
        return True

    hub.behaviour = break_twice
    assert pull(hub, tmp_path).returncode == 0
    ranges = [headers.get("Range") for path, headers in hub.requests if "/resolve/" in path]
    assert ranges == [None, f"bytes={len(tiny) // 3}-", f"bytes={len(tiny) // 3 * 2}-"]
    assert (tmp_path / "tiny.Q8_0.gguf").read_bytes() == tiny


def test_a_changed_file_is_fetched_anew(hub, tiny, tmp_path):
    (tmp_path / "tiny.Q8_0.gguf.part").write_bytes(b"old" * 100)
    (tmp_path / "tiny.Q8_0.gguf.part.etag").write_text('"v0"')
    assert pull(hub, tmp_path).returncode == 0
    assert (tmp_path / "tiny.Q8_0.gguf").read_bytes() == tiny and leftovers(tmp_path) == ["tiny.Q8_0.gguf"]


def test_gives_up_when_nothing_comes_and_keeps_the_part(hub, tmp_path):
    def always_502(handler, offset):
        if "/resolve/" not in handler.path:
            return False
        handler.send_response(502)
        handler.send_header("Content-Length", "0")
        handler.end_headers()
        return True

    hub.behaviour = always_502
    result = pull(hub, tmp_path)
    assert result.returncode == 1 and "502" in result.stderr and "gave up" in result.stderr
    assert "tiny.Q8_0.gguf" not in leftovers(tmp_path)


def test_a_lie_about_the_length_is_refused(hub, tiny, tmp_path):
    def longer(handler, offset):
        if "/resolve/" not in handler.path:
            return False
        handler.send_body(tiny + b"more", offset)
        return True

    hub.behaviour = longer
    result = pull(hub, tmp_path)
    assert result.returncode == 1 and f"expected {len(tiny)}" in result.stderr
    assert "tiny.Q8_0.gguf" not in leftovers(tmp_path)


def test_wrong_bytes_are_not_kept(hub, tiny, tmp_path):
    def flipped(handler, offset):
        if "/resolve/" not in handler.path:
            return False
        handler.send_body(tiny[:-1] + bytes([tiny[-1] ^ 1]), offset)
        return True

    hub.behaviour = flipped
    result = pull(hub, tmp_path)
    assert result.returncode == 1 and "sha256" in result.stderr and leftovers(tmp_path) == []


def test_redirects_are_followed_without_the_token(hub, tiny, tmp_path):
    other = Hub(tiny)

    def redirect(handler, offset):
        if "/resolve/" not in handler.path:
            return False
        handler.send_response(302)
        handler.send_header("Location", f"http://localhost:{other.server.server_port}{handler.path}")
        handler.send_header("Content-Length", "0")
        handler.end_headers()
        return True

    hub.behaviour = redirect
    token = tmp_path / "token"
    token.write_text("hf_secret\n")
    result = pull(hub, tmp_path / "out", "hf:owner/repo:q8_0", "--token-file", str(token))
    assert result.returncode == 0, result.stderr
    assert all(headers["Authorization"] == "Bearer hf_secret" for _, headers in hub.requests)
    assert other.requests and all("Authorization" not in headers for _, headers in other.requests)
    other.server.shutdown()


def test_endless_redirects_end(hub, tmp_path):
    def loop(handler, offset):
        handler.send_response(302)
        handler.send_header("Location", handler.path)
        handler.send_header("Content-Length", "0")
        handler.end_headers()
        return True

    hub.behaviour = loop
    result = pull(hub, tmp_path)
    assert result.returncode == 1 and "redirect" in result.stderr.lower()


def test_what_is_no_model_is_refused(hub, tmp_path):
    hub.content = b"<html>not found</html>"
    result = pull(hub, tmp_path, hub.address + "/owner/repo/resolve/main/page.gguf")
    assert result.returncode == 1 and "magic" in result.stderr and leftovers(tmp_path) == []


@pytest.mark.parametrize("source,words", [
    ("hf:owner/repo", ["2 model files match", "tiny.Q4_K.gguf"]), ("hf:owner/repo:Q2_K", ["no model file matches", "tiny.Q8_0.gguf"]),
    ("hf:nobody", ["OWNER/REPOSITORY"]), ("hf:a/../b", ["OWNER/REPOSITORY"]), ("hf:owner/missing:q", ["404"]), ("/nowhere.gguf", ["No such file"]),
])
def test_bad_sources_are_explained(hub, tmp_path, source, words):
    result = pull(hub, tmp_path, source)
    assert result.returncode == (2 if words == ["OWNER/REPOSITORY"] else 1)
    for word in words:
        assert word in result.stderr


def test_local_file_is_copied_and_checked(hub, tiny, tmp_path):
    source = tmp_path / "from.gguf"
    source.write_bytes(tiny)
    assert pull(hub, tmp_path / "to", str(source)).returncode == 0
    assert (tmp_path / "to" / "from.gguf").read_bytes() == tiny
    result = pull(hub, tmp_path / "to2", str(source), "--sha256", "0" * 64)
    assert result.returncode == 1 and "expected 0000" in result.stderr


def test_takes_hub_and_token_from_the_configuration(hub, tiny, tmp_path):
    (tmp_path / "token").write_text("hf_secret\n")
    config = tmp_path / "inferd.yaml"
    config.write_text(json.dumps({"models": [{"name": "m", "path": "m.gguf"}], "hub": {"address": hub.address, "token_file": "token"}}))
    result = subprocess.run([BIN / "inferd-model", "pull", "hf:owner/repo:q8_0", "--config", config, "--output", tmp_path / "out"],
                            capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "out" / "tiny.Q8_0.gguf").read_bytes() == tiny
    assert all(headers.get("Authorization") == "Bearer hf_secret" for _, headers in hub.requests)


def test_split_and_merge_say_what_they_wrote(tiny, tmp_path):
    def run(*arguments):
        result = subprocess.run([BIN / "inferd-model", *arguments, "--json"], capture_output=True, text=True, timeout=120)
        assert result.returncode == 0, result.stderr
        return json.loads(result.stdout)

    (tmp_path / "whole.gguf").write_bytes(tiny)
    parts = run("split", tmp_path / "whole.gguf", "--output", tmp_path / "part", "--max-size", "64KiB")["written"]
    assert len(parts) > 1 and leftovers(tmp_path) == sorted(["whole.gguf", *[path.rsplit("/", 1)[1] for path in parts]])
    assert run("merge", parts[0], "--output", tmp_path / "again.gguf") == {"written": [str(tmp_path / "again.gguf")]}
    show = lambda name: run("inspect", tmp_path / name) | {"path": ""}
    assert show("again.gguf") == show("whole.gguf")
