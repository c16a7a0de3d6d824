"""Attacks on a daemon that runs, each with what it may cost the processes beyond what they had.

    with daemon_to_attack(folder, model) as daemon:
        for attack in ATTACKS:
            result = run_attack(daemon, attack)
            result.costs["gateway"], result.neighbour.answered, result.faults
"""
import dataclasses
import hashlib
import json
import pathlib
import resource
import sys
from typing import Callable

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "e2e"))
import connections
import messages
import victim
from daemon import Daemon


@dataclasses.dataclass
class NetworkAttack:
    name: str
    run: Callable        # of the daemon; returns what went wrong
    gateway: tuple       # most mebibytes beyond what it had, and seconds of processor time
    worker: tuple = (32, 20)

    def bounds(self):
        return {"gateway": self.gateway, "worker": self.worker, "supervisor": SUPERVISOR}


@dataclasses.dataclass
class Result:
    costs: dict
    neighbour: victim.Neighbour
    faults: list


SUPERVISOR = (24, 20)
# Bounds are about three times what was measured, at least 24 MiB and 20 seconds of a slow processor: an attack that costs
# a multiple is a fault, a busy machine is none. The neighbour's requests count, too.
ATTACKS = [
    NetworkAttack("smuggling", connections.smuggling, (24, 20)),
    NetworkAttack("300 slow heads", connections.slow_heads, (48, 20)),
    NetworkAttack("300 slow bodies", connections.slow_bodies, (48, 20)),
    NetworkAttack("950 resets", connections.resets, (96, 30), (64, 60)),
    NetworkAttack("pipeline of 1000", connections.pipeline, (32, 20)),
    NetworkAttack("pipeline that is not read", connections.pipeline_unread, (64, 60)),
    NetworkAttack("5000 idle connections", connections.idle, (256, 30)),
    NetworkAttack("5 x 5 M elements without a key", messages.elements_without_key, (256, 30)),
    NetworkAttack("5 M elements with a key", messages.elements_with_key, (128, 30), (128, 30)),
    NetworkAttack("300 MB as 300 KB of gzip", messages.compressed, (48, 20)),
    NetworkAttack("six JSON bodies of 10 MB", messages.large_bodies, (768, 60), (384, 30)),
    NetworkAttack("eight JSON bodies of 10 MB at once", messages.bodies_at_once, (1280, 60), (384, 30)),
    NetworkAttack("three texts of 5 MB", messages.large_texts, (768, 60), (512, 120)),
    NetworkAttack("grammar, regex and schema bombs", messages.constraint_bombs, (256, 60), (512, 150)),
    NetworkAttack("300 wrong keys", messages.wrong_keys, (24, 20)),  # last: the address is slowed down by it
]


def daemon_to_attack(folder, model):
    """Asks for a key of which the neighbour has one, hangs up on slow clients soon, and bounds the worker's memory."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 20000)), hard))
    keys = pathlib.Path(folder) / "keys.yaml"
    keys.write_text(json.dumps({"keys": [{"name": name, "sha256": hashlib.sha256(key.encode()).hexdigest()}
                                         for name, key in (("attacker", messages.KEY), ("neighbour", "other"))]}))
    models = [{"name": "smollm2", "path": str(model), "context": 2048, "kv_cache": {"bytes": "64MiB"}, "memory_limit": "1GiB"}]
    extra = {"auth": {"keys_file": str(keys)}, "limits": {"header_timeout": "2s", "body_timeout": "2s"}}
    return Daemon(folder, models, extra=extra)


def run_attack(daemon, attack):
    pids = victim.processes(daemon)
    with victim.Neighbour(daemon, key="other") as neighbour:
        meters = {name: victim.Meter(pid) for name, pid in pids.items()}
        faults = attack.run(daemon)
    costs = {name: meter.read() for name, meter in meters.items()}
    bounds = attack.bounds()
    for name, (mebibytes, seconds) in costs.items():
        if mebibytes > bounds[name][0]: faults.append(f"{name}: {mebibytes} MiB, expected at most {bounds[name][0]}")
        if seconds > bounds[name][1]: faults.append(f"{name}: {seconds:.1f} s of processor time, expected at most {bounds[name][1]}")
    if victim.processes(daemon) != pids: faults.append("a process ended")
    return Result(costs, neighbour, faults + neighbour.faults)


def rows(attack, result):
    """Of the table: attack, process, bound, measured, held or why not."""
    for name, bound in attack.bounds().items():
        yield attack.name, name, bound, result.costs[name], "; ".join(result.faults) or (
            f"held; {result.neighbour.answered} other requests answered, the slowest in {result.neighbour.slowest_seconds:.1f} s"
            if name == "gateway" else "held")
