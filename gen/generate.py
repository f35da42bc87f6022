#!/usr/bin/env python3
"""Generate merbit.h from templates/: one ordered file, kernels embedded, enumerations expanded.

    gen/generate.py [--output FILE]     write the header (default: merbit.h at the root)
    gen/generate.py --check             exit 1 if the committed header is not what would be written
    gen/generate.py --sources FOLDER    write what Jinja2 makes of each .j2 file, for separate compilation

templates/merbit.h.j2 lists the sources in their order. A source names the headers that it needs by #include; the
first mention of a header puts it there, and none is left. What stands between #ifdef MBI_SEPARATE and #endif is for
separate compilation and left out: in the header each function is defined before it is used, so that two files that
call each other do not compile. Every file under templates/ must be used; the output depends on nothing but their
contents.
"""
import argparse
import hashlib
import pathlib
import re
import sys

import jinja2

import tables

ROOT = pathlib.Path(__file__).resolve().parent.parent
TEMPLATES = ROOT / "templates"
CHUNK = 1800  # bytes of one string literal; ISO C99 guarantees 4,095 characters
INCLUDE = re.compile(r'#include "([^"]+)".*\n')
SEPARATE = re.compile(r"#ifdef MBI_SEPARATE\n.*?#endif /\* MBI_SEPARATE \*/\n", re.S)
COMMENT = re.compile(r'("(?:\\.|[^"\\\n])*")|[ \t]*//[^\n]*')


class Generator:
    def __init__(self):
        self.used = set()
        self.included = {"api/features.h", "merbit.h"}
        self.kernels = {}
        self.env = jinja2.Environment(
            loader=jinja2.FunctionLoader(self.load),
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
        )
        self.env.globals.update(
            tables.context(),
            room=self.room,
            text=self.text,
            kernel=self.kernel,
            kernels=self.kernels,
            kernel_hash=self.kernel_hash,
        )

    def load(self, name):
        self.used.add(name)
        return (TEMPLATES / name).read_text(encoding="utf-8")

    def text(self, name):
        """A file as it stands, or what Jinja2 makes of it."""
        return self.env.get_template(name).render() if name.endswith(".j2") else self.load(name)

    def expand(self, text):
        """The text of a source, with the headers that it is the first to include in front of their use."""
        return INCLUDE.sub(self.include, SEPARATE.sub("", text))

    def include(self, match):
        name = match.group(1)
        if name.endswith(".cuh"):  # the same text for the CPU, once for each type
            return self.expand(self.text(name))
        if name in self.included:
            return ""
        self.included.add(name)
        return self.room(name if (TEMPLATES / name).exists() else name + ".j2", "")

    def room(self, name, title):
        """A source or header behind a banner to grep for."""
        head = f"/* ==== >>{name.removesuffix('.j2')} {title and ' ' + title + ' '}"
        text = re.sub(r"\n{3,}", "\n\n", self.expand(self.text(name))).strip("\n")
        return head + "=" * max(4, 93 - len(head)) + " */\n" + text + "\n"

    def kernel(self, name):
        """A kernel source as a C array of short string literals, ending in NULL. Lines keep their numbers."""
        source = self.kernel_source(name)
        symbol = "mbi_source_" + "".join(c if c.isalnum() else "_" for c in name)
        self.kernels[name] = dict(symbol=symbol)
        chunks, current = [], []
        size = 0
        for line in re.findall(r"[^\n]*\n+", source):
            literal = '"' + self.escape(line) + '"'
            if size + len(literal) > CHUNK:
                chunks.append(current)
                current, size = [], 0
            current.append(literal)
            size += len(literal)
        chunks.append(current)
        body = ",\n".join("\n".join("  " + text for text in chunk) for chunk in chunks)
        return f"static const char *const {symbol}[] = {{\n{body},\n  NULL}};\n"

    def kernel_source(self, name):
        """A kernel's text without comments; its lines keep their numbers."""
        return COMMENT.sub(lambda match: match.group(1) or "", self.load(name)).rstrip() + "\n"

    @staticmethod
    def escape(line):
        table = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t"}
        if not line.isascii():
            raise SystemExit(f"kernel line is not ASCII: {line!r}")
        return "".join(table.get(c, c) for c in line)

    def kernel_hash(self):
        """Changes whenever any embedded kernel text does: part of the cubin cache's key."""
        digest = hashlib.sha256()
        for name in sorted(tables.KERNEL_FILES + tables.STUDY_KERNEL_FILES):
            digest.update(f"{name}\0{self.kernel_source(name)}\0".encode())
        return digest.hexdigest()

    def generate(self):
        output = self.text("merbit.h.j2")
        have = {
            str(p.relative_to(TEMPLATES)) for p in TEMPLATES.rglob("*") if p.is_file()
        }
        unused = sorted(have - self.used)
        if unused:
            raise SystemExit("not used by any template: " + ", ".join(unused))
        return output

    def write_sources(self, folder):
        """What Jinja2 makes of each template, where it differs from what is there."""
        for path in sorted(TEMPLATES.rglob("*.j2")):
            name = str(path.relative_to(TEMPLATES))
            if name.startswith("api/") or name == "merbit.h.j2":
                continue
            target = folder / name.removesuffix(".j2")
            target.parent.mkdir(parents=True, exist_ok=True)
            text = self.text(name)
            if not target.exists() or target.read_text(encoding="utf-8") != text:
                target.write_text(text, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "merbit.h")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--sources", type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.sources:
        Generator().write_sources(arguments.sources)
        return 0
    output = Generator().generate()
    if not arguments.check:
        arguments.output.write_text(output, encoding="utf-8")
        return 0
    if arguments.output.read_text(encoding="utf-8") == output:
        print(f"{arguments.output.name} is current")
        return 0
    print(f"{arguments.output.name} differs from templates/: run gen/generate.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
