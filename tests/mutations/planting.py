"""Writes a copy of the tree whose functions contain their mutations.

A function with mutations becomes

    { if (MBM(17)) { a mutated body } else if (MBM(4)) { another } else { /* MBM */ the original } }

where MBM(17) is true if the environment variable MBM was 17 when the program, or the shared object that the
fake NVRTC made from a kernel, was loaded. The tests' device.cuh and core/os/os.h define it for kernels on the CPU
and for host code in any build; for a real NVRTC it is false.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import zlib

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# The parts of the tree that the tests need.
PARTS = ["CMakeLists.txt", "bench", "cmake", "dist", "examples", "gen", "merbit_dist.h", "templates", "tests"]

SWITCH = """
#ifndef MBM
#include <stdlib.h>
static long mbm_number;
__attribute__((constructor)) static void mbm_read(void) {
  const char *text = getenv("MBM");
  mbm_number = text != NULL ? strtol(text, NULL, 10) : 0;
}
#define MBM(number) (mbm_number == (number))
#endif
"""
OFF = "\n#define MBM(number) false\n"
# Where the switch is defined: (file, text before it, text).
SWITCHES = [
    ("templates/core/os/os.h", "#include <stdlib.h>\n", SWITCH),
    ("tests/simt/include/jit/device.cuh", '#include "../../simt.h"\n', SWITCH),
    ("templates/jit/device.cuh", "#define MBK_DEVICE_CUH\n", OFF),
]
OPEN = re.compile(r"\bMBM\((\d+)\)\) \{")
ORIGINAL = "} else { /* MBM */"
ERROR = re.compile(r"^(?P<path>[^\s:]+):(?P<line>\d+):.*\berror\b.*", re.M)
PLACE = re.compile(r"([^\s:,()]+):(\d+)[:,]")


def balanced(text):
    """Returns how many brackets of each kind `text` opens and does not close."""
    text = re.sub(r'"(?:\\.|[^"\\])*"', "", text)
    return [text.count(pair[0]) - text.count(pair[1]) for pair in ("()", "[]", "{}")]


def number(row):
    """Returns the value of MBM for this row, whatever rows come before it."""
    return zlib.crc32("\0".join(row[:3]).encode()) % 1000000000


def obstacle(sources, row):
    """Returns why the row cannot be planted together with others, or None."""
    ((place, start, end),) = sources.find(*row[:2])
    if place.kind != "function":
        return f"its text lies in a {place.kind}"
    text = sources.bare[place.file]
    if not (place.body[0] <= start and end <= place.body[1]):
        return "its text lies in a function's head"
    if re.search(r"\bconstexpr\b", text[place.start : place.body[0]]):
        return "the function is a constant expression"
    depth = 0
    for word in re.findall(r"^[ \t]*#[ \t]*(\w+)|\{%[-+]?\s*(\w+)", text[place.body[0] : place.body[1]], re.M):
        word = word[0] or word[1]
        depth += word in ("if", "ifdef", "ifndef", "for")
        depth -= word in ("endif", "endfor")
        if depth < 0 or (depth == 0 and word in ("else", "elif")) or word == "macro":
            return "conditionals go across the function's ends"
    if depth != 0 or re.search(r"\bgoto\b", text[place.body[0] : place.body[1]]):
        return "the function's body cannot be repeated"
    return None


def replaced(sources, row):
    """Returns (file, its text with the row's mutation)."""
    ((place, start, end),) = sources.find(*row[:2])
    text = sources.text[place.file]
    return place.file, text[:start] + row[2] + text[end:]


def planted(sources, rows):
    """Returns {file: its text with all the mutations}."""
    bodies = {}
    for row in rows:
        ((place, start, end),) = sources.find(*row[:2])
        bodies.setdefault(place.file, {}).setdefault(place.body, []).append((number(row), start, end, row[2]))
    changed = {}
    for file, functions in bodies.items():
        text = sources.text[file]
        for (begin, finish), mutations in sorted(functions.items(), reverse=True):
            branches = "".join(f"if (MBM({n})) {{{text[begin:start]}{new}{text[end:finish]}\n  }} else "
                               for n, start, end, new in mutations)
            original = "\n" + branches + ORIGINAL.removeprefix("} else ") + text[begin:finish] + "\n  }\n"
            text = text[:begin] + original + text[finish:]
        changed[file] = text
    return changed


class Tree:
    """A copy of the tests' inputs. Unchanged files keep their times, so that builds are incremental."""

    def __init__(self, folder):
        self.folder = folder

    def write(self, changed, switches):
        """Updates the copy, with other texts for some files."""
        changes = dict(changed)
        for file, before, text in SWITCHES if switches else []:
            old = changes.get(file, (ROOT / file).read_text(encoding="utf-8"))
            if old.count(before) != 1:
                raise SystemExit(f"{file}: {before!r} is not there once: no place for MBM")
            changes[file] = old.replace(before, before + text)
        files = [ROOT / part for part in PARTS if (ROOT / part).is_file()]
        for part in PARTS:
            files += [p for p in (ROOT / part).rglob("*") if p.is_file() and "__pycache__" not in p.parts]
        names = {file.relative_to(ROOT).as_posix() for file in files}
        for name in names:
            target = self.folder / name
            data = changes[name].encode() if name in changes else (ROOT / name).read_bytes()
            if not target.exists() or target.read_bytes() != data:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(data)
                shutil.copymode(ROOT / name, target)
        for part in PARTS:
            for old in (self.folder / part).rglob("*"):
                name = old.relative_to(self.folder).as_posix()
                if old.is_file() and "__pycache__" not in old.parts and name not in names:
                    old.unlink()
        self.generate()

    def generate(self):
        header, fresh = self.folder / "merbit.h", self.folder / "merbit.h.new"
        subprocess.run([sys.executable, self.folder / "gen" / "generate.py", "--output", fresh], check=True)
        if header.exists() and header.read_bytes() == fresh.read_bytes():
            fresh.unlink()
        else:
            fresh.replace(header)

    def blame(self, output):
        """Returns {number of a mutation: the compiler's first error in it}, and the errors that are in none."""
        found, others = {}, []
        errors = list(ERROR.finditer(output))
        for error, after in zip(errors, errors[1:] + [None]):
            block = output[error.start() : after.start() if after else len(output)].splitlines()
            lines = block[:1] + [line for line in block[1:] if ": note: " in line]
            numbers = [self.mutation_at(path, int(line)) for path, line in PLACE.findall("\n".join(lines))]
            numbers = [n for n in numbers if n]
            if numbers:
                found.setdefault(numbers[0], error.group())
            else:
                others.append(error.group())
        return found, others

    def mutation_at(self, path, line):
        """Returns the number of the mutation whose body has this line, or None."""
        for file in (pathlib.Path(path), self.folder / "templates" / path):
            if file.is_file():
                lines = file.read_text(encoding="utf-8", errors="replace").splitlines()[:line]
                for text in reversed(lines):
                    if ORIGINAL in text:
                        return None
                    match = OPEN.search(text)
                    if match:
                        return int(match.group(1))
        return None
