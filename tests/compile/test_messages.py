#!/usr/bin/env python3
"""Check that the strings of merbit.h name only things that exist: public identifiers, fields of descriptors and views, and
environment variables that it reads; and that they name enumerators in full: MERBIT_METHOD_MERGE, not MERGE."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
GUARD = "#if defined(MERBIT_IMPLEMENTATION)"
STRING = r'"(?:\\.|[^"\\\n])*"'
TOKEN = re.compile(r"/\*.*?\*/|//[^\n]*|'(?:\\.|[^'\\\n])*'|" + STRING, re.S)
BETWEEN = re.compile(r"(?:\s|PRI\w+)*")  # between the pieces of one string
UNKNOWN = {"MERBIT_UNKNOWN_STATUS", "MERBIT_UNKNOWN_STOP"}  # results of merbit_status_name and merbit_stop_name


def strings(text):
    """Yields each string with its pieces joined."""
    found, end = [], -1
    for match in TOKEN.finditer(text):
        piece = match.group()
        if piece.startswith('"'):
            if end >= 0 and BETWEEN.fullmatch(text, end, match.start()):
                found[-1] += piece[1:-1]
            else:
                found.append(piece[1:-1])
            end = match.end()
    return found


def fields(public):
    """Returns {struct: its fields} of descriptors and views."""
    found = {}
    for body, name in re.findall(r"struct \w+ \{(.*?)\} merbit_(\w+_desc|view);", public, re.S):
        found[name] = set(re.findall(r"(\w+)\s*(?:\[\w+\])?\s*[;,]", body))
    return found


ENUMERATOR = r"\bMERBIT_(?:METHOD|SIDE|MEMORY|SEMIRING|SYMMETRY|SOLVER|PRECONDITIONER|EIGEN|STOP)_(\w+)"
WORDS = {"CPU", "CUDA", "BSR", "CG", "NONE"}  # also used as ordinary words
SHORT = re.compile(r"(?<![\w.])[A-Z][A-Z_]+\b(?!'s)")


def faults(header):
    public, own = header[: header.rindex(GUARD)], header[header.rindex(GUARD) :]
    public = re.sub(TOKEN, " ", public)
    known = set(re.findall(r"\b(?:MERBIT|merbit)_\w+", public)) | UNKNOWN
    known |= set(re.findall(r'mbi_environment\("(\w+)"\)', own))
    structs = fields(public)
    if len(known) < 150 or len(structs) < 7:
        yield f"only {len(known)} names and {len(structs)} descriptors found"
    short = set(re.findall(ENUMERATOR, public)) - WORDS
    for text in strings(own):
        for name in SHORT.findall(text) if " " in text and "\\n" not in text else ():
            if name in short:
                yield f"{name} is not named in full: {text[:120]!r}"
        for name, behind in re.findall(r"\b((?:MERBIT|merbit)_\w+)(\.cuh?\b|\.h\b|%?)", text):
            begins = behind == "%" and any(other.startswith(name) for other in known)
            if name not in known and not begins and not behind.startswith("."):
                yield f"{name} is no public name: {text[:120]!r}"
        for struct, field in re.findall(r"\b(\w+_desc|view)\.(\w+)", text):
            if field not in structs.get(struct, ()):
                yield f"{struct}.{field} is no field: {text[:120]!r}"


def main():
    found = list(faults((ROOT / "merbit.h").read_text(encoding="utf-8")))
    print("\n".join(found) or "all names exist")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
