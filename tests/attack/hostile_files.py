"""Model files that want more than they are: counts and lengths that their bytes, or the disk's, do not carry.

    for attack in ATTACKS:
        attack.make(folder / f"{attack.name}.gguf")
"""
import dataclasses
import os
import struct
from typing import Callable

GIB = 1 << 30
UINT32, FLOAT32, STRING, ARRAY = 4, 6, 8, 9


@dataclasses.dataclass
class Attack:
    name: str
    make: Callable  # of the path
    message: str    # part of what the tools must say
    mebibytes: int = 192  # most that a tool's process may have resident
    cpu_seconds: float = 10


def text(value):
    return struct.pack("<Q", len(value)) + value.encode()


def header(tensors, entries):
    return b"GGUF" + struct.pack("<IQQ", 3, tensors, entries)


def array(key, element, count):
    return text(key) + struct.pack("<IIQ", ARRAY, element, count)


def sparse(path, begin, size):
    """`begin`, and holes up to `size`."""
    with open(path, "wb") as file:
        file.write(begin)
        file.truncate(size)


def dense(path, begin, fill):
    """`begin`, and zeros that the disk holds."""
    block = bytes(1 << 20)
    with open(path, "wb") as file:
        file.write(begin)
        for _ in range(fill >> 20):
            file.write(block)
        os.fsync(file.fileno())


def hole_attack(name, key, element, count, size, **bounds):
    return Attack(name, lambda path: sparse(path, header(0, 1) + array(key, element, count), size), "it is sparse", **bounds)


ATTACKS = [
    hole_attack("sparse strings of 1 GiB", "a.strings", STRING, (GIB >> 3) - 16, GIB),
    hole_attack("sparse strings of 16 GiB", "a.strings", STRING, (16 * GIB >> 3) - 16, 16 * GIB),
    hole_attack("sparse vocabulary of 512 M tokens", "tokenizer.ggml.tokens", STRING, 1 << 29, 5 * GIB),
    hole_attack("sparse merges of 512 M", "tokenizer.ggml.merges", STRING, 1 << 29, 5 * GIB),
    hole_attack("sparse numbers of 16 GiB", "tokenizer.ggml.scores", FLOAT32, 4 * GIB - 64, 16 * GIB),
    Attack("sparse text of 8 GiB", lambda path: sparse(
        path, header(0, 1) + text("tokenizer.chat_template") + struct.pack("<IQ", STRING, 8 * GIB), 9 * GIB), "it is sparse"),
    Attack("sparse table of 64 M tensors", lambda path: sparse(path, header(1 << 26, 0), 4 * GIB), "it is sparse"),
    Attack("sparse entries", lambda path: sparse(path, header(0, 1 << 28), 8 * GIB), "it is sparse"),
    Attack("strings of 1 GiB on the disk", lambda path: dense(
        path, header(0, 1) + array("a.strings", STRING, (GIB >> 3) - 16), GIB),
        "metadata and tensor table may take 134217728 bytes", cpu_seconds=20),
    Attack("tokens of 120 MiB on the disk", lambda path: dense(
        path, header(0, 1) + array("tokenizer.ggml.tokens", STRING, (120 << 20) // 8 - 16), 120 << 20),
        "", mebibytes=640, cpu_seconds=20),  # 15 M views of 16 bytes, and the file
]
