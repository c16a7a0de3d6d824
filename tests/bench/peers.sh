#!/usr/bin/env bash
# Builds llama.cpp out of the PyPI source package in the cache folder, outside the tree, and measures it beside inferd.
#
#   tests/bench/peers.sh [--runs N] MODEL.gguf...     side-by-side table of prefill and decode, programs alternating
#   tests/bench/peers.sh --build                      only builds; prints the folder of its programs
#
# The machine may be noisy: each program runs N times (default 3) in turn, and the medians are compared.
set -euo pipefail
cd "$(dirname "$0")/../.."
source deploy/setup.sh

package=llama-cpp-python==0.3.36
peer_dir=$cache_dir/peers/llama.cpp-0.3.36
programs="llama-bench llama-batched-bench llama-server"

build_peer() {
  local work=$peer_dir.work
  [ -x "$peer_dir/bin/llama-bench" ] && return 0
  mkdir -p "$work" "$peer_dir"
  run_quietly "peer: source package" fetch_source "$work" || fail "cannot download $package from PyPI: check the network"
  tar xzf "$work"/llama_cpp_python-*.tar.gz -C "$work" --strip-components=1
  run_quietly "peer: configure" cmake -G Ninja -S "$work/vendor/llama.cpp" -B "$work/build" -DCMAKE_BUILD_TYPE=Release \
    -DGGML_NATIVE=ON -DLLAMA_USE_PREBUILT_UI=OFF -DLLAMA_OPENSSL=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_COMMIT=peer -DBUILD_SHARED_LIBS=OFF ||
    fail "the peer could not be configured"
  # shellcheck disable=SC2086
  run_quietly "peer: build (many minutes)" nice ninja -C "$work/build" $programs || fail "the peer could not be built"
  cp -r "$work/build/bin" "$peer_dir/"
  rm -rf "$work"
}

fetch_source() {
  local venv=$cache_dir/peers/venv
  [ -x "$venv/bin/pip" ] || python3 -m venv "$venv"
  "$venv/bin/pip" install -q scikit-build-core flit-core hatchling setuptools wheel
  "$venv/bin/pip" download -q --no-deps --no-binary :all: --no-build-isolation -d "$1" "$package"
}

runs=3
models=()
while [ $# -gt 0 ]; do
  case $1 in
    --build) build_peer; echo "$peer_dir/bin"; exit 0 ;;
    --runs) runs=$2; shift ;;
    -*) sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 2 ;;
    *) models+=("$1") ;;
  esac
  shift
done
[ ${#models[@]} -gt 0 ] || { sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 2; }
build_peer
exec python3 tests/bench/side_by_side.py --peer "$peer_dir/bin" --ours "${INFERD_BUILD:-build/release}/bin" --runs "$runs" "${models[@]}"
