#!/usr/bin/env python3
"""Split merbit.h for the tests: tests/split.py merbit.h FOLDER

FOLDER/merbit.h declares all that merbit.h has, internal functions and tables too, and FOLDER/merbit.c defines them, line
for line as they stand, but not static. Programs that include FOLDER's header and link its one object test the same text
without compiling all of it each. This relies on the layout that clang-format gives: a definition begins in the first
column and ends with a brace there.
"""
import pathlib
import re
import sys

BEGIN = "#define MERBIT_IMPLEMENTATION_DONE\n"
HEAD = re.compile(r"(?:MBI_PRINTF\(\d, \d\)\s)?(?:static |MBS_FUNCTION |MERBIT_API )|MBI_PRINTF\(")
C_LINKAGE = "\n#ifdef __cplusplus\n%s\n#endif\n"
CONSTANT = re.compile(r"static const (?:struct|uint64_t \w+\[).*\{\n|static const [^(]*=.*;\n", re.S)  # in both
MACRO = re.compile(r"MBI_(?!PRINTF)\w+\(.*\)$")  # defines functions that only tables name


def pieces(lines):
    """Pairs: what the header and what the source says of a thing."""
    lines = iter(lines)
    for text in lines:
        if MACRO.match(text):
            yield "", text
            continue
        if not HEAD.match(text):
            while text.startswith("#") and text.endswith("\\\n"):
                text += next(lines)
            yield text, text
            continue
        while not text.endswith(("{\n", ";\n")):
            text += next(lines)
        head = re.sub(r"\b(?:static|MBS_FUNCTION) ", "", text, count=1)
        if CONSTANT.match(text):
            yield text, text
        elif text.endswith(";\n"):
            yield head, head
        else:
            table = head.endswith(" = {\n")
            body = "\n"
            while not body.endswith("};\n" if table else "\n}\n"):
                body += next(lines)
            name = head.removesuffix("{\n").removesuffix("= ").rstrip() + ";\n"
            yield "" if "MERBIT_API " in head else "extern " + name if table else name, head + body[1:]


def main():
    source = pathlib.Path(sys.argv[1]).resolve()
    folder = pathlib.Path(sys.argv[2])
    public, internal = source.read_text(encoding="utf-8").split(BEGIN)
    pairs = list(pieces(internal.splitlines(keepends=True)))
    if sum(header != text for header, text in pairs) < 1000:
        raise SystemExit("tests/split.py: this is no longer the layout of merbit.h")
    folder.mkdir(parents=True, exist_ok=True)
    declared = "".join(header for header, _ in pairs)
    system = declared.index("\n\n", declared.rindex("\n#include <"))
    (folder / "merbit.h").write_text(
        public + BEGIN + declared[:system] + C_LINKAGE % "extern \"C\" {" + declared[system:] + C_LINKAGE % "}",
        encoding="utf-8")
    # Lines keep their numbers, so that reports name those of merbit.h.
    (folder / "merbit.c").write_text(f'#define MERBIT_IMPLEMENTATION\n#line 1 "{source}"\n' + public + BEGIN +
                                     "".join(text for _, text in pairs), encoding="utf-8")


if __name__ == "__main__":
    main()
