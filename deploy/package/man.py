#!/usr/bin/env python3
"""Writes the man pages: of each program, from its command line, and of the configuration, from the table of options.

    deploy/package/man.py build/release/bin FOLDER     # FOLDER/inferd.8, inferctl.1, inferd.yaml.5, ...
"""
import pathlib
import re
import subprocess
import sys

from command_line import read_programs

SECTIONS = {"inferd": 8, "inferd-gateway": 8, "inferd-worker": 8, "inferctl": 1, "inferd-model": 1}
TITLES = {1: "User Commands", 5: "File Formats", 8: "System Administration"}
BACKGROUND = {
    "inferd-gateway": "inferd starts it; by hand it is of use for debugging.",
    "inferd-worker": "inferd starts one for each version of a model; by hand it is of use for debugging.",
}
FILES = {"inferd": [("/etc/inferd/inferd.yaml", "the configuration"), ("/var/lib/inferd/models", "models of the packaged configuration"),
                    ("/run/inferd/admin.sock", "what inferctl speaks to")]}
EXIT = "0: done. 1: failed. 2: wrong usage or configuration."


def escape(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.M)


def sentence(text):
    return text if text.endswith((".", ":")) else text + "."


def heading(name, section, title):
    return [f'.TH "{name.upper()}" {section} "" "inferd" "{TITLES[section]}"', ".SH NAME", f"{escape(name)} \\- {escape(title)}"]


def option_lines(option):
    value = ",".join(option.choices) if option.choices else option.value
    names = ", ".join(f"\\fB{escape(name)}\\fR" for name in option.names) or f"\\fI{escape(option.place)}\\fR"
    value = f" \\fI{escape(value)}\\fR" if value and not option.is_positional else ""
    notes = ([f"default: {option.default}"] if option.default else []) + (["required"] if option.required else []) + (["may be repeated"] if option.several else [])
    help_text = option.help + (f" ({'; '.join(notes)})" if notes else "")
    return [".TP", names + value, escape(help_text) or "\\&"]


def usage(command, path):
    places = [f"\\fI{escape(option.place)}\\fR" for option in command.options if option.is_positional]
    verb = ["\\fIVERB\\fR"] if command.verbs else []
    return " ".join([f"\\fB{escape(path)}\\fR", "[\\fIOPTIONS\\fR]", *verb, *places])


def verb_lines(command, path):
    lines = [f'.SS "{escape(command.name)}"', usage(command, path), ".PP", escape(sentence(command.text))]
    for option in command.options:
        if "--help" not in option.names:
            lines += option_lines(option)
    for verb in command.verbs:
        lines += verb_lines(verb, f"{path} {verb.name}")
    return lines


def program_page(command):
    section = SECTIONS[command.name]
    title = command.text.split(":")[0].rstrip(".")
    lines = heading(command.name, section, title[0].lower() + title[1:])
    lines += [".SH SYNOPSIS", usage(command, command.name), ".SH DESCRIPTION", escape(sentence(command.text))]
    if command.name in BACKGROUND:
        lines += [".PP", BACKGROUND[command.name]]
    lines.append(".SH OPTIONS")
    for option in command.options:
        lines += option_lines(option)
    if command.verbs:
        lines.append(".SH VERBS")
        for verb in command.verbs:
            lines += verb_lines(verb, f"{command.name} {verb.name}")
    if files := FILES.get(command.name):
        lines.append(".SH FILES")
        for path, meaning in files:
            lines += [".TP", f"\\fI{escape(path)}\\fR", escape(meaning)]
    lines += [".SH EXIT STATUS", EXIT, ".SH SEE ALSO"]
    others = [f"\\fB{escape(name)}\\fR({number})" for name, number in [*SECTIONS.items(), ("inferd.yaml", 5)] if name != command.name]
    return lines + [", ".join(others)]


def configuration_page(reference):
    lines = heading("inferd.yaml", 5, "configuration of inferd")
    lines += [".SH SYNOPSIS", "\\fI/etc/inferd/inferd.yaml\\fR", ".SH DESCRIPTION",
              "A YAML file. What it does not say has its default. \\fBinferd \\-\\-check\\fR names what is wrong with its line; "
              "\\fBsystemctl reload inferd\\fR takes a changed file into force, or keeps the old one and says why.",
              ".PP", "All options, each behind its type, range and meaning:", ".PP", ".nf", ".ft CR"]
    lines += [escape(line) if line else "\\&" for line in reference.splitlines()]
    return lines + [".ft R", ".fi", ".SH SEE ALSO", "\\fBinferd\\fR(8), \\fBinferctl\\fR(1)"]


def main():
    programs, folder = map(pathlib.Path, sys.argv[1:3])
    folder.mkdir(parents=True, exist_ok=True)
    for command in read_programs(programs):
        (folder / f"{command.name}.{SECTIONS[command.name]}").write_text("\n".join(program_page(command)) + "\n")
    reference = subprocess.run([programs / "inferd", "--print-options"], check=True, capture_output=True, text=True).stdout
    (folder / "inferd.yaml.5").write_text("\n".join(configuration_page(reference)) + "\n")


if __name__ == "__main__":
    main()
