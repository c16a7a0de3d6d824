"""Finds functions and namespace-scope statements in C++ text by its braces. Enough for lint, not a compiler."""
import re
from dataclasses import dataclass

CONTAINER = re.compile(r"\b(namespace|class|struct|union|enum|extern)\b")
LITERAL = re.compile(r'R"(?P<tag>[^()\s]{0,16})\(.*?\)(?P=tag)"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'', re.S)
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
TOKEN = re.compile(LITERAL.pattern.replace("?P<tag>", "?P<raw>").replace("(?P=tag)", "(?P=raw)") + "|" + COMMENT.pattern, re.S)


@dataclass
class Function:
    name: str
    first_line: int
    lines: int


@dataclass
class Statement:
    text: str
    line: int


def blank(text):
    """The same text with comments and the insides of literals blanked; line numbers stay."""

    def erase(match):
        token = match.group(0)
        body = re.sub(r"[^\n]", " ", token)
        return body if token.startswith("/") else '"' + body[2:] + '"' if len(body) > 1 else body

    return TOKEN.sub(erase, text)


def parse(text):
    """Returns (functions, namespace-scope statements, statements inside functions, preprocessor lines in functions)."""
    text = blank(text)
    lines = text.split("\n")
    directives_inside = []
    functions, outer, inner = [], [], []
    stack = []  # (kind, start line, head)
    head, head_line, line = "", 1, 1
    continued = False
    for raw in lines:
        stripped = raw.strip()
        if stripped.startswith("#") or continued:
            if any(kind == "function" for kind, _, _ in stack) and stripped.startswith("#if"):
                directives_inside.append(line)
            continued = stripped.endswith("\\")
            line += 1
            continue
        for char in raw:
            if char == "{":
                stack.append((kind_of(head, stack), head_line if head.strip() else line, head.strip()))
                head = ""
            elif char == "}":
                if stack:
                    kind, start, opened = stack.pop()
                    if kind == "function":
                        functions.append(Function(opened.split("(")[0].split()[-1] if "(" in opened else opened, start, line - start + 1))
                    if kind == "value":
                        head = opened + " {}"
                        continue
                head = ""
            elif char == ";":
                place = inner if any(kind == "function" for kind, _, _ in stack) else outer
                if place is inner or all(kind == "namespace" for kind, _, _ in stack):
                    place.append(Statement(head.strip(), head_line))
                head = ""
            else:
                if not head.strip() and not char.isspace():
                    head_line = line
                head += char
        head += " "
        line += 1
    return functions, outer, inner, directives_inside


def kind_of(head, stack):
    inside = any(kind == "function" for kind, _, _ in stack)
    if inside:
        return "block"
    if re.search(r"\bnamespace\b", head) or re.search(r'\bextern\s+"', head):
        return "namespace"
    if CONTAINER.search(re.sub(r"<[^<>]*>", "", head).split("(")[0]) and "=" not in head:
        return "container"
    if "=" in head.split("(")[0] or "(" not in head:
        return "value"
    return "function"
