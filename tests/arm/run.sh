#!/usr/bin/env bash
# Cross-compiles the kernels and their tests for 64-bit ARM and runs them under qemu: the same bits there too.
#   tests/arm/run.sh [BUILD_FOLDER] [GOOGLETEST_ARGUMENTS...]
set -euo pipefail
repository=$(cd "$(dirname "$0")/../.." && pwd)
build=${1:-$repository/build/arm}
shift || true
for program in aarch64-linux-gnu-g++ qemu-aarch64; do
  command -v "$program" >/dev/null || { echo "tests/arm: $program is missing: apt-get install $(tr '\n' ' ' <"$repository/tests/packages.txt")"; exit 1; }
done
mkdir -p "$(dirname "$build")"
cmake -G Ninja -S "$repository/tests/arm" -B "$build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_SYSTEM_NAME=Linux \
  -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ -DCMAKE_CXX_FLAGS_RELEASE="-O2 -DNDEBUG" \
  -DCMAKE_CXX_COMPILER_LAUNCHER="$(command -v ccache || true)" >"$build.log" 2>&1 || { cat "$build.log"; exit 1; }
cmake --build "$build" --target kernels_test --parallel 2
qemu-aarch64 -cpu max -L /usr/aarch64-linux-gnu "$build/kernels/kernels_test" "$@"
