"""inferd-model quantize: smaller models that run and predict as the source does, and every wrong input as one clear line."""
import json
import struct
import subprocess

import pytest
from conftest import ROOT
from daemon import BIN


def tool(*arguments, code=0):
    result = subprocess.run([BIN / "inferd-model", *map(str, arguments)], capture_output=True, text=True, timeout=300)
    assert result.returncode == code, result.stdout[-2000:] + result.stderr[-2000:]
    return result


def perplexity(model, text):
    return json.loads(tool("perplexity", model, "--text-file", text, "--context", 128, "--json").stdout)["perplexity"]


def types_of(model):
    tensors = json.loads(tool("inspect", model, "--json").stdout)["tensors"]
    return {tensor["name"]: tensor["type"] for tensor in tensors}


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "text"
    path.write_text((ROOT / "README.md").read_text()[:2500])
    return path


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A model of float weights, whose rows blocks of 256 divide."""
    path = tmp_path_factory.mktemp("tiny") / "tiny.gguf"
    tool("bench", "--make-model", path, "--shape", "llama-tiny", "--type", "F32", "--head-type", "F32")
    return path


# How much larger the perplexity may get; wrong scales or a wrong order of values multiply it.
@pytest.mark.parametrize("file_type,most", [("Q8_0", 1.01), ("Q4_K_M", 1.06), ("Q2_K", 1.6)])
def test_a_smaller_model_runs_and_predicts_nearly_as_well(model_path, text, tmp_path, file_type, most):
    small = tmp_path / "small.gguf"
    refused = tool("quantize", model_path, small, "--type", file_type, code=1)
    assert "already" in refused.stderr and "--allow-requantize" in refused.stderr and not small.exists()
    tool("quantize", model_path, small, "--type", file_type, "--allow-requantize")
    assert [path.name for path in tmp_path.iterdir()] == ["small.gguf"]
    assert perplexity(small, text) / perplexity(model_path, text) < most
    assert tool("run", small, "--prompt", "What is the capital of France?", "--max-tokens", 16).stdout.strip()
    types = types_of(small)
    assert types["blk.3.attn_norm.weight"] == "F32"
    if file_type == "Q4_K_M":  # rows of 576 values take blocks of 32
        assert types["blk.15.ffn_down.weight"] == "Q4_K" and types["blk.0.ffn_down.weight"] == "Q6_K"
        assert types["blk.15.attn_q.weight"] == "Q5_0" and types["token_embd.weight"] == "Q8_0"


def test_a_dry_run_tells_what_the_run_writes(tiny, tmp_path):
    arguments = ["--type", "Q4_K_M", "--tensor", "ffn_(up|gate)=Q3_K", "--tensor", "attn_k=F16", "--json"]
    dry = json.loads(tool("quantize", tiny, tmp_path / "a.gguf", *arguments, "--dry-run").stdout)
    assert list(tmp_path.iterdir()) == []
    wet = json.loads(tool("quantize", tiny, tmp_path / "a.gguf", *arguments).stdout)
    assert dry.pop("would_write") == wet.pop("written") == [str(tmp_path / "a.gguf")] and dry == wet
    assert types_of(tmp_path / "a.gguf") == {tensor["name"]: tensor["to"] for tensor in wet["tensors"]}
    assert types_of(tmp_path / "a.gguf")["blk.0.ffn_up.weight"] == "Q3_K"
    tool("verify", tmp_path / "a.gguf")


def test_the_file_is_the_same_from_parts_and_with_any_threads(tiny, tmp_path):
    tool("split", tiny, "--output", tmp_path / "in", "--max-size", tiny.stat().st_size // 3)
    first = sorted(tmp_path.glob("in-00001-*.gguf"))[0]
    tool("quantize", tiny, tmp_path / "whole.gguf", "--type", "Q5_K_S", "--threads", 1)
    tool("quantize", first, tmp_path / "of_parts.gguf", "--type", "Q5_K_S", "--threads", 5)
    whole = (tmp_path / "whole.gguf").read_bytes()
    assert whole == (tmp_path / "of_parts.gguf").read_bytes()
    tool("quantize", tiny, tmp_path / "out", "--type", "Q5_K_S", "--max-size", len(whole) // 3)
    parts = sorted(tmp_path.glob("out-*.gguf"))
    assert len(parts) > 1
    tool("merge", parts[0], "--output", tmp_path / "merged.gguf")
    assert whole == (tmp_path / "merged.gguf").read_bytes()


@pytest.mark.parametrize("file_type", ["IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ2_M", "IQ3_XXS", "IQ3_XS", "IQ3_M", "IQ4_XS",
                                       "TQ1_0", "TQ2_0", "MXFP4", "NVFP4", "Q3_K_L", "Q6_K", "BF16"])
def test_every_kind_of_file_type_runs(tiny, tmp_path, file_type):
    tool("quantize", tiny, tmp_path / "a.gguf", "--type", file_type)
    tool("verify", tmp_path / "a.gguf")


def imatrix(entries):
    """The older format: name, calls, values."""
    out = struct.pack("<i", len(entries))
    for name, values in entries.items():
        out += struct.pack("<i", len(name)) + name.encode() + struct.pack("<ii", 1, len(values)) + struct.pack(f"<{len(values)}f", *values)
    return out


def test_importance_changes_the_tensors_that_it_names(tiny, tmp_path):
    shapes = {tensor["name"]: tensor["shape"] for tensor in json.loads(tool("inspect", tiny, "--json").stdout)["tensors"]}
    name = "blk.0.ffn_up.weight"
    (tmp_path / "imatrix").write_bytes(imatrix({name: [float(i % 7) for i in range(shapes[name][0])]}))
    tool("quantize", tiny, tmp_path / "a.gguf", "--type", "Q4_K_S")
    tool("quantize", tiny, tmp_path / "b.gguf", "--type", "Q4_K_S", "--imatrix", tmp_path / "imatrix")
    assert (tmp_path / "a.gguf").read_bytes() != (tmp_path / "b.gguf").read_bytes()
    metadata = json.loads(tool("inspect", tmp_path / "b.gguf", "--json").stdout)["metadata"]
    assert metadata["quantize.imatrix.file"] == "imatrix" and metadata["quantize.imatrix.entries_count"] == 1
    assert metadata["general.file_type"] == 14 and metadata["general.quantization_version"] == 2


@pytest.mark.parametrize("arguments,words", [
    (["{tiny}", "{out}", "--type", "Q9"], "'Q9' is no file type, expected one of F32 F16"),
    (["{tiny}", "{out}", "--type", "Q8_0", "--tensor", "ffn"], "'ffn' is no choice of a type, expected REGEX=TYPE"),
    (["{tiny}", "{out}", "--type", "Q8_0", "--tensor", "ffn=Q4_K_M"], "'Q4_K_M' is no tensor type"),
    (["{tiny}", "{out}"], "--type is required"),
    (["{tiny}", "--type", "Q8_0"], "OUT is required"),
    (["{tiny}", "{out}", "--type", "Q8_0", "--threads", "-1"], "--threads"),
])
def test_a_wrong_argument_is_a_usage_error(tiny, tmp_path, arguments, words):
    result = tool("quantize", *[argument.format(tiny=tiny, out=tmp_path / "out") for argument in arguments], code=2)
    assert words in result.stderr, result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments,words", [
    (["{tiny}", "{out}", "--type", "Q8_0", "--tensor", "ffn_(=F16"], "--tensor ffn_(: "),
    (["{tiny}", "{out}", "--type", "Q8_0", "--tensor", "nowhere=F16"], "--tensor nowhere: matches no tensor"),
    (["{tiny}", "{out}", "--type", "Q8_0", "--tensor", "norm=F16"], "matches only tensors"),
    (["{folder}/none.gguf", "{out}", "--type", "Q8_0"], "none.gguf: No such file"),
    (["{text}", "{out}", "--type", "Q8_0"], "magic"),
    (["{tiny}", "{tiny}", "--type", "Q8_0"], "tiny.gguf: exists already"),
    (["{tiny}", "{folder}/no/out", "--type", "Q8_0"], "No such file or directory"),
    (["{tiny}", "/proc/out", "--type", "Q8_0"], "/proc/out"),
    (["{tiny}", "{out}", "--type", "Q8_0", "--imatrix", "{folder}/none"], "none: No such file"),
    (["{tiny}", "{out}", "--type", "Q8_0", "--imatrix", "{text}"], "is no imatrix file"),
    (["{tiny}", "{out}", "--type", "Q8_0", "--imatrix", "{other}"], "blk.99.ffn_up.weight: {tiny} has no such tensor"),
    (["{tiny}", "{out}", "--type", "Q8_0", "--imatrix", "{tiny}"], "has no entries"),
])
def test_wrong_input_is_one_line_and_no_file(tiny, text, tmp_path, tmp_path_factory, arguments, words):
    before = tiny.read_bytes()
    other = tmp_path_factory.mktemp("other") / "imatrix"
    other.write_bytes(imatrix({"blk.99.ffn_up.weight": [1.0]}))
    names = {"tiny": tiny, "out": tmp_path / "out", "folder": tmp_path, "text": text, "other": other}
    result = tool("quantize", *[argument.format(**names) for argument in arguments], code=1)
    assert words.format(**names) in result.stderr and result.stderr.count("\n") == 1, result.stderr
    assert list(tmp_path.iterdir()) == [] and tiny.read_bytes() == before
