#!/usr/bin/env python3
"""The style of templates/: short lines, whole banners, comments that begin with a verb, folders that depend only
downwards, and kernels that take one typed struct. Prints each fault with its file and line."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2] / "templates"
ORDER = ("core", "jit", "matrix", "market", "spmv", "solve")
LEFT = {"api", "spmv", "solve"}  # folders whose texts are not checked yet; their includes are
WIDTH = 100
SUFFIXES = {".c", ".h", ".j2", ".cu", ".cuh"}
FRAGMENT = re.compile(r"(That|Of|And|What|Whether|Also|But|So|Or|If it|As)\b")
INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)
# A comment that ends right above a line that begins a definition at the margin.
COMMENT = re.compile(r"^/\*((?:(?!\*/).)*)\*/\n(?:MBI_PRINTF\(.*\)\n)?(?=[A-Za-z][^;=\n]*\()", re.M | re.S)
KERNEL_COMMENT = re.compile(r"((?:^//.*\n)+)(?=(?:template|MBK_)[^;=\n]*)", re.M)

KERNEL = re.compile(r"^MBK_KERNEL\b(?:\s+MBK_(?:BOUNDS|RESIDENT)\([^)]*\))?\s+(\w+)\(([^)]*)\)", re.M)
PARAMETER = re.compile(r"const mbk_\w+_arguments \w+")


def line_of(text, at):
    return text.count("\n", 0, at) + 1


def faults_of_text(name, text):
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > WIDTH:
            yield f"{name}:{number}: {len(line)} columns, more than {WIDTH}"
        if line.startswith("/* ----") and "*/" not in line:
            yield f"{name}:{number}: a banner that does not end on its line"
    for pattern in (COMMENT, KERNEL_COMMENT):
        for match in pattern.finditer(text):
            words = match.group(1).replace("//", " ").strip()
            if FRAGMENT.match(words):
                first = " ".join(words.split())[:50]
                yield f"{name}:{line_of(text, match.start())}: a function's comment begins with {first!r}"
    if name.endswith(".j2") and not re.search(r"\{[{%]", text):
        yield f"{name}:1: no Jinja in a .j2 file"


def faults_of_arguments(name, text):
    """Launches with an array of pointers, and kernels that take anything but one struct of a name like its own."""
    for match in re.finditer(r"\barguments\[", text):
        yield f"{name}:{line_of(text, match.start())}: an array of arguments, which no compiler checks"
    kernels = list(KERNEL.finditer(text))
    for match in kernels:
        if not PARAMETER.fullmatch(match.group(2).strip()):
            yield f"{name}:{line_of(text, match.start())}: {match.group(1)} does not take one const mbk_..._arguments"
    unread = len(re.findall(r"(?<!#define )\bMBK_KERNEL\b", text)) - len(kernels)
    if unread:
        yield f"{name}:1: {unread} kernels whose parameters this test does not find"


def cycles(graph):
    """Each header that includes itself by way of others."""
    for start in sorted(graph):
        seen, todo = set(), list(graph[start])
        while todo:
            name = todo.pop()
            if name not in seen:
                seen.add(name)
                todo.extend(graph.get(name, ()))
        if start in seen:
            yield f"{start}:1: a cycle of headers leads back here"


def main():
    found, headers, count = [], {}, 0
    for path in sorted(p for p in ROOT.rglob("*") if p.suffix in SUFFIXES):
        name = str(path.relative_to(ROOT))
        text = path.read_text(encoding="utf-8")
        folder = name.split("/")[0]
        count += 1
        if folder not in LEFT:
            found += faults_of_text(name, text)
        found += faults_of_arguments(name, text)
        includes = INCLUDE.findall(text)
        if ".h" in path.suffixes:
            headers[name.removesuffix(".j2")] = includes
        for match in INCLUDE.finditer(text):
            target = match.group(1).split("/")[0]
            if folder in ORDER and target in ORDER and ORDER.index(target) > ORDER.index(folder):
                found.append(f"{name}:{line_of(text, match.start())}: {folder} includes {target}")
    found += cycles(headers)
    print("\n".join(found) or f"{count} files keep to the style")
    return 1 if found or count < 200 else 0


if __name__ == "__main__":
    sys.exit(main())
