"""inferd-model verify on files with one fault each: the message names the file, the key or tensor, and what was expected."""
import json
import subprocess

import gguf
import numpy as np
import pytest
from daemon import BIN

WIDTH, VOCABULARY = 32, 260
SHAPES = {"token_embd.weight": (VOCABULARY, WIDTH), "output_norm.weight": (WIDTH,)}
for _layer in range(2):
    SHAPES |= {f"blk.{_layer}.{name}.weight": shape for name, shape in {
        "attn_norm": (WIDTH,), "attn_q": (WIDTH, WIDTH), "attn_k": (WIDTH, WIDTH), "attn_v": (WIDTH, WIDTH),
        "attn_output": (WIDTH, WIDTH), "ffn_norm": (WIDTH,), "ffn_gate": (48, WIDTH), "ffn_up": (48, WIDTH),
        "ffn_down": (WIDTH, 48)}.items()}


def letters():
    """The byte alphabet: printable bytes stand for themselves, the others for the characters from U+0100 on."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    return [chr(byte) if byte in printable else chr(256 + others.index(byte)) for byte in range(256)]


def write(path, keys={}, shapes={}, tokenizer={}):
    """A sound model of two layers, but for what the arguments change; None leaves a thing out."""
    all_keys = {"context_length": 64, "embedding_length": WIDTH, "block_count": 2, "feed_forward_length": 48,
                "attention.head_count": 2, "attention.layer_norm_rms_epsilon": 1e-5} | keys
    words = {"pre": "gpt-2", "tokens": letters() + ["ab", "cd", "<s>", "</s>"], "merges": ["a b", "c d"],
             "template": "{{ messages[0].content }}"} | tokenizer
    writer = gguf.GGUFWriter(path, "llama")
    for key, value in all_keys.items():
        if value is None: continue
        add = {str: writer.add_string, float: writer.add_float32, int: writer.add_uint32 if value != -1 else writer.add_int32}[type(value)]
        add(f"llama.{key}", value)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(words["pre"])
    writer.add_token_list(words["tokens"])
    writer.add_token_merges(words["merges"])
    writer.add_eos_token_id(259)
    for name, number in words.get("ids", {}).items(): writer.add_uint32(f"tokenizer.ggml.{name}_token_id", number)
    writer.add_chat_template(words["template"])
    random = np.random.default_rng(1)
    for name, shape in (SHAPES | shapes).items():
        if shape is not None: writer.add_tensor(name, random.uniform(-0.2, 0.2, shape).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def verify(path):
    return subprocess.run([BIN / "inferd-model", "verify", path, "--json"], capture_output=True, text=True, timeout=120)


def test_a_sound_file_passes(tmp_path):
    write(tmp_path / "sound.gguf")
    done = verify(tmp_path / "sound.gguf")
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["ok"]


FAULTS = {
    "key missing": (dict(keys={"block_count": None}), "model", ["llama.block_count", "missing", "expected an integer"]),
    "key of another type": (dict(keys={"context_length": "64"}), "model", ["llama.context_length", "string", "expected an integer"]),
    "number out of bounds": (dict(keys={"attention.head_count": 2**31}), "model", ["attention.head_count 2147483648", "expected 1 or more"]),
    "heads that do not divide": (dict(keys={"attention.head_count_kv": 3}), "model", ["head_count_kv 3", "not a multiple"]),
    "tensor missing": (dict(shapes={"blk.1.ffn_up.weight": None}), "model", ["blk.1.ffn_up.weight", "missing"]),
    "tensor of another shape": (dict(shapes={"blk.1.ffn_up.weight": (47, WIDTH)}), "model", ["blk.1.ffn_up.weight", "32 x 47", "expected 32 x 48"]),
    "tensor without a use": (dict(shapes={"blk.0.attn_sinks.weight": (2,)}), "model", ["blk.0.attn_sinks.weight", "not used"]),
    "vocabulary unlike the embedding": (dict(tokenizer={"tokens": letters() + ["ab", "cd", "</s>"]}), "model",
                                        ["token_embd.weight", "32 x 260", "expected 32 x 259"]),
    "unknown pre-tokenizer": (dict(tokenizer={"pre": "gpt-7"}), "tokenizer", ["tokenizer.ggml.pre", "gpt-7", "expected one of: gpt-2"]),
    "merge of no tokens": (dict(tokenizer={"merges": ["a b", "ab zz"]}), "tokenizer", ["tokenizer.ggml.merges", "ab zz"]),
    "template that does not parse": (dict(tokenizer={"template": "{% if %}\n"}), "template", ["tokenizer.chat_template", "line 1", "column"]),
    "template that fails": (dict(tokenizer={"template": "{{ raise_exception('no users here') }}"}), "template", ["chat template", "no users here"]),
    "template without the message": (dict(tokenizer={"template": "Hi"}), "template", ["chat template", "not in the prompt"]),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_named(tmp_path, fault):
    changes, check, said = FAULTS[fault]
    path = tmp_path / "faulty.gguf"
    write(path, **changes)
    done = verify(path)
    assert done.returncode == 1, done.stdout + done.stderr
    last = json.loads(done.stdout)["checks"][-1]
    assert (last["check"], last["ok"]) == (check, False), last
    assert last["detail"].startswith(f"{path}: "), last
    for part in said:
        assert part in last["detail"], last


ODDITIES = {
    "padding of no token": (dict(tokenizer={"ids": {"padding": 4294967295}}), "tokenizer.ggml.padding_token_id = 4294967295"),
    "mask of the vocabulary's size": (dict(tokenizer={"ids": {"mask": VOCABULARY}}), f"tokenizer.ggml.mask_token_id = {VOCABULARY}"),
    "pooling unspecified": (dict(keys={"pooling_type": -1}), "llama.pooling_type: -1"),
    "tensor of no family": (dict(shapes={"blk.0.colour.weight": (2,)}), "tensor blk.0.colour.weight"),
    "window of another family": (dict(keys={"attention.sliding_window": 16}), "llama.attention.sliding_window: 16 is ignored"),
    "context of 2^31": (dict(keys={"context_length": 2**31}), "llama.context_length: 2147483648"),
}


@pytest.mark.parametrize("oddity", ODDITIES)
def test_what_changes_no_result_is_a_warning(tmp_path, oddity):
    changes, said = ODDITIES[oddity]
    path = tmp_path / "odd.gguf"
    write(path, **changes)
    done = verify(path)
    assert done.returncode == 0, done.stdout + done.stderr
    warnings = json.loads(done.stdout)["warnings"]
    assert len(warnings) == 1 and said in warnings[0], warnings
    plain = subprocess.run([BIN / "inferd-model", "verify", path], capture_output=True, text=True, timeout=120)
    assert f"warn   {warnings[0]}" in plain.stdout.splitlines()
