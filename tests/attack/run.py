#!/usr/bin/env python3
"""Runs the attacks and prints what each was allowed and what it took; exits 1 if a bound was passed. See README.md."""
import itertools
import json
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import hostile_files
import network
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


LINE = "{:36} {:24} {:6} MiB {:5.0f} s {:8} MiB {:6.2f} s  {}"


def attack_files(wanted):
    for attack in hostile_files.ATTACKS:
        if wanted not in attack.name: continue
        with tempfile.TemporaryDirectory() as folder:
            for program, cost, found in run_attack(attack, pathlib.Path(folder)):
                yield not found, LINE.format(attack.name, program, attack.mebibytes, attack.cpu_seconds, cost.mebibytes,
                                             cost.cpu_seconds, "; ".join(found) or "held")


def attack_daemon(wanted):
    attacks = [attack for attack in network.ATTACKS if wanted in attack.name]
    model = os.environ.get("INFERD_TEST_MODEL", os.path.expanduser("~/.cache/inferd/SmolLM2-135M-Instruct.Q4_1.gguf"))
    with tempfile.TemporaryDirectory() as folder:
        if not attacks: return
        with network.daemon_to_attack(folder, model) as daemon:
            for attack in attacks:
                result = network.run_attack(daemon, attack)
                for name, process, bound, cost, verdict in network.rows(attack, result):
                    yield not result.faults, LINE.format(name, process, *bound, *cost, verdict)


def main():
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    failed = False
    print(f"{'attack':36} {'process':24} {'bound':>18} {'measured':>21}")
    for held, line in itertools.chain(attack_files(wanted), attack_daemon(wanted)):
        print(line, flush=True)
        failed = failed or not held
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
