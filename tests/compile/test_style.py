#!/usr/bin/env python3
"""Check the style of C sources: short lines, complete banners, comments that begin like sentences. In templates/ also check
that functions' comments begin with a verb, folders depend only downwards, kernels take one typed struct, methods' tables
name each field, and changes of GCC's optimisation are undone. Prints each fault with its file and line."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADER = "templates/merbit.h.j2"
FOLDERS = ("templates", "tests", "bench", "examples", "python", "cmake", "dist", "test_package")
ORDER = ("core", "jit", "matrix", "market", "spmv", "solve")
WIDTH = 100
SUFFIXES = {".c", ".h", ".j2", ".cu", ".cuh", ".cpp"}
FRAGMENT = re.compile(r"(That|Of|And|What|Whether|Also|But|So|Or|As|If it)\b")
# "Returns", of several functions "Return", a listing's "Line 3" and "Phase 1", a task's "First pass".
VERB = re.compile(r"([A-Z][a-z]*s|Return|Convert|Line \d+|Phase \d|(First|Second) pass)\b")
DEFINITION = re.compile(r"(template <.*> *)?(?!template|typedef|struct|enum|union|extern)[A-Za-z][^;=\"{]*\(")
STRUCT = re.compile(r"(template <.*>)?\s*(struct|typedef|enum|union)\b")
DECLARATIONS = re.compile(r"[\w/]+\.c\b")  # the file that defines the functions declared below
BANNER = re.compile(r"\s*(/\*|//) ?-{4}")
WHOLE_BANNER = re.compile(r"(/\* ---- \S.* -{3,} \*/|// ---- \S.* -{3,})$")
INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)
KERNEL = re.compile(r"^MBK_KERNEL(?:_[12])?\b(?:\s+MBK_(?:BOUNDS|RESIDENT)\([^)]*\))?\s+(\w+)\(([^)]*)\)", re.M)
PARAMETER = re.compile(r"((?:MBK_GRID_CONSTANT|const) mbk_\w+_arguments \w+|MBK_BY_FIELD\(mbk_\w+_arguments, \w+\)?)$")
QUIET = re.compile(r'"(?:\\.|[^"\\\n])*"|/\*.*?\*/|//[^\n]*', re.S)  # strings and comments
WINDOWS = re.compile(r"\b(near|far|small)\b")
RECORD = r"typedef struct mbi_%s_method \{(.*?)\n\} mbi_%s_method;"
FIELD = re.compile(r"\(\*(\w+)\)\(|^  [a-z][\w ]*[ *](\w+);", re.M)
TABLE = re.compile(r"const mbi_(cuda|cpu)_method (mbi_\w+) = \{(.*?)\};", re.S)
JINJA = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}")


def line_of(text, at):
    return text.count("\n", 0, at) + 1


def comments(lines):
    """Yields each comment that begins a line: the line's number, its text, the two lines below it."""
    at = 0
    while at < len(lines):
        start, text = at, lines[at].strip()
        if text.startswith("/*"):
            while at + 1 < len(lines) and "*/" not in lines[at]:
                at += 1
        elif text.startswith("//"):
            while at + 1 < len(lines) and lines[at + 1].strip().startswith("//"):
                at += 1
        if text.startswith(("/*", "//")):
            yield start + 1, text[2:].removesuffix("*/").strip(), (lines[at + 1 : at + 3] + ["", ""])[:2]
        at += 1


def faults_of_control(name, text):
    """Yields a fault if MBI_CONTROL_BEGIN and MBI_CONTROL_END do not alternate: code after the header would lose its level."""
    marks = re.findall(r"^MBI_CONTROL_(BEGIN|END)$", text, re.M)
    if not marks or len(marks) % 2 or marks != ["BEGIN", "END"] * (len(marks) // 2):
        yield f"{name}: MBI_CONTROL_BEGIN and MBI_CONTROL_END do not alternate"


def faults_of_text(name, text):
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        width = len(JINJA.sub("", line) if name.endswith(".j2") else line)
        if width > WIDTH:
            yield f"{name}:{number}: {width} columns, more than {WIDTH}"
        if BANNER.match(line) and not WHOLE_BANNER.match(line):
            yield f"{name}:{number}: a broken banner"
    for number, words, below in comments(lines):
        if FRAGMENT.match(words):
            yield f"{name}:{number}: a comment begins with {words[:50]!r}"
        elif name.startswith("templates/") and number > 1 and not DECLARATIONS.match(words):
            if DEFINITION.match(below[0]) or (below[0].startswith("template") and not STRUCT.match(below[1])):
                if not STRUCT.match(below[0]) and not VERB.match(words):
                    yield f"{name}:{number}: a function's comment begins with {words[:50]!r}"


def faults_of_words(name, text):
    """Yields names that are macros of windows.h."""
    code = QUIET.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    for match in WINDOWS.finditer(code):
        yield f"{name}:{line_of(code, match.start())}: {match[0]!r} is a macro of windows.h"


def faults_of_arguments(name, text):
    """Yields launches with an array of pointers, and kernels that do not take exactly one struct named after them."""
    for match in re.finditer(r"\barguments\[", text):
        yield f"{name}:{line_of(text, match.start())}: an array of arguments, which no compiler checks"
    kernels = list(KERNEL.finditer(text))
    for match in kernels:
        if not PARAMETER.fullmatch(match.group(2).strip()):
            yield f"{name}:{line_of(text, match.start())}: {match.group(1)} does not take one const mbk_..._arguments"
    unread = len(re.findall(r"(?<!#define )\bMBK_KERNEL(?:_[12])?\b", re.sub(r"//.*", "", text))) - len(kernels)
    if unread:
        yield f"{name}:1: {unread} kernels whose parameters this test does not find"


def faults_of_methods(files):
    """Yields tables of a method's functions whose comments are not the fields' names in their order."""
    shared = files["spmv/shared/shared.h"]
    for name, text in files.items():
        for match in TABLE.finditer(text):
            record = re.search(RECORD % (match[1], match[1]), shared, re.S)[1]
            fields = [a or b for a, b in FIELD.findall(record)]
            if re.findall(r"/\* (\w+) \*/\n", match[3]) != fields:
                yield f"templates/{name}:{line_of(text, match.start())}: {match[2]} does not name {', '.join(fields)}"


def cycles(graph):
    """Yields each header that includes itself through others."""
    for start in sorted(graph):
        seen, todo = set(), list(graph[start])
        while todo:
            name = todo.pop()
            if name not in seen:
                seen.add(name)
                todo.extend(graph.get(name, ()))
        if start in seen:
            yield f"templates/{start}:1: a cycle of headers leads back here"


def faults_of_layers(files):
    """Yields includes that lead upwards, cycles of headers, and templates without Jinja; `files`: {name: text}."""
    headers = {}
    for name, text in files.items():
        folder = name.split("/")[0]
        if re.search(r"\.h(\.j2)?$", name):
            headers[name.removesuffix(".j2")] = INCLUDE.findall(text)
        for match in INCLUDE.finditer(text):
            target = match.group(1).split("/")[0]
            if folder in ORDER and target in ORDER and ORDER.index(target) > ORDER.index(folder):
                yield f"templates/{name}:{line_of(text, match.start())}: {folder} includes {target}"
        if name.endswith(".j2") and not re.search(r"\{[{%]", text):
            yield f"templates/{name}:1: no Jinja in a .j2 file"
    yield from cycles(headers)


def main():
    found, templates, count = [], {}, 0
    for folder in FOLDERS:
        for path in sorted(p for p in (ROOT / folder).rglob("*") if p.suffix in SUFFIXES):
            text = path.read_text(encoding="utf-8")
            name = path.relative_to(ROOT).as_posix()
            found += faults_of_text(name, text)
            if folder == "templates":
                found += faults_of_arguments(name, text)
                found += faults_of_words(name, text)
                found += faults_of_control(name, text) if name == HEADER else ()
                templates[path.relative_to(ROOT / folder).as_posix()] = text
            count += 1
    found += faults_of_layers(templates)
    found += faults_of_methods(templates)
    print("\n".join(found) or f"{count} files keep to the style")
    return 1 if found or count < 400 else 0


if __name__ == "__main__":
    sys.exit(main())
