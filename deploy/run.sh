#!/usr/bin/env bash
# From a fresh clone to an answer: installs what is needed, builds, fetches the default model and serves it.
#
#   deploy/run.sh                  serves SmolLM2-135M-Instruct
#   deploy/run.sh MODEL.gguf       serves that file
#
# Environment: INFERD_HTTP, INFERD_GRPC (addresses, default 127.0.0.1:8080 and 127.0.0.1:8090), INFERD_CACHE (folder,
# default ~/.cache/inferd). Ctrl-C drains and ends the daemon.
set -euo pipefail
here=$PWD
cd "$(dirname "$0")/.."
source deploy/setup.sh

question="What is the capital of France, and what is it known for?"
http=${INFERD_HTTP:-127.0.0.1:8080}
grpc=${INFERD_GRPC:-127.0.0.1:8090}
run_dir=$cache_dir/run

usage() { sed -n '2,9s/^# \{0,1\}//p' deploy/run.sh; }

model_argument() {
  local model=$1
  [[ $model = /* ]] || model=$here/$model
  [ -f "$model" ] || fail "$1: no such file, expected a model in GGUF format"
  [ -r "$model" ] || fail "$1: you may not read it"
  cmp -s -n 4 "$model" <(printf GGUF) || fail "$1: is no GGUF file, expected a model in GGUF format"
  printf '%s\n' "$model"
}

# Its log, configuration and sockets would be overwritten.
refuse_a_second_run() {
  mkdir -p "$run_dir" || fail "cannot make the folder $run_dir"
  flock -n "$run_dir/lock" true ||
    fail "deploy/run.sh serves already (log: $run_dir/inferd.log): end it with Ctrl-C there, or give this one its own INFERD_CACHE, INFERD_HTTP and INFERD_GRPC"
}

# As a YAML text in single quotes.
quoted() { printf "'%s'" "${1//\'/\'\'}"; }

write_configuration() {
  local model=$1 name
  name=$(basename "$model" .gguf | tr 'A-Z' 'a-z' | tr -c 'a-z0-9._-' '-' | sed 's/-*$//' | cut -c 1-100)
  cat >"$run_dir/inferd.yaml" <<YAML
listen: {http: $(quoted "$http"), grpc: $(quoted "$grpc"), admin: $(quoted "unix:$run_dir/admin.sock")}
run_directory: $(quoted "$run_dir")
models:
  - name: $(quoted "${name:-model}")
    path: $(quoted "$model")
    aliases: [default]
YAML
}

# With what the log says of the end of the daemon or of a worker that was refused.
fail_with_log() {
  local reason
  reason=$(sed -n 's/.*"level":"error".*"reason":"\(\([^"\\]\|\\.\)*\)".*/\1/p' "$run_dir/inferd.log" | tail -n 1)
  [[ $reason != *"address in use"* ]] || reason+=" (INFERD_HTTP and INFERD_GRPC give other addresses)"
  fail "$1: ${reason:-no reason is known}; its log is $run_dir/inferd.log"
}

# Of our daemon: whatever else listens on the port may be ready, too.
is_ready() {
  status=$("$bin/inferctl" --admin "unix:$run_dir/admin.sock" status --json 2>/dev/null || true)
  [[ $status = *'"state":"ready"'* ]] && curl -sf "http://$http/ready" >/dev/null 2>&1
}

wait_until_ready() {
  local tries=0 status
  until is_ready; do
    kill -0 "$daemon" 2>/dev/null || fail_with_log "the daemon ended"
    [[ $status != *'"FAILED"'* ]] || fail_with_log "the model was refused"
    tries=$((tries + 1))
    [ $tries -lt 600 ] || fail_with_log "the daemon is not ready after two minutes"
    read -r -t 0.1 <> <(:) || true
  done
}

# Drains the daemon and waits for its end; a second Ctrl-C meanwhile ends it at once.
stop_daemon() {
  trap 'kill -KILL "$daemon" 2>/dev/null' INT TERM
  kill -TERM "$daemon" 2>/dev/null || true
  wait "$daemon" 2>/dev/null || true
}

[ $# -le 1 ] || { usage; exit 2; }
case ${1:-} in -h | --help) usage; exit 0 ;; esac

# First what can fail at once, last what takes minutes.
model=
[ $# -eq 0 ] || model=$(model_argument "$1") || exit 1
refuse_a_second_run
need_packages deploy/packages.txt
[ -n "$model" ] || model=$(default_model) || exit 1
INFERD_TARGETS="inferd inferd-gateway inferd-worker inferctl inferd-model" build release build/release -DINFERD_TESTS=OFF
write_configuration "$model"

bin=$PWD/build/release/bin
"$bin/inferd" --check --config "$run_dir/inferd.yaml" >/dev/null || exit $?
say "starting inferd with $(basename "$model")"
# In a session of its own: Ctrl-C reaches this script alone, which then asks the daemon to drain.
setsid "$bin/inferd" --config "$run_dir/inferd.yaml" 2>"$run_dir/inferd.log" &
daemon=$!
trap stop_daemon EXIT
trap 'exit 0' INT TERM
wait_until_ready

say "ready; asking: $question"
"$bin/inferctl" --admin "unix:$run_dir/admin.sock" chat default --message "$question" || fail_with_log "no answer"

cat <<TEXT

Go on with one of these (Ctrl-C here ends the daemon; its log is $run_dir/inferd.log):

  curl -N http://$http/v1/chat/completions -H 'Content-Type: application/json' \\
    -d '{"model": "default", "stream": true, "messages": [{"role": "user", "content": "Tell me a joke."}]}'

  # after: pip install openai
  python3 -c 'from openai import OpenAI; c = OpenAI(base_url="http://$http/v1", api_key="none"); print(c.chat.completions.create(model="default", messages=[{"role": "user", "content": "Hello!"}]).choices[0].message.content)'

  $bin/inferctl --admin unix:$run_dir/admin.sock chat

TEXT
wait $daemon
