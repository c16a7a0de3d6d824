#!/usr/bin/env python3
"""Checks what nvcc made of the kernels: tensor and dot product instructions where they belong, no spills to local memory.

    kernels/cuda/check_code.py CUOBJDUMP OBJECT ARCHITECTURE...     (80 86 ...)

Exits 1 and names each kernel and architecture at fault; a kernel that is not there is a fault, too.
"""
import re
import subprocess
import sys

# Kernels that have to be there, and an instruction that each has to have or None. No kernel at all may spill.
KERNELS = {"MultiplyMatrix": "IMMA", "MultiplyVector": "IDP", "MultiplyFloats": "FFMA", "AttendSpans": "FFMA", "MergeSpans": "FFMA",
           "RmsNorm": "FFMA", "QuantizeBlocks32": "SHFL", "QuantizeBlocks256": "SHFL", "WriteKv": None, "Rope": "FFMA", "TopK": "SHFL"}
QUANTIZED_TYPES = ("Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ4_NL", "MXFP4", "IQ4_XS",
                   "TQ1_0", "TQ2_0")
LOCAL_MEMORY = re.compile(r"\b(LDL|STL)\b")


def functions(listing):
    """{kernel's mangled name: its instructions} of a listing of cuobjdump -sass."""
    parts = re.split(r"^\s*Function : (\S+)$", listing, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def check(listing, architecture):
    code = functions(listing)
    for kernel, instruction in KERNELS.items():
        own = {name: text for name, text in code.items() if re.search(rf"\d{kernel}(?![a-z0-9])", name)}
        if not own:
            yield f"sm_{architecture}: no kernel {kernel}"
        for name, text in own.items():
            if instruction and not re.search(rf"\b{instruction}\b", text):
                yield f"sm_{architecture}: {name} has no {instruction}"
    for name, text in code.items():
        if LOCAL_MEMORY.search(text):
            yield f"sm_{architecture}: {name} spills registers or keeps arrays in local memory"
    for kernel in ("MultiplyVector", "MultiplyMatrix"):
        for kind in QUANTIZED_TYPES:
            if not any(kernel in name and f"Type{kind}" in name for name in code):
                yield f"sm_{architecture}: no kernel {kernel} for {kind}"


def main(cuobjdump, library, *architectures):
    problems = []
    for architecture in architectures:
        run = subprocess.run([cuobjdump, "-sass", "-arch", f"sm_{architecture}", library], capture_output=True, text=True)
        if run.returncode != 0:
            problems.append(f"sm_{architecture}: {run.stderr.strip() or run.stdout.strip()}")
        else:
            problems += check(run.stdout, architecture)
    print("\n".join(problems) if problems else f"code of sm_{', sm_'.join(architectures)}: as expected")
    return 1 if problems or not architectures else 0


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
