"""The command lines of inferd's programs, as the programs tell them (--describe-command-line).

    for program in read_programs(pathlib.Path("build/release/bin")):
        print(program.name, [option.names for option in program.options])
"""
import dataclasses
import json
import pathlib
import subprocess

PROGRAMS = ("inferd", "inferd-gateway", "inferd-worker", "inferctl", "inferd-model")


@dataclasses.dataclass
class Option:
    names: list[str]
    value: str  # what it takes; "": nothing
    choices: list[str]
    default: str
    help: str
    required: bool
    several: bool
    place: str  # of a positional argument: its name

    @property
    def is_positional(self):
        return not self.names


@dataclasses.dataclass
class Command:
    name: str
    text: str
    footer: str
    options: list[Option]
    verbs: list["Command"]

    @property
    def switches(self):
        return [option for option in self.options if not option.is_positional]


def parse(description):
    options = []
    for given in description["options"]:
        place = given["place"] if given["positional"] else ""
        names = [] if given["positional"] and not any(name.startswith("-") for name in given["names"]) else given["names"]
        options.append(Option(names, given["value"], given["choices"], given["default"], given["help"], given["required"], given["several"], place))
    return Command(description["name"], description["text"], description["footer"], options, [parse(verb) for verb in description["verbs"]])


def read_programs(folder: pathlib.Path):
    """The installed places stand where the programs name the folder that they lie in."""
    for name in PROGRAMS:
        told = subprocess.run([folder / name, "--describe-command-line"], check=True, capture_output=True, text=True).stdout
        yield parse(json.loads(told.replace(str(folder.resolve()), "/usr/bin")))
