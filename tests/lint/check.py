#!/usr/bin/env python3
"""Checks the rules of the tree that a compiler does not: layers, lengths, bans, documented contracts. Exits 1 if any is broken.

    tests/lint/check.py [ROOT]             rules over the sources
    tests/lint/check.py --symbols LIB.a    a kernel library calls nothing that allocates, throws or aborts

An unreadable file or an unknown folder is a failure too: what cannot be checked is not clean.
"""
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import scopes

ENGINE_BASE = {"config/base", "kernels/kernels.h", "kernels/quant_types.h", "kernels/sequence_arguments.h"}
# Each folder of the engine, lowest first, and the ones below it that it may include.
ENGINE = {
    "gguf": (),
    "tokenizer": ("gguf",),
    "quantize": ("gguf", "tokenizer"),
    "template": (),
    "cache": (),
    "model": ("gguf",),
    "device": ("cache", "model"),
    "forward": ("cache", "device", "model"),
    "sampling": (),
    "output": ("sampling",),
    "conversation": ("output", "template"),
    "constraint": ("output", "sampling"),
    "scheduler": (),
    "generation": ("cache", "constraint", "device", "forward", "model", "output", "sampling", "scheduler", "tokenizer"),
}
# What makes a device is on its own: devices do not know each other, and nobody but the factory knows which there are.
DEVICES = {"engine/device/cpu": (), "engine/device/gpu": (), "engine/device/split": (),
           "engine/device/factory": ("engine/device/cpu", "engine/device/gpu", "engine/device/split")}
GATEWAY_BASE = {"config", "proto", "inferd/v1"}
# As ENGINE: what lies in gateway/ itself may include all of it.
GATEWAY = {
    "async": (),
    "json": (),
    "limits": (),
    "routing": ("async",),
    "calls": ("async", "routing"),
    "serving": ("async", "calls", "json", "limits", "routing"),
    "http": ("async", "limits", "serving"),
    "auth": ("async", "http", "limits", "serving"),
    "metrics": ("async", "calls", "http", "routing", "serving"),
    # What the APIs over HTTP share; none of them knows another.
    "api": ("async", "auth", "calls", "http", "json", "limits", "routing", "serving"),
    "anthropic": ("api", "async", "auth", "http", "json", "limits", "routing", "serving"),
    "openai": ("api", "async", "auth", "http", "json", "limits", "routing", "serving"),
    "grpc": ("async", "auth", "calls", "http", "json", "limits", "routing", "serving"),
}
LAYERS = {
    "config": {"config"},
    "proto": {"proto", "config/base"},  # what all gRPC programs share
    "kernels": {"kernels"},
    "engine": {"engine"} | ENGINE_BASE,
    **{f"engine/{name}": {f"engine/{folder}" for folder in (name, *below)} | ENGINE_BASE for name, below in ENGINE.items()},
    "engine/tools": {"engine", "engine/device/factory", "config", "kernels/kernels.h", "kernels/quant_types.h"},  # a program, like worker
    "worker": {"worker", "engine", "engine/device/factory", "config", "proto", "inferd/v1"},
    "gateway": {"gateway"} | GATEWAY_BASE,
    **{f"gateway/{name}": {f"gateway/{folder}" for folder in (name, *below)} | GATEWAY_BASE for name, below in GATEWAY.items()},
    "gateway/testing": {"gateway"} | GATEWAY_BASE,
    "daemon": {"daemon", "config", "proto", "inferd/v1"},
    "tests": {"tests", "kernels", "engine", *DEVICES, "config", "inferd/v1"},
}
# Block layouts and code books are written down once, where they are read.
LAYERS["engine/quantize"] |= {f"kernels/reference/{name}.h" for name in ("codebooks", "half", "unpack")}
LAYERS |= {name: LAYERS["engine/device"] | {name, *below} for name, below in DEVICES.items()}
# The host's side of GPU kernels; which GPUs there are, the factory knows.
LAYERS["engine/device/gpu"] |= {f"kernels/gpu/{name}.h" for name in ("arguments", "gpu_stream", "layouts")}
LAYERS["engine/device/factory"] |= {"kernels/gpu/gpu_stream.h", "kernels/gpu_emulator/emulated_stream.h"}
# Folders each of whose parts has a rule.
DIVIDED = ("engine", "gateway")
# Folders between whose parts no circle of includes is allowed. kernels/ has a table of its variants at the top.
ACYCLIC = ("config", "daemon", "engine", "gateway", "proto", "worker")
# A file with special flags includes nothing whose inline functions other files share.
KERNEL_HEADERS = {"cstddef", "cstdint", "cstring", "immintrin.h", "arm_neon.h"}
REFERENCE_HEADERS = KERNEL_HEADERS | {"algorithm", "bit", "cfloat", "climits", "cmath", "limits"}
DISPATCH_HEADERS = REFERENCE_HEADERS | {"cpuid.h", "sys/auxv.h", "asm/hwcap.h"}
# The emulated GPU is a program on this machine, kernels/cuda one of CUDA's; kernels/gpu has what both give it.
GPU_HEADERS = {
    "gpu": {"bit", "cmath", "cstddef", "cstdint"},
    "gpu_emulator": REFERENCE_HEADERS | {"sys/mman.h", "atomic", "boost/context/detail/fcontext.hpp", "boost/pfr.hpp", "cstdio", "cstdlib", "deque",
                                         "functional", "iterator", "map", "memory", "numeric", "tuple", "type_traits", "utility", "vector"},
    "cuda": REFERENCE_HEADERS | {"cuda_fp16.h", "cuda_runtime.h", "utility"},
}
LONGEST = {".h": 200, ".cc": 400, ".py": 400}
LONGEST_FUNCTION = 60
EXCUSE = "Long because"
SEAMS = re.compile(r"^//.*[Ee]xceptions? .*(library|seam)", re.M)

BANS = [  # pattern, folders where it is allowed, what to do instead
    (r"\b(getenv|secure_getenv|setenv|putenv)\b", ("config/",), "read the environment in config/"),
    (r"\b(throw|catch)\b|\btry\s*\{", None, "return a Status; a library's seam says so in a comment at its top"),
    (r"\b(_mm\d*_\w+|__AVX\w*|__ARM_\w+|__SSE\w*|v(ld|st)1q?_\w+)\b", ("kernels/",), "intrinsics belong to kernels/"),
    (r"\b(usleep|nanosleep|sleep_for|sleep_until|SleepFor)\b|\bsleep\s*\(", ("gateway/testing/",), "wait for an event"),  # stubs play slow peers
    (r"\b(TODO|FIXME|XXX)\b", (), "do it or give an issue"),
    (r"\bstd::regex\b", (), "use PCRE2"),
    (r"\b(rand|srand|strtok|gmtime|localtime)\s*\(", (), "not safe among threads"),
]
IMMUTABLE = re.compile(r"\b(const|constexpr|constinit const|using|typedef|extern|template|friend|static_assert|class|struct|enum|union|namespace|concept|asm|return|goto)\b|\(")
VARIABLE = re.compile(r"^(static |inline |thread_local |constinit )*[A-Za-z_][\w:<>,\s*&]*\s[*&]?\w+(\s*\[[^\]]*\])*\s*(=|\{\}|$)")


def tracked(root):
    listing = subprocess.run(["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                             capture_output=True, check=True).stdout.decode()
    return [pathlib.PurePosixPath(name) for name in sorted(set(listing.split("\0"))) if name and (pathlib.Path(root) / name).exists()]


def is_test(path):
    return path.stem.endswith(("_test", "_bench", "_fuzz")) or "testing" in str(path) or path.parts[0] == "tests"


def layer_of(path):
    """The rule of the innermost folder that has one. Tests may use all of what their program has."""
    if path.parts[0] in DIVIDED and is_test(path):
        return LAYERS[path.parts[0]] | DEVICES.keys() if path.parts[0] == "engine" else LAYERS[path.parts[0]]
    return LAYERS.get(part_of(path), LAYERS.get(path.parts[0]))


def check_layers(path, text):
    folder = path.parts[0]
    if folder not in LAYERS:
        yield 1, f"folder {folder}/ has no rule in LAYERS"
        return
    if folder in DIVIDED and len(path.parts) > 2 and "/".join(path.parts[:2]) not in LAYERS:
        yield 1, f"folder {folder}/{path.parts[1]}/ has no rule in {folder.upper()}"
        return
    for number, line in enumerate(text.split("\n"), 1):
        own = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
        if own and not allowed_include(path, own.group(1)):
            yield number, f'{part_of(path)}/ may not include "{own.group(1)}"'
        system = re.match(r"\s*#\s*include\s+<([^>]+)>", line)
        if system and folder == "kernels" and not is_test(path):
            wanted = (DISPATCH_HEADERS if len(path.parts) == 2 else REFERENCE_HEADERS if path.parts[1] == "reference" else
                      GPU_HEADERS.get(path.parts[1], KERNEL_HEADERS))
            if system.group(1) not in wanted:
                yield number, f"kernels/ may not include <{system.group(1)}>"


def part_of(path):
    """engine/model for a file anywhere below it, engine for one that lies there; engine/device/cpu, as DEVICES names it."""
    folder = "/".join(path.parts[:min(3, len(path.parts) - 1)])
    return folder if folder in DEVICES else "/".join(path.parts[:min(2, len(path.parts) - 1)])


def arrows_of(path, text):
    """(from, to, line) for each include of another part of the same folder."""
    if path.parts[0] not in ACYCLIC or is_test(path):
        return
    for number, line in enumerate(text.split("\n"), 1):
        include = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
        if include and include.group(1).startswith(path.parts[0] + "/"):
            target = part_of(pathlib.PurePosixPath(include.group(1)))
            if target != part_of(path):
                yield part_of(path), target, number


def check_circles(arrows):
    """arrows: {(from, to): place of one include}. Yields each circle once, at the include that closes it."""
    targets = {}
    for source, target in sorted(arrows):
        targets.setdefault(source, []).append(target)
    done = set()

    def visit(part, way):
        if part in way:
            circle = way[way.index(part):] + [part]
            yield f"{arrows[circle[-2], part]}: folders include each other in a circle: {' -> '.join(circle)}"
        elif part not in done:
            for target in targets.get(part, ()):
                yield from visit(target, way + [part])
            done.add(part)

    for part in sorted(targets):
        yield from visit(part, [])


def allowed_include(path, include):
    if include.startswith(("absl/", "gtest/", "gmock/", "boost/", "google/", "grpc", "benchmark/")):
        return path.parts[0] != "kernels" or is_test(path)
    if is_test(path) and path.parts[0] == "kernels" and include.startswith("config/base/"):
        return True
    part = part_of(pathlib.PurePosixPath(include))
    if part in DEVICES:
        return part in layer_of(path)
    return any(include == rule or include.startswith(rule + "/") for rule in layer_of(path))


def check_lengths(path, text, functions):
    lines = text.split("\n")
    limit = LONGEST.get(path.suffix)
    if limit and len(lines) - 1 > limit and EXCUSE not in "\n".join(lines[:20]):
        yield 1, f"{len(lines) - 1} lines, expected at most {limit} (or '{EXCUSE} ...' at the top)"
    for function in functions:
        above = "\n".join(lines[max(0, function.first_line - 6):function.first_line])
        if function.lines > LONGEST_FUNCTION and EXCUSE not in above:
            yield function.first_line, f"function {function.name}: {function.lines} lines, expected at most {LONGEST_FUNCTION}"


def check_bans(path, text):
    code = scopes.blank(text)
    for pattern, allowed, instead in BANS:
        if allowed is None:
            if SEAMS.search(text[:2000]):
                continue
        elif str(path).startswith(allowed):
            continue
        subject = text if "TODO" in pattern else code
        for match in re.finditer(pattern, subject):
            yield subject.count("\n", 0, match.start()) + 1, f"{match.group(0).strip()}: {instead}"


def check_globals(outer, inner):
    for statement in outer:
        if not IMMUTABLE.search(statement.text.split("=")[0]) and VARIABLE.match(statement.text):
            yield statement.line, f"mutable global: {statement.text[:60]}"
    for statement in inner:
        if re.match(r"static\s", statement.text) and not re.search(r"\bconst(expr|init)?\b", statement.text.split("=")[0]):
            yield statement.line, f"mutable static: {statement.text[:60]}"


CONTRACT_ITEM = re.compile(r"^\s*((?:(?:optional|repeated)\s+)?(?:map<[^>]*>|[\w.]+)\s+(\w+)\s*=\s*\d+|([A-Z]\w*)\s*=\s*[1-9]\d*|rpc\s+(\w+)|oneof\s+(\w+))")


def check_contract(path, text):
    """Each field, value, oneof and rpc of a .proto file has a comment above it or behind it."""
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        item = CONTRACT_ITEM.match(line)
        if item and "//" not in line and not lines[number - 2].lstrip().startswith("//"):
            yield number, f"{next(filter(None, item.groups()[1:]))}: no comment says what it is"


def check_source(path, text):
    functions, outer, inner, directives = scopes.parse(text)
    yield from check_layers(path, text)
    yield from check_lengths(path, text, functions)
    yield from check_bans(path, text)
    # What a thread of a GPU finds in registers, the emulator finds in a variable of the OS thread.
    if not is_test(path) and path.parts[:2] != ("kernels", "gpu_emulator"):
        yield from check_globals(outer, inner)
    for line in directives:
        yield line, "#if inside a function: an instruction set or platform is a file"
    if not text.startswith("//"):
        yield 1, "a file begins with a comment that says what it is for" if path.suffix == ".h" else ""


def check_tree(root):
    problems = []
    arrows = {}
    sources = 0
    for path in tracked(root):
        ours = path.suffix in (".h", ".cc", ".cu", ".py") or str(path).startswith("proto/inferd/") and path.suffix == ".proto"
        if not ours or "golden" in path.parts:
            continue
        sources += 1
        try:
            text = (pathlib.Path(root) / path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            problems.append(f"{path}: cannot be read: {error}")
            continue
        found = (check_lengths(path, text, []) if path.suffix == ".py" else
                 check_contract(path, text) if path.suffix == ".proto" else check_source(path, text))
        problems += [f"{path}:{line}: {message}" for line, message in found if message]
        if path.suffix in (".h", ".cc", ".cu"):
            for source, target, line in arrows_of(path, text):
                arrows.setdefault((source, target), f"{path}:{line}")
    problems += check_circles(arrows)
    if sources == 0:
        problems.append(f"{root}: no sources found")
    return problems


ALLOWED_SYMBOLS = re.compile(r"^(mem(cpy|set|move|cmp)|(v?fmaf?|sqrtf?|nearbyintf?|floorf?)|_GLOBAL_OFFSET_TABLE_|"
                             r"__cpu_(model|indicator_init)|__cpu_features2|strcmp|getauxval|_ZN6inferd7kernels\w+|_ZTV\w*6inferd7kernels\w+)$")


def check_symbols(library):
    listing = subprocess.run(["nm", "--undefined-only", "--format=posix", library], capture_output=True, check=True).stdout.decode()
    names = [line.split()[0] for line in listing.split("\n") if line and not line.endswith(":")]
    if not names:
        return [f"{library}: no undefined symbols at all: not a kernel library?"]
    return [f"{library}: calls {name}" for name in sorted(set(names)) if not ALLOWED_SYMBOLS.match(name)]


def main(arguments):
    if arguments[:1] == ["--symbols"] and len(arguments) == 2:
        problems = check_symbols(arguments[1])
    elif len(arguments) <= 1:
        problems = check_tree(arguments[0] if arguments else str(pathlib.Path(__file__).resolve().parents[2]))
    else:
        sys.exit(__doc__)
    print("\n".join(problems) if problems else "lint: clean")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
