"""Each rule of check.py is broken once, and must be seen."""
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import check

HEAD = "// What it is for.\n"
LONG_FUNCTION = HEAD + "namespace a {\nint Sum(int x) {\n" + "  x += 1;\n" * 60 + "  return x;\n}\n}\n"

BROKEN = [
    ("engine/a.cc", '#include "gateway/http/server.h"\n', "engine/ may not include"),
    ("gateway/a.cc", '#include "kernels/kernels.h"\n', "gateway/ may not include"),
    ("daemon/a.h", HEAD + '#include "engine/engine.h"\n', "daemon/ may not include"),
    ("kernels/a.h", HEAD + '#include "config/base/status.h"\n', "kernels/ may not include"),
    ("kernels/x86_avx2/a.cc", "#include <vector>\n", "kernels/ may not include <vector>"),
    ("kernels/gpu/a.h", HEAD + "#include <cuda_runtime.h>\n", "kernels/ may not include <cuda_runtime.h>"),
    ("kernels/x86_avx2/a.cc", "#include <cmath>\n", "kernels/ may not include <cmath>"),
    ("newfolder/a.cc", "int f();\n", "has no rule"),
    ("engine/newfolder/a.cc", "int f();\n", "has no rule"),
    ("engine/model/a.cc", '#include "engine/device/device.h"\n', 'engine/model/ may not include "engine/device/device.h"'),
    ("engine/device/cpu/a.h", HEAD + '#include "engine/forward/forward.h"\n', "engine/device/cpu/ may not include"),
    ("engine/device/a.cc", '#include "engine/device/cpu/cpu_device.h"\n', "engine/device/ may not include"),
    ("engine/device/split/a.cc", '#include "engine/device/cpu/cpu_device.h"\n', "engine/device/split/ may not include"),
    ("engine/device/cpu/a.cc", '#include "engine/device/factory/device_factory.h"\n', "engine/device/cpu/ may not include"),
    ("engine/forward/a.cc", '#include "engine/device/cpu/cpu_device.h"\n', "engine/forward/ may not include"),
    ("engine/a.cc", '#include "engine/device/factory/device_factory.h"\n', "engine/ may not include"),
    ("worker/a.cc", '#include "engine/device/cpu/cpu_device.h"\n', "worker/ may not include"),
    ("engine/cache/a.cc", '#include "engine/device/device.h"\n', "engine/cache/ may not include"),
    ("engine/generation/a.cc", '#include "engine/engine.h"\n', "engine/generation/ may not include"),
    ("gateway/newfolder/a.cc", "int f();\n", "has no rule in GATEWAY"),
    ("gateway/routing/a.cc", '#include "gateway/serving/errors.h"\n', "gateway/routing/ may not include"),
    ("gateway/routing/a.cc", '#include "gateway/openai/endpoints.h"\n', "gateway/routing/ may not include"),
    ("gateway/serving/a.cc", '#include "gateway/openai/answers/choices_answer.h"\n', "gateway/serving/ may not include"),
    ("gateway/grpc/a.cc", '#include "gateway/openai/answers/choices_answer.h"\n', "gateway/grpc/ may not include"),
    ("gateway/api/a.cc", '#include "gateway/openai/form.h"\n', "gateway/api/ may not include"),
    ("gateway/http/a.cc", '#include "gateway/gateway_app.h"\n', "gateway/http/ may not include"),
    ("engine/a.h", "#pragma once\n", "begins with a comment"),
    ("engine/a.h", HEAD + "\n" * 201, "expected at most 200"),
    ("engine/a.cc", "\n" * 401, "expected at most 400"),
    ("engine/a.cc", LONG_FUNCTION, "function Sum: 63 lines"),
    ("engine/a.cc", 'const char* home = getenv("HOME");\n', "getenv"),
    ("engine/a.cc", "void f() { throw 1; }\n", "throw"),
    ("engine/a.cc", "void f() { try { g(); } catch (...) {} }\n", "try"),
    ("engine/a.cc", "auto x = _mm256_setzero_ps();\n", "intrinsics"),
    ("engine/a.cc", "void f() { std::this_thread::sleep_for(x); }\n", "wait for an event"),
    ("engine/a.cc", "// TODO: later\n", "TODO"),
    ("engine/a.cc", "namespace a {\nint counter = 0;\n}\n", "mutable global"),
    ("engine/a.cc", "namespace a {\nstd::vector<int> list;\n}\n", "mutable global"),
    ("engine/a.cc", "namespace a {\nstatic std::atomic<int> counter{0};\n}\n", "mutable global"),
    ("engine/a.cc", "int f() {\n  static int calls = 0;\n  return ++calls;\n}\n", "mutable static"),
    ("proto/inferd/v1/a.proto", "message A {\n  string name = 1;\n}\n", "name: no comment"),
    ("proto/inferd/v1/a.proto", "message A {\n  // Good.\n  string b = 1;\n  map<string, int32> c = 2;\n}\n", "c: no comment"),
    ("proto/inferd/v1/a.proto", "enum A {\n  A_NONE = 0;\n  A_ONE = 1;\n}\n", "A_ONE: no comment"),
    ("proto/inferd/v1/a.proto", "service A {\n  rpc Do(B) returns (C);\n}\n", "Do: no comment"),
    ("engine/a.cc", "int f() {\n#ifdef __linux__\n  return 1;\n#endif\n}\n", "#if inside a function"),
]

CLEAN = """// What it is for.
#include "config/base/status.h"
#include "kernels/kernels.h"

namespace inferd {
constexpr int kSize = 3;
const char* const kNames[] = {"a", "try { throw }", R"(getenv)"};
struct Pair {
  int first = 0;
  std::vector<int> second;
};
class Counter {
 public:
  int Next() { return ++count_; }

 private:
  int count_ = 0;
};
template <typename T>
T Twice(T value) {
  static const int kTimes = 2;
  std::vector<int> list = {1, 2};
  return kTimes * value;  // catch
}
using Function = int (*)(int);
extern const int kElsewhere;
}  // namespace inferd
"""


def tree(tmp_path, files):
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(tmp_path)


@pytest.mark.parametrize("name,text,message", BROKEN)
def test_sees_a_broken_rule(tmp_path, name, text, message):
    problems = check.check_tree(tree(tmp_path, {name: text}))
    assert any(message in problem for problem in problems), problems


def test_leaves_clean_code_alone(tmp_path):
    assert check.check_tree(tree(tmp_path, {"engine/a.cc": CLEAN})) == []


def test_sees_a_circle_between_folders(tmp_path):
    files = {
        "daemon/a/a.cc": '#include "daemon/b/b.h"\n',
        "daemon/b/b.h": HEAD + '#include "daemon/c/c.h"\n',
        "daemon/c/c.h": HEAD + '#include "daemon/a/a.h"\n',
        "daemon/a/a.h": HEAD,
    }
    assert check.check_tree(tree(tmp_path, files)) == [
        "daemon/c/c.h:2: folders include each other in a circle: daemon/a -> daemon/b -> daemon/c -> daemon/a"]
    files["daemon/c/c.h"] = HEAD
    assert check.check_tree(tree(tmp_path, files)) == []


def test_sees_a_circle_between_folders_of_devices(tmp_path):
    files = {
        "engine/device/device.h": HEAD + '#include "engine/device/cpu/cpu_options.h"\n',
        "engine/device/cpu/cpu_options.h": HEAD + '#include "engine/device/device.h"\n',
    }
    assert any("circle: engine/device -> engine/device/cpu -> engine/device" in problem
               for problem in check.check_tree(tree(tmp_path, files)))


def test_a_test_makes_no_circle(tmp_path):
    files = {
        "engine/model/a_test.cc": '#include "engine/forward/forward.h"\n',
        "engine/forward/forward.h": HEAD + '#include "engine/model/model.h"\n',
        "engine/model/model.h": HEAD,
    }
    assert check.check_tree(tree(tmp_path, files)) == []


def test_a_stated_reason_excuses_length(tmp_path):
    text = "// Long because it is one table.\n" + "\n" * 401
    assert check.check_tree(tree(tmp_path, {"engine/a.cc": text})) == []


def test_exceptions_are_allowed_in_a_named_seam(tmp_path):
    text = "// Exceptions of the YAML library end here.\nvoid f() { try { g(); } catch (...) {} }\n"
    assert check.check_tree(tree(tmp_path, {"config/a.cc": text})) == []


def test_fails_closed(tmp_path):
    assert "no sources found" in check.check_tree(tree(tmp_path, {}))[0]
    assert "cannot be read" in check.check_tree(tree(tmp_path, {"engine/a.cc": b"\xff\xfe"}))[0]


def test_symbol_check_sees_allocation(tmp_path):
    source = tmp_path / "a.cc"
    source.write_text("int* f() { return new int; }\n")
    subprocess.run(["c++", "-c", source, "-o", tmp_path / "a.o"], check=True)
    subprocess.run(["ar", "rc", tmp_path / "liba.a", tmp_path / "a.o"], check=True)
    assert any("_Znwm" in problem for problem in check.check_symbols(str(tmp_path / "liba.a")))
