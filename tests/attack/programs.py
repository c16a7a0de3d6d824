"""Runs a program and tells what it cost.

    cost = measure([BIN / "inferd-model", "inspect", path])
    cost.code, cost.output, cost.mebibytes, cost.cpu_seconds
"""
import dataclasses
import json
import subprocess
import sys
import tempfile

# The peak of a new process begins with that of the process that starts it, so that a small one has to.
STARTER = """
import json, os, subprocess, sys
process = subprocess.Popen(sys.argv[2:])
_, status, usage = os.wait4(process.pid, 0)
with open(int(sys.argv[1]), "w") as report:
    json.dump([os.waitstatus_to_exitcode(status), usage.ru_maxrss >> 10, usage.ru_utime + usage.ru_stime], report)
"""


@dataclasses.dataclass
class Cost:
    code: int        # of the exit; the negative number of a signal that ended it
    output: str      # standard output and error
    mebibytes: int   # resident at most, of the process or the largest of its children that it waited for
    cpu_seconds: float


def measure(command):
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as report:
        starter = [sys.executable, "-S", "-c", STARTER, str(report.fileno()), *map(str, command)]
        subprocess.run(starter, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, pass_fds=[report.fileno()], check=True)
        output.seek(0)
        report.seek(0)
        code, mebibytes, cpu_seconds = json.load(report)
        return Cost(code=code, output=output.read().decode(errors="replace"), mebibytes=mebibytes, cpu_seconds=cpu_seconds)
