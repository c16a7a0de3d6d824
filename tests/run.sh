#!/usr/bin/env bash
# Runs every test, after doing all its own set-up on a fresh machine. Ends with a line of totals.
#
#   tests/run.sh            release build, unit tests, lint, end-to-end tests, some seconds of each fuzzer (what CI runs)
#   tests/run.sh --quick    without the end-to-end tests and the fuzzers
#   tests/run.sh --long     also: kernels as ARM programs, Clang with sanitizers, longer fuzzing, thread sanitizer, soak
#
# INFERD_FUZZ_SECONDS sets how long each fuzzer runs.
set -uo pipefail
here=$PWD
cd "$(dirname "$0")/.."
source deploy/setup.sh

mode=${1:-all}
[ $# -le 1 ] || fail "one option at most, --quick or --long"
case $mode in
  all | --quick | --long) ;;
  -h | --help) sed -n '2,8s/^# \{0,1\}//p' tests/run.sh; exit 0 ;;
  *) fail "unknown option $mode, expected --quick or --long" ;;
esac
fuzz_seconds=${INFERD_FUZZ_SECONDS:-$([ "$mode" = --long ] && echo 60 || echo 10)}

results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
failures=0

# check LABEL COMMAND...: runs one check; a failure is counted and the rest goes on.
check() {
  local label=$1
  shift
  say "$label"
  if ! "$@"; then
    failures=$((failures + 1))
    printf 'FAILED: %s\n' "$label"
  fi
}

# ctest_in FOLDER NAME [CTEST ARGUMENT...]: unit tests, with one result file for each test program.
ctest_in() {
  local folder=$1 name=$2
  shift 2
  mkdir -p "$results/$name"
  GTEST_OUTPUT=xml:$results/$name/ ctest --test-dir "$folder" --no-tests=error --output-on-failure --timeout 900 -j 2 "$@"
}

run_fuzzers() {
  local fuzzer status=1 name  # no fuzzer at all is a failure too
  for fuzzer in $(find build/clang -name '*_fuzz' -type f -executable | sort); do
    name=$(basename "$fuzzer")
    [ -e "$results/corpus" ] || status=0
    mkdir -p "$results/corpus/$name"
    local seeds=()
    [ -d "tests/fuzz/$name" ] && seeds=("tests/fuzz/$name")
    run_quietly "$name for $fuzz_seconds s" "$fuzzer" -max_total_time="$fuzz_seconds" -timeout=10 -rss_limit_mb=2048 \
      -artifact_prefix="$results/" "$results/corpus/$name" "${seeds[@]}" || status=1
  done
  return $status
}

pytest_in() {
  local name=$1
  shift
  "$python/bin/python" -m pytest -q --junitxml="$results/$name.xml" "$@"
}

need_packages deploy/packages.txt tests/packages.txt
python=$(python_environment test-venv tests/requirements.txt) || exit 1
model=$(default_model) || exit 1
export INFERD_TEST_MODEL=$model
oracle_archs=../shared/oracles/archs/make_models.py
if [ -f "$oracle_archs" ]; then
  export INFERD_TEST_ARCHS=$cache_dir/archs
  mkdir -p "$INFERD_TEST_ARCHS"
  check "making the oracles' small models" run_quietly "models" "$python/bin/python" "$oracle_archs" "$INFERD_TEST_ARCHS"
fi

build release build/release -DINFERD_TESTS=ON -DINFERD_GPU_EMULATOR=ON
check "unit tests" ctest_in build/release release
check "lint: layers, lengths, bans" "$python/bin/python" tests/lint/check.py
check "lint: kernels call nothing" "$python/bin/python" tests/lint/check.py --symbols build/release/kernels/libinferd_kernels.a
check "lint: format" bash -o pipefail -c "git ls-files '*.cc' '*.h' | xargs clang-format --dry-run -Werror"
check "lint: each rule is seen when broken" pytest_in lint tests/lint

if [ "$mode" != --quick ]; then
  export INFERD_BUILD=$PWD/build/release
  check "end to end" pytest_in e2e tests/e2e $([ "$mode" = --long ] && echo --long)
fi

if [ "$mode" = all ]; then
  INFERD_TARGETS=fuzzers build asan build/clang -DCMAKE_CXX_COMPILER=clang++ -DINFERD_FUZZERS=ON
  check "fuzzing" run_fuzzers
fi

if [ "$mode" = --long ]; then
  check "kernels as ARM programs" tests/arm/run.sh build/arm --gtest_brief=1 --gtest_output="xml:$results/arm.xml"
  # One Clang tree serves three purposes: our code is clean under its warnings, the sanitizers watch the unit tests,
  # and libFuzzer drives the parsers.
  build asan build/clang -DCMAKE_CXX_COMPILER=clang++ -DINFERD_FUZZERS=ON
  check "same bits, many rounds" env INFERD_TEST_ROUNDS=40 build/release/engine/generation/generation_test --gtest_brief=1 \
    --gtest_filter="*Bits*" --gtest_output="xml:$results/bits.xml"
  check "unit tests, address and undefined-behaviour sanitizers" ctest_in build/clang sanitized -LE slow
  check "fuzzing" run_fuzzers
  INFERD_TARGETS="$(tr '\n' ' ' <tests/thread_sanitizer_targets.txt)" build tsan build/tsan -DINFERD_SERVICES=OFF
  check "unit tests, thread sanitizer" ctest_in build/tsan threads -R "^($(paste -sd'|' tests/thread_sanitizer_targets.txt))\$"
fi

"$python/bin/python" tests/totals.py "$results" "$failures"
