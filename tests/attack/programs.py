"""Runs a program and tells what it cost.

    cost = measure([BIN / "inferd-model", "inspect", path])
    cost.code, cost.output, cost.mebibytes, cost.cpu_seconds
"""
import dataclasses
import os
import subprocess
import tempfile


@dataclasses.dataclass
class Cost:
    code: int        # of the exit; the negative number of a signal that ended it
    output: str      # standard output and error
    mebibytes: int   # resident at most, of the process or the largest of its children that it waited for
    cpu_seconds: float


def measure(command):
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        return Cost(code=process.returncode, output=output.read().decode(errors="replace"), mebibytes=usage.ru_maxrss >> 10,
                    cpu_seconds=usage.ru_utime + usage.ru_stime)
