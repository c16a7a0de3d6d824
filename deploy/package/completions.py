#!/usr/bin/env python3
"""Writes completions of all programs for bash, zsh and fish.

    deploy/package/completions.py build/release/bin FOLDER     # FOLDER/{bash,zsh,fish}/...
"""
import pathlib
import shlex
import sys

from command_line import read_programs


def words(command):
    return [name for option in command.switches for name in option.names] + [verb.name for verb in command.verbs]


def choices_of(command):
    """(names, choices) of each option that takes one of some words, of the verbs, too."""
    for option in command.switches:
        if option.choices:
            yield option.names, option.choices
    for verb in command.verbs:
        yield from choices_of(verb)


def bash(command):
    function = "_" + command.name.replace("-", "_")
    lines = [f"# completion of {command.name}", f"{function}() {{",
             '    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} verb= i',
             "    COMPREPLY=()", '    case "$before" in']
    for names, choices in choices_of(command):
        lines.append(f"        {'|'.join(names)}) mapfile -t COMPREPLY < <(compgen -W {shlex.quote(' '.join(choices))} -- \"$word\"); return ;;")
    lines.append("    esac")
    if command.verbs:
        lines += ["    for ((i = 1; i < COMP_CWORD; i++)); do", '        case "${COMP_WORDS[i]}" in',
                  f"            {'|'.join(verb.name for verb in command.verbs)}) verb=${{COMP_WORDS[i]}}; break ;;", "        esac", "    done"]
    lines += ["    local words", '    case "$verb" in']
    for verb in command.verbs:
        lines.append(f"        {verb.name}) words={shlex.quote(' '.join(words(verb)))} ;;")
    lines.append(f"        *) words={shlex.quote(' '.join(words(command)))} ;;")
    lines += ["    esac", '    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")', "}",
              f"complete -o bashdefault -o default -F {function} {command.name}"]
    return "\n".join(lines) + "\n"


def zsh_text(text):
    return text.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]").replace(":", "\\:").replace("'", "'\\''")


def zsh_arguments(command):
    for option in command.switches:
        for name in option.names:
            value = ""
            if option.choices:
                value = f":{option.value}:({' '.join(option.choices)})"
            elif option.value:
                value = f":{option.value}:_files"
            yield f"'{'*' if option.several else ''}{name}[{zsh_text(option.help)}]{value}'"


def zsh(command):
    function = "_" + command.name
    lines = [f"#compdef {command.name}", f"{function}() {{", "    local state", "    local -a verbs words=(\"${words[@]}\")"]
    arguments = list(zsh_arguments(command))
    if not command.verbs:
        return "\n".join([*lines[:2], "    _arguments \\", *(f"        {argument} \\" for argument in arguments), "        '*:file:_files'", "}",
                          f'{function} "$@"']) + "\n"
    lines = lines[:2] + ["    local state line", "    local -a verbs", "    verbs=("]
    lines += [f"        '{zsh_text(verb.name)}:{zsh_text(verb.text)}'" for verb in command.verbs]
    lines += ["    )", "    _arguments -C \\", *(f"        {argument} \\" for argument in arguments), "        '1:verb:->verb' '*::argument:->rest'",
              "    case $state in", "        verb) _describe verb verbs ;;", "        rest)", "            case $line[1] in"]
    for verb in command.verbs:
        rest = " ".join(zsh_arguments(verb))
        lines.append(f"                {verb.name}) _arguments {rest} '*:file:_files' ;;")
    return "\n".join([*lines, "            esac ;;", "    esac", "}", f'{function} "$@"']) + "\n"


def fish(command):
    lines = [f"# completion of {command.name}"]

    def add(condition, option):
        parts = ["complete", "-c", command.name, *(["-n", condition] if condition else [])]
        for name in option.names:
            parts += ["-l", name[2:]] if name.startswith("--") else ["-s", name[1:]]
        if option.choices:
            parts += ["-x", "-a", " ".join(option.choices)]
        elif option.value:
            parts.append("-r")
        lines.append(" ".join(map(shlex.quote, [*parts, "-d", option.help])))

    for option in command.switches:
        add("", option)
    for verb in command.verbs:
        lines.append(" ".join(map(shlex.quote, ["complete", "-c", command.name, "-n", "__fish_use_subcommand", "-a", verb.name, "-d", verb.text])))
        for option in verb.switches:
            add(f"__fish_seen_subcommand_from {verb.name}", option)
    return "\n".join(lines) + "\n"


def main():
    programs, folder = map(pathlib.Path, sys.argv[1:3])
    for shell in ("bash", "zsh", "fish"):
        (folder / shell).mkdir(parents=True, exist_ok=True)
    for command in read_programs(programs):
        (folder / "bash" / command.name).write_text(bash(command))
        (folder / "zsh" / f"_{command.name}").write_text(zsh(command))
        (folder / "fish" / f"{command.name}.fish").write_text(fish(command))


if __name__ == "__main__":
    main()
