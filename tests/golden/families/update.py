#!/usr/bin/env python3
"""Writes NAME.json for each family: metadata and tensor shapes of a tiny model, tokens, and what llama.cpp makes of them.

    update.py [NAME...]      (needs: pip install numpy gguf cffi llama-cpp-py-sync==0.11739)

LLAMA_LIBRARIES names a folder with llama.cpp's libraries where those of the package do not load.

The shapes are those that llama.cpp itself asks for. A weight is a hash of its tensor's name and its index (weights()
below and FillTensor in engine/forward/families_test.cc). "expected" is the last token's row: logits, or of encoders the
hidden state before pooling; float weights, activations and KV.
"""
import importlib.util, json, os, pathlib, re, subprocess, sys, tempfile

import gguf
import numpy as np

FOLDER = pathlib.Path(__file__).parent
TOKENS = [(i * 37 + i * i * 11) % 96 for i in range(40)]
ENCODERS = {"llama-embed", "gemma-embedding", "jina-bert-v2", "bert", "nomic-bert", "nomic-bert-moe", "jina-bert-v3", "modern-bert", "neo-bert", "eurobert"}
LATENT = {"deepseek2", "mistral4", "minicpm3", "plm"}
MIXERS_OF_TWO_WIDTHS = {"falcon-h1", "mamba", "mamba2", "jamba", "granitehybrid", "nemotron_h", "nemotron_h_moe"}
LAYERS = {"smallthinker": 5, "gemma3": 7, "gemma-embedding": 7, "gemma3n": 22, "gemma4": 6, "gemma4-moe": 6, "nemotron_h": 3, "nemotron_h_moe": 3, "plamo3": 9, "baichuan": 2}
FOUR = {"cohere2moe", "laguna", "mimo2", "spark2_5", "step35", "afmoe", "gpt-oss", "cohere2", "exaone-moe", "modern-bert", "smollm3", "llama4", "olmo2", "gemma2", "mellum", "granite_swa"}
EXPERTS = """deepseek2-ocr cohere2moe laguna mimo2 step35 afmoe arctic grok hy_v3 phimoe qwen3next smallthinker gemma4-moe bailingmoe bailingmoe2 dbrx deepseek deepseek2 dots1 ernie4_5-moe exaone-moe glm4moe gpt-oss granitemoe hunyuan-moe
lfm2moe llama4 mellum minimax-m2 mistral4 nomic-bert-moe olmoe qwen2moe qwen35moe qwen3moe qwen3vlmoe""".split()
PLAIN = """cogvlm spark2_5 apertus falcon-h1 gemma-embedding gemma3n gemma4 jina-bert-v2 llama-embed arcee baichuan bert bitnet bloom chatglm codeshell cohere2 command-r deci ernie4_5 eurobert exaone exaone4 falcon gemma
gemma2 gemma3 glm4 gpt2 gptneox granite granite_swa granitehybrid hunyuan-dense hunyuan_vl internlm2 jais jais2 jamba jina-bert-v3
lfm2 llama maincoder mamba mamba2 minicpm minicpm3 mistral3 modern-bert mpt nemotron nemotron_h nemotron_h_moe neo-bert nomic-bert
olmo olmo2 openelm orion paddleocr pangu-embedded phi2 phi3 plamo plamo3 plm qwen qwen2 qwen2vl qwen3 qwen35 qwen3vl refact
seed_oss smollm3 stablelm starcoder starcoder2 xverse""".split()
VARIANTS = {"gemma4-moe": "gemma4"}  # a file name for another form of a family
# Optional tensors that llama.cpp creates but does not use, or that no file has beside others.
UNUSED = re.compile(r"scale$|^cls\.|^dense_|^rope_f|^output\.bias|(attn_(q|k|v|qkv|output)|ffn_(up|gate|down))\.bias$")
NEEDED = {  # of the above, what the family does use
    "gemma4": re.compile(r"^rope_f"), "gemma4-moe": re.compile(r"^rope_f|(ffn_gate_inp|ffn_down_exps)\.scale$")}
LEFT_OUT = {  # optional tensors of another form of the family
    "gemma4": re.compile(r"ffn_gate_inp|_exps|ffw_norm_\d|blk\.1\.attn_v|attn_qkv|blk\.[45]\.attn_[kv]|blk\.0\.layer_output_scale"),
    "gemma4-moe": re.compile(r"ffn_(up|gate)_exps|attn_qkv"), "jina-bert-v2": re.compile(r"attn_norm_2"), "apertus": re.compile(r"attn_[qk]_norm\.bias"), "gemma-embedding": re.compile(r"^output\."), "llama-embed": re.compile(r"^output\."), "qwen3next": re.compile(r"ssm_in\."), "step35": re.compile(r"blk\.0\.(exp_probs|ffn.*(exps|shexp|inp))|blk\.[123]\.ffn_(up|gate|down)\."), "mimo2": re.compile(r"blk\.0\.(exp_probs|ffn.*(exps|inp)|attn_sinks)|blk\.[123]\.ffn_(up|gate|down)\."), "hy_v3": re.compile(r"blk\.0\.(exp_probs|ffn.*(exps|shexp|inp))|blk\.1\.ffn_(up|gate|down)\.|nextn")}
BIASES = {"phimoe", "jina-bert-v2", "gpt2", "phi2", "starcoder2", "gptneox", "bloom", "bert", "qwen", "qwen2", "qwen2moe", "gpt-oss", "jais", "jais2",
          "codeshell", "starcoder", "pangu-embedded", "seed_oss", "chatglm", "jina-bert-v3"}


def keys_of(arch):
    prefix = VARIANTS.get(arch, arch)
    width, heads, inner = 64, 2, 96
    layers = LAYERS.get(arch, 4 if arch in FOUR else 2)
    inners, head_counts, kv_counts = inner, heads, heads
    if arch.startswith("nemotron_h"):  # attention, feed-forward, mixer
        inners, head_counts, kv_counts = [0, inner, 0], [heads, 0, 0], [heads, 0, 0]
    if arch in {"jamba", "granitehybrid", "lfm2", "lfm2moe"}:
        head_counts, kv_counts = [heads, 0] if arch.startswith("lfm2") else [heads, heads], [heads, 0]
    keys = {"vocab_size": 96, "context_length": 256, "embedding_length": width, "block_count": layers,
            "feed_forward_length": inners, "attention.head_count": head_counts, "attention.head_count_kv": kv_counts,
            "attention.layer_norm_epsilon": 1e-5, "attention.layer_norm_rms_epsilon": 1e-5}
    if arch in EXPERTS:
        keys |= {"expert_count": 4, "expert_used_count": 2}
        same = arch in {"minimax-m2", "hunyuan-moe"}  # llama.cpp asks for the key and takes feed_forward_length
        if arch not in {"nomic-bert-moe", "olmoe", "dbrx", "granitemoe"}: keys["expert_feed_forward_length"] = inner if same else 32
        if arch == "nomic-bert-moe": keys["moe_every_n_layers"] = 2
        if arch in {"llama4", "ernie4_5-moe"}: keys["interleave_moe_layer_step"] = 1 if arch == "ernie4_5-moe" else 2
        if arch in {"deepseek2", "mistral4", "dots1", "glm4moe", "bailingmoe", "bailingmoe2", "exaone-moe", "deepseek", "afmoe", "hy_v3", "cohere2moe", "laguna", "step35", "deepseek2-ocr"}:
            keys |= {"expert_shared_count": 1, "expert_weights_scale": 1.5, "expert_weights_norm": arch != "deepseek"}
        if arch not in {"bailingmoe", "grok", "arctic", "phimoe", "gemma4-moe", "smallthinker"}: keys["leading_dense_block_count"] = 1
        if arch in {"deepseek2", "mistral4", "dots1", "glm4moe", "bailingmoe2", "exaone-moe", "lfm2moe", "minimax-m2", "afmoe", "smallthinker", "hy_v3"}: keys["expert_gating_func"] = 2  # sigmoid
        if arch in {"cohere2moe", "laguna", "step35", "hy_v3", "qwen3next", "qwen2moe", "qwen35moe", "granitemoe", "hunyuan-moe", "ernie4_5-moe"}: keys["expert_shared_feed_forward_length"] = 48
    if arch in {"granite", "granitemoe", "granitehybrid", "granite_swa", "command-r", "cohere2", "minicpm", "cohere2moe"}: keys["logit_scale"] = 0.7
    if arch in {"granite", "granitemoe", "granitehybrid", "granite_swa", "minicpm"}: keys |= {"residual_scale": 1.3, "embedding_scale": 1.7}
    if arch in {"granite", "granitemoe", "granitehybrid", "granite_swa"}: keys["attention.scale"] = 0.11
    if arch in {"mpt", "olmo", "dbrx"}: keys["attention.clamp_kqv"] = 1.0
    if arch in {"mpt", "jais"}: keys["attention.max_alibi_bias"] = 8.0
    if arch == "gptneox": keys["use_parallel_residual"] = False
    if arch in {"mistral3", "mistral4"}: keys["attention.temperature_scale"] = 0.1
    if arch == "mistral4": keys["attention.temperature_length"] = 16
    if arch == "mistral3": keys["rope.scaling.original_context_length"] = 16
    if arch in FOUR - {"llama4", "smollm3"} or arch in {"gemma3", "gemma-embedding", "gemma3n", "gemma4", "gemma4-moe", "plamo3", "lfm2"}: keys["attention.sliding_window"] = 16
    if arch in {"granite_swa"}: keys |= {"attention.sliding_window_pattern": [1, 0, 1, 0], "attention.rope_pattern": [1, 1, 0, 1]}
    if arch in LATENT:
        keys |= {"attention.q_lora_rank": 32, "attention.kv_lora_rank": 32, "rope.dimension_count": 8}
        if arch in {"minicpm3", "plm"}: keys |= {"attention.key_length": 24, "attention.value_length": 16}
        else: keys |= {"attention.key_length": 40, "attention.value_length": 32, "attention.key_length_mla": 24, "attention.value_length_mla": 16, "attention.head_count_kv": 1}
    if arch in MIXERS_OF_TWO_WIDTHS:
        keys |= {"ssm.inner_size": 2 * width, "ssm.conv_kernel": 4, "ssm.state_size": 16,
                 "ssm.time_step_rank": 4, "ssm.group_count": 2}
    if arch in {"qwen35", "qwen35moe", "qwen3next"}:
        keys |= {"ssm.inner_size": width, "ssm.conv_kernel": 4, "ssm.state_size": 32, "ssm.time_step_rank": 2,
                 "ssm.group_count": 2, "attention.recurrent_layers": [1, 0]}
    if arch in {"qwen2vl", "qwen3vl", "qwen3vlmoe", "qwen35", "qwen35moe", "paddleocr"}: keys["rope.dimension_sections"] = [8, 8, 8, 0]
    if arch in {"qwen3vl", "qwen3vlmoe"}: keys["n_deepstack_layers"] = 0
    if arch == "qwen3next": keys |= {"ssm.inner_size": 2 * width, "ssm.time_step_rank": 4}
    if arch == "apertus":
        keys |= {"xielu.alpha_n": [0.8, 0.3], "xielu.alpha_p": [0.5, 0.9], "xielu.beta": 0.5, "xielu.eps": -1e-6}
    if arch in {"mimo2", "spark2_5", "step35"}: keys["attention.sliding_window_pattern"] = [0, 1, 1, 0]
    if arch in {"mimo2", "spark2_5", "step35", "laguna"}: keys["rope.freq_base_swa"] = 3000.0
    if arch == "laguna": keys["rope.dimension_count_swa"] = 16
    if arch == "mimo2": keys |= {"attention.value_scale": 0.7, "attention.key_length": 32, "attention.value_length": 16, "rope.dimension_count": 16}
    if arch == "step35":
        keys |= {"attention.head_count": [2, 4, 4, 2], "attention.head_count_kv": [1, 2, 2, 1], "attention.key_length": 32,
                 "attention.value_length": 32, "swiglu_clamp_exp": [0.0, 0.5, 0.0, 0.7], "swiglu_clamp_shexp": [0.0, 0.6, 0.0, 0.4]}
    if arch == "gemma3n": keys["attention.head_count_kv"] = 1
    if arch.startswith("gemma4"):
        keys |= {"attention.sliding_window_pattern": [1, 0] * 3, "attention.head_count_kv": [1, 2] * 3, "attention.key_length": 32,
                 "attention.value_length": 32, "attention.key_length_swa": 16, "attention.value_length_swa": 16, "rope.dimension_count": 32,
                 "rope.dimension_count_swa": 16, "embedding_length_per_layer_input": 0, "rope.freq_base": 1000000.0, "rope.freq_base_swa": 5000.0}
    if arch == "gemma4":
        keys |= {"embedding_length_per_layer_input": 16, "attention.shared_kv_layers": 2, "feed_forward_length": [96] * 4 + [128] * 2,
                 "final_logit_softcapping": 30.0}
    if arch.startswith("lfm2"): keys["shortconv.l_cache"] = 3
    if arch in ENCODERS: keys |= {"attention.causal": False, "pooling_type": 0}
    return {name if name.startswith("xielu.") else f"{prefix}.{name}": value for name, value in keys.items()}


def weights(name, dims):
    seed = 0xCBF29CE484222325
    for byte in name.encode(): seed = (seed ^ byte) * 0x100000001B3 % 2**64
    z = np.uint64(seed) + np.arange(1, int(np.prod(dims)) + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    u = ((z ^ (z >> np.uint64(31))) >> np.uint64(40)).astype(np.float32) * np.float32(2.0**-23) - np.float32(1)
    if ".ssm_a" in name: w = -np.abs(u) - np.float32(0.125)
    elif name.endswith(".bias"): w = np.float32(0.25) * u
    elif len(dims) == 1 or "norm" in name: w = np.float32(1) + np.float32(0.25) * u
    elif name.startswith("token_embd"): w = u
    else: w = u * (np.float32(2) / np.sqrt(np.float32(dims[0])))
    return w.reshape(dims[::-1]).astype(np.float32)


def write(path, arch, keys, tensors):
    w = gguf.GGUFWriter(path, arch)
    for key, value in keys.items():
        if isinstance(value, bool): w.add_bool(key, value)
        elif isinstance(value, int): w.add_uint32(key, value)
        elif isinstance(value, float): w.add_float32(key, value)
        else: w.add_array(key, value)
    w.add_tokenizer_model("no_vocab")
    if "bert" in arch: w.add_token_type_count(2)
    for name, dims in tensors: w.add_tensor(name, weights(name, dims))
    w.write_header_to_file(); w.write_kv_data_to_file(); w.write_tensors_to_file(); w.close()


class Llama:
    """llama.cpp's library; LLAMA_LIBRARIES is its folder if it is not the package's own."""

    def __init__(self):
        from cffi import FFI
        package = pathlib.Path(importlib.util.find_spec("llama_cpp_py_sync").submodule_search_locations[0])
        folder = pathlib.Path(os.environ.get("LLAMA_LIBRARIES", package))
        self.ffi = ffi = FFI()
        ffi.cdef((package / "_cffi_bindings.py").read_text().split('_LLAMA_H_CDEF = """')[1].split('"""')[0])
        ffi.cdef("""struct gguf_init_params { bool no_alloc; void ** ctx; };
            struct gguf_context * gguf_init_from_file(const char *, struct gguf_init_params);
            const char * ggml_get_name(const struct ggml_tensor *);
            size_t ggml_nbytes(const struct ggml_tensor *);
            void ggml_backend_tensor_set(struct ggml_tensor *, const void *, size_t, size_t);""")
        libraries = [ffi.dlopen(str(folder / name), ffi.RTLD_GLOBAL | ffi.RTLD_NOW)
                     for name in ("libggml-base.so.0", "libggml-cpu.so.0", "libggml.so.0", "libllama.so.0")]
        self.base, self.lib = libraries[0], libraries[-1]
        self.silent = ffi.callback("void(enum ggml_log_level, const char *, void *)")(
            lambda level, text, _: print(ffi.string(text).decode(errors="replace"), end="", file=sys.stderr) if int(level) >= 4 else None)
        self.lib.llama_log_set(self.silent, ffi.NULL)
        self.lib.llama_backend_init()

    def tensors(self, path):
        ffi, found = self.ffi, []
        @ffi.callback("void(struct ggml_tensor *, void *)")
        def set_tensor(tensor, _):
            sizes = ffi.cast("int64_t *", ffi.cast("char *", tensor) + 16)
            dims = [sizes[i] for i in range(4)]
            while len(dims) > 1 and dims[-1] == 1: dims.pop()
            found.append((ffi.string(self.base.ggml_get_name(tensor)).decode(), dims))
            data = np.full(self.base.ggml_nbytes(tensor) // 4, 0.01, np.float32)
            self.base.ggml_backend_tensor_set(tensor, ffi.cast("void *", data.ctypes.data), 0, data.nbytes)
        metadata = self.base.gguf_init_from_file(str(path).encode(), ffi.new("struct gguf_init_params *", {"no_alloc": True})[0])
        model = self.lib.llama_model_init_from_user(metadata, set_tensor, ffi.NULL, self.lib.llama_model_default_params())
        assert model != ffi.NULL
        return list(dict(found).items())

    def last_row(self, path, encoder, n):
        ffi, lib = self.ffi, self.lib
        model = lib.llama_model_load_from_file(str(path).encode(), lib.llama_model_default_params())
        assert model != ffi.NULL
        params = lib.llama_context_default_params()
        params.n_ctx, params.n_batch, params.n_ubatch, params.n_threads, params.n_threads_batch = 256, 256, 256, 1, 1
        params.type_k = params.type_v = 0
        params.flash_attn_type = lib.LLAMA_FLASH_ATTN_TYPE_DISABLED
        if encoder: params.embeddings, params.pooling_type = True, lib.LLAMA_POOLING_TYPE_NONE
        context = lib.llama_init_from_model(model, params)
        batch = lib.llama_batch_init(len(TOKENS), 0, 1)
        batch.n_tokens = len(TOKENS)
        for i, token in enumerate(TOKENS):
            batch.token[i], batch.pos[i], batch.n_seq_id[i], batch.logits[i] = token, i, 1, 1
            batch.seq_id[i][0] = 0
        assert (lib.llama_encode if encoder else lib.llama_decode)(context, batch) == 0
        row = (lib.llama_get_embeddings_ith if encoder else lib.llama_get_logits_ith)(context, len(TOKENS) - 1)
        return np.frombuffer(ffi.buffer(row, 4 * n), np.float32).copy()


def wanted(form, name):
    if form in LEFT_OUT and LEFT_OUT[form].search(name): return False
    if form in NEEDED and NEEDED[form].search(name): return True
    if form in BIASES and name.endswith(".bias") and (form in {"phi2", "phimoe"} or name != "output.bias") and not name.startswith("cls."): return True
    return not UNUSED.search(name)


def update(form):
    arch = VARIANTS.get(form, form)
    llama, keys, encoder = Llama(), keys_of(form), form in ENCODERS
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model.gguf"
        write(path, arch, keys, [])
        tensors = [(name, dims) for name, dims in llama.tensors(path) if wanted(form, name)]
        write(path, arch, keys, tensors)
        row = llama.last_row(path, encoder, 64 if encoder else 96)
    lines = [f'"architecture": "{arch}"', f'"encoder": {json.dumps(encoder)}', f'"keys": {json.dumps(keys)}',
             f'"tensors": {json.dumps(tensors)}', f'"tokens": {json.dumps(TOKENS)}',
             '"expected": [' + ", ".join(f"{value:.6g}" for value in row) + "]"]
    (FOLDER / f"{form}.json").write_text("{" + ",\n ".join(lines) + "}\n")


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "--one":
        update(sys.argv[2])
        sys.stdout.flush()
        os._exit(0)
    for name in sys.argv[1:] or sorted(PLAIN + EXPERTS):
        done = subprocess.run([sys.executable, __file__, "--one", name], stderr=subprocess.PIPE, text=True)
        if done.returncode: print(f"{name}: {done.stderr.strip()[-300:]}", file=sys.stderr)
