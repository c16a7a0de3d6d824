#!/usr/bin/env python3
"""Runs the attacks and prints what each was allowed and what it took; exits 1 if a bound was passed. See README.md."""
import json
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import hostile_files
import programs

BIN = pathlib.Path(os.environ.get("INFERD_BUILD", "build/release")).resolve() / "bin"


def commands(folder, path):
    """Name and command line of each program that reads model files."""
    config = folder / "inferd.yaml"
    config.write_text(json.dumps({"run_directory": str(folder / "run"), "models": [{"name": "m", "path": str(path)}]}))
    yield "inferd-model inspect", [BIN / "inferd-model", "inspect", path]
    yield "inferd-model verify", [BIN / "inferd-model", "verify", path]
    yield "inferd-model tokenize", [BIN / "inferd-model", "tokenize", path, "--text", "x"]
    yield "inferd --check", [BIN / "inferd", "--check", "--config", config]
    yield "inferd-worker --check", [BIN / "inferd-worker", "--check", "--config", config, "--model", "m"]


def faults(attack, cost, program):
    """What is wrong with how a program took an attack; empty if nothing is."""
    found = []
    if cost.code < 0 or cost.code > 3: found.append(f"ended with {cost.code}")
    if cost.code != 0 and not cost.output.strip(): found.append("ended without a message")
    if cost.code == 0 and program != "inferd-model inspect": found.append("was accepted")
    if cost.code != 0 and attack.message not in cost.output: found.append(f"does not say {attack.message!r}: {cost.output[-300:]}")
    if cost.mebibytes > attack.mebibytes: found.append("memory")
    if cost.cpu_seconds > attack.cpu_seconds: found.append("processor time")
    return found


def run_attack(attack, folder):
    """Yields program, cost and faults of each program."""
    path = folder / "hostile.gguf"
    attack.make(path)
    try:
        for program, command in commands(folder, path):
            cost = programs.measure(command)
            yield program, cost, faults(attack, cost, program)
    finally:
        path.unlink()


def main():
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    failed = False
    print(f"{'attack':36} {'program':24} {'bound':>18} {'measured':>18}")
    for attack in hostile_files.ATTACKS:
        if wanted not in attack.name: continue
        with tempfile.TemporaryDirectory() as folder:
            for program, cost, found in run_attack(attack, pathlib.Path(folder)):
                print(f"{attack.name:36} {program:24} {attack.mebibytes:6} MiB {attack.cpu_seconds:5.1f} s "
                      f"{cost.mebibytes:6} MiB {cost.cpu_seconds:5.2f} s  {'; '.join(found) or 'held'}", flush=True)
                failed = failed or bool(found)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
