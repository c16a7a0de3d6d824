"""How messages become a prompt: every text of a request is in it, whatever the model's chat template knows."""
import json
import subprocess

import pytest
from conftest import BIN, ROOT, smollm2
from daemon import Daemon
from test_rerank import ARCHS, rewrite

TEMPLATES = ROOT.parent / "shared/oracles/templates"
NAMES = {"qwen2": "Qwen-Qwen2.5-7B-Instruct", "hermes": "NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use", "qwen3": "Qwen3.5-4B",
         "mistral": "mistralai-Mistral-Nemo-Instruct-2407", "gemma": "google-gemma-2-2b-it"}
SYSTEM, USER, MORE = ({"role": role, "content": content} for role, content in (("system", "wsys"), ("user", "wask"), ("user", "wmore")))
TOOL = {"type": "function", "function": {"name": "weather"}}


def call(arguments):
    return {"role": "assistant", "content": None, "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": arguments}}]}


RESULT = {"role": "tool", "tool_call_id": "call_1", "content": "wresult"}
CONVERSATIONS = {
    "developer": ([{"role": "developer", "content": "wdev"}, USER], {}, ["wdev", "wask"]),
    "function": ([USER, {"role": "assistant", "function_call": {"name": "weather", "arguments": '{"city": "wcity"}'}},
                  {"role": "function", "name": "weather", "content": "wresult"}], {}, ["wask", "wcity", "wresult"]),
    "system": ([SYSTEM, USER], {}, ["wsys", "wask"]),
    "two systems": ([SYSTEM, {"role": "system", "content": "wtwo"}, USER], {}, ["wsys", "wtwo", "wask"]),
    "system later": ([USER, {"role": "assistant", "content": "wyes"}, SYSTEM, MORE], {}, ["wask", "wyes", "wsys", "wmore"]),
    "two users": ([USER, MORE], {}, ["wask", "wmore"]),
    "assistant first": ([{"role": "assistant", "content": "whello"}, USER], {}, ["whello", "wask"]),
    "assistant last": ([USER, {"role": "assistant", "content": "wbegin"}], {}, ["wask", "wbegin"]),
    "refusal": ([USER, {"role": "assistant", "content": [{"type": "refusal", "refusal": "wno"}]}, MORE], {}, ["wask", "wno", "wmore"]),
    "parts": ([{"role": "user", "content": [{"type": "text", "text": "What is"}, {"type": "text", "text": "the best book"}]}], {}, ["What is\nthe best book"]),
    "bare tool": ([USER], {"tools": [TOOL]}, ["wask"]),
    "tool of two types": ([USER], {"tools": [{"type": "function", "function": {"name": "weather", "parameters": {
        "type": "object", "properties": {"city": {"type": ["string", "null"]}}}}}]}, ["wask"]),
    "no arguments": ([USER, call(""), RESULT], {"tools": [TOOL]}, ["wask", "weather", "wresult"]),
    "null arguments": ([USER, call(None), RESULT], {"tools": [TOOL]}, ["wask", "weather", "wresult"]),
    "cut arguments": ([USER, call('{"city": "wcit'), RESULT], {"tools": [TOOL]}, ["wask", "wcit", "wresult"]),
    "object arguments": ([USER, call({"city": "wcity"}), RESULT], {"tools": [TOOL]}, ["wask", "wcity", "wresult"]),
    "content beside calls": ([USER, call("{}") | {"content": "wlook"}, RESULT], {}, ["wask", "wlook", "weather", "wresult"]),
    "result without call": ([USER, RESULT], {}, ["wask", "wresult"]),
    "empty answer": ([USER, {"role": "assistant", "content": ""}, MORE], {}, ["wask", "wmore"]),
}


@pytest.fixture(scope="module")
def templates(tmp_path_factory):
    """A small model for each template."""
    if not TEMPLATES.exists() or not (ARCHS / "llama.gguf").exists(): pytest.skip("the oracles' files are not on this machine")
    folder = tmp_path_factory.mktemp("templates")
    models = [rewrite(ARCHS / "llama.gguf", folder / f"{name}.gguf", {"tokenizer.chat_template": (TEMPLATES / f"{file}.jinja").read_text()})
              for name, file in NAMES.items()]
    with Daemon(folder, models) as running:
        yield running


@pytest.mark.parametrize("model", NAMES)
def test_every_text_of_a_request_is_in_its_prompt(templates, model):
    for name, (messages, more, words) in CONVERSATIONS.items():
        status, body = templates.post("/apply-template", {"model": model, "messages": messages, **more})
        assert status == 200, (name, body)
        prompt = body["prompt"]
        assert all(word in prompt for word in words), (name, prompt)


def test_what_a_template_leaves_out_is_told(daemon):
    messages = [USER | {"name": "Ann"}, {"role": "assistant", "content": "wyes", "reasoning_content": "wthought"}, MORE]
    told = ["messages[0].name: the model's template does not show it", "messages[1].reasoning_content: the model's template does not show it"]
    chat = {"model": "smollm2", "messages": messages, "max_tokens": 1}
    assert daemon.post("/v1/chat/completions", chat)[1]["warnings"] == told
    assert daemon.post("/apply-template", {"model": "smollm2", "messages": messages})[1]["warnings"] == told
    many = [USER | {"name": "Ann"}, {"role": "assistant", "content": "wyes"}] * 20 + [MORE]
    warnings = daemon.post("/v1/chat/completions", {**chat, "messages": many})[1]["warnings"]
    assert len(warnings) == 16 and warnings[-1].endswith("does not show it, nor 4 texts more"), warnings


def own(model_path, template, **changes):
    return smollm2(model_path, context=128, kv_cache={"bytes": "8MiB"}, chat_template_file=str(template), **changes)


def prompt_of(daemon):
    return daemon.post("/apply-template", {"model": "smollm2", "messages": [USER]})[1]["prompt"]


def fingerprint(daemon):
    return json.loads(daemon.get("/v1/models")[1])["data"][0]["fingerprint"]


def test_an_operators_template_is_used_and_its_change_noticed(tmp_path, model_path):
    template = tmp_path / "mine.jinja"
    template.write_text("{% for m in messages %}[{{ m.role }}] {{ m.content }}\n{% endfor %}")
    with Daemon(tmp_path, [own(model_path, template)]) as daemon:
        assert prompt_of(daemon) == "[user] wask\n"
        before = fingerprint(daemon)
        assert daemon.inferctl("reload").stdout == "nothing has changed\n"
        template.write_text("{% for m in messages %}<{{ m.role }}> {{ m.content }}\n{% endfor %}")
        assert daemon.inferctl("reload").stdout == "smollm2: swapped, the file changed\n"
        assert prompt_of(daemon) == "<user> wask\n"
        assert fingerprint(daemon) != before
        template.write_text("{{ messages[0].content }}{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}")
        result = daemon.inferctl("reload")
        assert result.returncode == 1 and "chat_template_file" in result.stderr and "more than 10000000 steps" in result.stderr, result.stderr
        assert prompt_of(daemon) == "<user> wask\n", "the old worker goes on"


@pytest.mark.parametrize("content,words", [
    (None, "No such file"), ("", "is empty, expected a chat template"), ("{% if %}", "line 1"), ("{{ messages | length }}", "the text of a user's message is not in the prompt"),
    ("{{ messages[0].content }}{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}", "more than 10000000 steps")])
def test_check_names_a_template_that_is_none(tmp_path, model_path, content, words):
    template = tmp_path / "mine.jinja"
    if content is not None: template.write_text(content)
    config = tmp_path / "inferd.yaml"
    config.write_text(f"models:\n- name: smollm2\n  path: {model_path}\n  chat_template_file: mine.jinja\n")
    result = subprocess.run([BIN / "inferd", "--check", "--config", config], capture_output=True, text=True, timeout=120)
    assert result.returncode == 2 and result.stderr.startswith(f"inferd: {config}:4: model smollm2: chat_template_file: {template}: "), result.stderr
    assert words in result.stderr and len(result.stderr.splitlines()) == 1, result.stderr


@pytest.mark.parametrize("template", ["", " \n"])
def test_an_empty_template_counts_as_none(tmp_path, model_path, template):
    model = rewrite(model_path, tmp_path / "untold.gguf", {"tokenizer.chat_template": template})
    with Daemon(tmp_path, [model]) as daemon:
        assert daemon.post("/v1/completions", {"model": "untold", "prompt": "Hello", "max_tokens": 2})[0] == 200
        status, body = daemon.post("/v1/chat/completions", {"model": "untold", "messages": [USER]})
        assert status == 400 and "has no chat template" in str(body), body
