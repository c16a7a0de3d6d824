#!/usr/bin/env python3
"""Measures inferd-model bench and llama.cpp's programs on the same files in turn, and prints the medians side by side."""
import argparse
import json
import os
import statistics
import subprocess

PREFILL, DECODE = 512, 64


def ours(folder, model, threads):
    command = [f"{folder}/inferd-model", "bench", model, "--threads", str(threads), "--prefill", str(PREFILL),
               "--decode", str(DECODE), "--sequences", "1,4,16", "--runs", "2", "--json"]  # the peer warms up, too
    result = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    out = {}
    for row in result["results"]:
        key = "prefill" if row["test"] == "prefill" else f"decode x{row['sequences']}"
        out[key] = row["tokens_per_second"]
        out[key + " share"] = row["share_of_limit"]
    return out


def peer(folder, model, threads):
    command = [f"{folder}/llama-bench", "-m", model, "-t", str(threads), "-p", str(PREFILL), "-n", str(DECODE), "-r", "1", "-o", "json"]
    out = {}
    for row in json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout):
        out["prefill" if row["n_prompt"] else "decode x1"] = row["avg_ts"]
    command = [f"{folder}/llama-batched-bench", "-m", model, "-t", str(threads), "-c", "4096", "-npp", "128", "-ntg", str(DECODE),
               "-npl", "4,16", "--output-format", "jsonl"]
    for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines():
        if line.startswith("{"):
            row = json.loads(line)
            out[f"decode x{row['pl']}"] = row["speed_tg"]
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", required=True)
    parser.add_argument("--ours", required=True)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("models", nargs="+")
    arguments = parser.parse_args()
    print(f"{'model':<36} {'test':<12} {'inferd':>10} {'llama.cpp':>10} {'ratio':>7} {'of limit':>9}   (tokens/s, medians of {arguments.runs})")
    for model in arguments.models:
        runs = [(ours(arguments.ours, model, arguments.threads), peer(arguments.peer, model, arguments.threads))
                for _ in range(arguments.runs)]
        for test in ("prefill", "decode x1", "decode x4", "decode x16"):
            mine = statistics.median(run[0][test] for run in runs)
            theirs = statistics.median(run[1][test] for run in runs)
            share = statistics.median(run[0][test + " share"] for run in runs)
            print(f"{os.path.basename(model)[:36]:<36} {test:<12} {mine:>10.1f} {theirs:>10.1f} {mine / theirs:>7.2f} {share:>9.0%}")


if __name__ == "__main__":
    main()
