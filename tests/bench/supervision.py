#!/usr/bin/env python3
"""Measures what swaps, crashes and a thousand models cost, on the real programs, and prints a table.

    INFERD_BUILD=build/release tests/bench/supervision.py MODEL.gguf [swap killed_worker ...]
"""
import argparse
import datetime
import json
import os
import pathlib
import signal
import socket
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from daemon import Daemon, wait_for  # noqa: E402
from load import Load, ask  # noqa: E402
from percentile import percentile  # noqa: E402

QUICK = {"supervisor": {"restart": {"first_delay": "10ms", "max_delay": "100ms", "max": 1000}}}
CLIENTS = 16
SWAPS = 7
STREAM = {"model": "m", "prompt": "Count:", "max_tokens": 160, "temperature": 0, "ignore_eos": True, "stream": True}


def model(path):
    return {"name": "m", "path": str(path), "context": 2048, "kv_cache": {"bytes": "256MiB"}}


def row(what, value, goal):
    print(f"| {what} | {value} | {goal} |", flush=True)


def moments(daemon, mark):
    """When (on the monotonic clock) the new worker of the newest swap was started and ready, and when the old one was gone."""
    offset = time.time() - time.monotonic()
    found = {}
    for line in daemon.log_lines()[mark:]:
        if line.get("child", "").startswith("worker") and line["message"] in ("started", "ready", "stopped"):
            stamp = datetime.datetime.fromisoformat(line["time"].replace("Z", "+00:00"))
            found.setdefault(line["message"], stamp.timestamp() - offset)
    return found


def longest(gaps, begin, end):
    """The longest gap that lies for its greater part, and for 5 ms at least, within begin..end."""
    inside = [b - a for a, b in gaps if min(b, end) - max(a, begin) >= max(0.005, (b - a) / 2)]
    return max(inside, default=0.0)


def swap(folder, path):
    """Failed requests, and the gaps between tokens while the new worker loads and while both serve."""
    with Daemon(folder, [model(path)], QUICK) as daemon, Load(daemon.http_port, "m", CLIENTS) as load:
        wait_for(lambda: load.done() >= 3 * CLIENTS, 300, "answers")
        usual = load.gaps()
        usual_first = sorted(first - began for began, first in load.first_tokens)
        swaps = []
        for _ in range(SWAPS):
            mark = len(daemon.log_lines())
            assert daemon.inferctl("swap", "m").returncode == 0
            wait_for(lambda mark=mark: "stopped" in moments(daemon, mark), 60, "the old worker's end")
            swaps.append(moments(daemon, mark))
            have = load.done()
            wait_for(lambda have=have: load.done() >= have + CLIENTS, 300, "answers")
        with load.lock:
            gaps = [pair for times in load.times for pair in zip(times, times[1:])]
        firsts = sorted(first - began for began, first in load.first_tokens
                        if any(began < swap["stopped"] and first > swap["ready"] for swap in swaps))
    loading = sorted(longest(gaps, swap["started"], swap["ready"]) for swap in swaps)
    switching = sorted(longest(gaps, swap["ready"], swap["stopped"]) for swap in swaps)
    together = sorted(swap["stopped"] - swap["ready"] for swap in swaps)
    row("swap under 16 clients: failed or altered of all", f"{len(load.failed) + len(load.altered)} of {load.done()}", "0")
    row("token gap, usual p50 / p99", f"{percentile(usual, 0.5) * 1e3:.0f} / {percentile(usual, 0.99) * 1e3:.0f} ms", "")
    for what, values, goal in (("while the new worker loads", loading, ""), ("at the switch, both at work", switching, "2x the usual p99")):
        row(f"longest token gap {what}, median / worst of {SWAPS} swaps", f"{percentile(values, 0.5) * 1e3:.0f} / {values[-1] * 1e3:.0f} ms", goal)
    row("first token, usual median / longest", f"{percentile(usual_first, 0.5) * 1e3:.0f} / {usual_first[-1] * 1e3:.0f} ms", "")
    row("first token of requests at the switch, median / longest", f"{percentile(firsts, 0.5) * 1e3:.0f} / {firsts[-1] * 1e3:.0f} ms", "")
    row("time that both are at work, median", f"{percentile(together, 0.5) * 1e3:.0f} ms", "")


def killed_worker(folder, path):
    """From the spawn to ready, and from ready to the next token of the streams that went on."""
    with Daemon(folder, [model(path)], QUICK) as daemon:
        expected = ask(daemon.http_port, "/v1/completions", STREAM)
        answers, ready_after, resumed_after = [], [], []
        for _ in range(5):
            kept = []
            threads = [threading.Thread(target=lambda: kept.append(ask(daemon.http_port, "/v1/completions", STREAM))) for _ in range(4)]
            for thread in threads:
                thread.start()
            wait_for(lambda: "inferd_requests_running{model=\"m\",version=\"1\"} 4" in daemon.get("/metrics")[1], 30, "four streams")
            time.sleep(0.3)
            [pid] = daemon.children()["inferd-worker"]
            mark = len(daemon.log_lines())
            os.kill(pid, signal.SIGKILL)
            killed = time.monotonic()
            wait_for(lambda: any(line.get("msg") == "ready" or line.get("message") == "ready" for line in daemon.log_lines()[mark:]), 30, "readiness")
            ready = time.monotonic()
            for thread in threads:
                thread.join()
            ready_after.append(daemon.status()["workers"][0]["ready_after_ms"])
            for answer in kept:
                later = [moment for moment in answer.times if moment > killed + 0.005]
                resumed_after.append(max(0.0, later[0] - ready) if later else 0.0)
            answers += kept
    broken = sum(answer.error is not None or answer.content != expected.content for answer in answers)
    row("worker killed: streams broken or altered", f"{broken} of {len(answers)}", "0")
    row("worker killed: ready after the spawn, longest of 5", f"{max(ready_after)} ms", "200 ms")
    row("worker killed: next token after readiness, longest", f"{max(resumed_after) * 1e3:.0f} ms", "1000 ms")


def killed_gateway(folder, path):
    """From the kill to the first answer of the new one; connections are tried all the time."""
    with Daemon(folder, [model(path)], QUICK) as daemon:
        gaps, refused = [], 0
        for _ in range(5):
            wait_for(daemon.is_ready, 30, "readiness")
            [pid] = daemon.children()["inferd-gateway"]
            os.kill(pid, signal.SIGKILL)
            killed = time.monotonic()
            try:
                with socket.create_connection(("127.0.0.1", daemon.http_port), timeout=10) as connection:
                    connection.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
                    assert connection.recv(64).startswith(b"HTTP/1.1 200")
            except ConnectionRefusedError:
                refused += 1
            gaps.append(time.monotonic() - killed)
    row("gateway killed: refused connections", f"{refused} of 5", "0")
    row("gateway killed: until the next answer, median / longest of 5", f"{sorted(gaps)[2] * 1e3:.0f} / {max(gaps) * 1e3:.0f} ms", "200 ms")


def thousand_models(folder, path):
    models = []
    for i in range(1000):
        link = folder / f"model-{i}.gguf"
        link.symlink_to(path)
        models.append({"name": f"model-{i}", "path": str(link), "preload": False})
    started = time.monotonic()
    with Daemon(folder, models, QUICK) as daemon:
        up = time.monotonic() - started
        changed = [dict(entry) for entry in models]
        changed[7]["aliases"] = ["default"]
        daemon.models = changed
        daemon.write_config()
        began = time.monotonic()
        result = daemon.inferctl("reload")
        took = time.monotonic() - began
        assert result.stdout == "model-7: aliases changed\n", result
        status = pathlib.Path(f"/proc/{daemon.process.pid}/status").read_text()
        resident = next(int(line.split()[1]) >> 10 for line in status.splitlines() if line.startswith("VmRSS:"))
        began = time.monotonic()
        status, body = daemon.post("/v1/completions", {"model": "model-500", "prompt": "Hi", "max_tokens": 1})
        assert status == 200, json.dumps(body)
        first = time.monotonic() - began
    row("1000 models, none loaded: start to ready", f"{up * 1e3:.0f} ms", "")
    row("1000 models, none loaded: resident memory of the supervisor", f"{resident} MiB", "64 MiB")
    row("1000 models, none loaded: reload", f"{took * 1e3:.0f} ms", "1000 ms")
    row("request for an unloaded model, with its load", f"{first * 1e3:.0f} ms", "")


MEASURES = {"swap": swap, "killed_worker": killed_worker, "killed_gateway": killed_gateway, "thousand_models": thousand_models}


def measure_name(text):
    if text not in MEASURES:
        raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(MEASURES)}")
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", metavar="MODEL", type=pathlib.Path, help="GGUF file")
    parser.add_argument("measures", metavar="MEASURE", nargs="*", type=measure_name, help=f"of {', '.join(MEASURES)}; all if none is named")
    arguments = parser.parse_args()
    if not arguments.model.is_file():
        parser.error(f"MODEL: there is no file {arguments.model}")
    print("| what | measured | goal |\n|---|---|---|")
    for name in arguments.measures or MEASURES:
        with tempfile.TemporaryDirectory(prefix="inferd-bench-") as folder:
            MEASURES[name](pathlib.Path(folder), arguments.model.resolve())


if __name__ == "__main__":
    main()
