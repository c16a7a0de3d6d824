#!/usr/bin/env python3
"""Writes snippets.json: what Python's jinja2, with the settings of the transformers library, makes of snippets.txt.

snippets.txt holds one template a line, "\\n" and "\\r" for line breaks and "\\\\" for a backslash; lines that begin with
"## " are headings. Run this after adding lines, with jinja2 3.1 installed; never edit snippets.json by hand.
"""
import datetime
import json
import pathlib
import re

import jinja2
import jinja2.ext
import jinja2.nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

FOLDER = pathlib.Path(__file__).parent


class GenerationBlocks(jinja2.ext.Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller):
        return caller()


def to_json(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def environment():
    result = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[GenerationBlocks, jinja2.ext.loopcontrols])
    result.filters["tojson"] = to_json
    result.globals["raise_exception"] = raise_exception
    result.globals["strftime_now"] = datetime.datetime(2026, 11, 29, 12, 34, 56).strftime
    return result


def unescape(line):
    return re.sub(r"\\(.)", lambda match: {"n": "\n", "r": "\r"}.get(match[1], match[1]), line)


def main():
    context = json.loads((FOLDER / "context.json").read_text(encoding="utf-8"))
    jinja = environment()
    rows = []
    heading = ""
    for line in (FOLDER / "snippets.txt").read_text(encoding="utf-8").split("\n"):
        if line.startswith("## "):
            heading = line[3:]
        elif line:
            row = {"about": heading, "template": unescape(line)}
            try:
                row["text"] = jinja.from_string(row["template"]).render(**context)
            except Exception as error:  # whatever Python raises is an error of the template
                row["error"] = f"{type(error).__name__}: {error}"
            rows.append(row)
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    (FOLDER / "snippets.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    print(len(rows), "snippets,", sum("error" in row for row in rows), "of them errors")


if __name__ == "__main__":
    main()
