#!/usr/bin/env python3
"""Generate merbit.h from templates/: ordered amalgamation, kernel embedding, instance tables.

    gen/generate.py [--output FILE]     write the header (default: merbit.h at the root)
    gen/generate.py --check             exit 1 if the committed header is not what would be written

Every file under templates/ must be used; the output depends on nothing but their contents.
"""
import argparse
import hashlib
import pathlib
import sys

import jinja2

import tables

ROOT = pathlib.Path(__file__).resolve().parent.parent
TEMPLATES = ROOT / "templates"
CHUNK = 1800  # bytes of one string literal; ISO C99 guarantees 4,095 characters


class Generator:
    def __init__(self):
        self.used = set()
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
        """A template rendered in place, without a banner."""
        return self.env.get_template(name).render()

    def room(self, name, title):
        """A room of the implementation behind a banner to grep for."""
        head = f"/* ==== >>{name.removesuffix('.j2')}  {title} "
        return head + "=" * max(4, 93 - len(head)) + " */\n" + self.text(name)

    def kernel(self, name):
        """A kernel source as a C array of short string literals, ending in NULL."""
        source = self.load(name)
        symbol = "mbi_source_" + "".join(c if c.isalnum() else "_" for c in name)
        self.kernels[name] = dict(name=name, symbol=symbol, source=source)
        chunks, current = [], []
        size = 0
        for line in source.splitlines(keepends=True):
            literal = '"' + self.escape(line) + '"'
            if size + len(literal) > CHUNK:
                chunks.append(current)
                current, size = [], 0
            current.append(literal)
            size += len(literal)
        chunks.append(current)
        body = ",\n".join("\n".join("  " + text for text in chunk) for chunk in chunks)
        return f"static const char *const {symbol}[] = {{\n{body},\n  NULL}};\n"

    @staticmethod
    def escape(line):
        table = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t"}
        if not line.isascii():
            raise SystemExit(f"kernel line is not ASCII: {line!r}")
        return "".join(table.get(c, c) for c in line)

    def kernel_hash(self):
        """Changes whenever any embedded kernel text does: part of the cubin cache's key."""
        digest = hashlib.sha256()
        for name in sorted(self.kernels):
            digest.update(f"{name}\0{self.kernels[name]['source']}\0".encode())
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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "merbit.h")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
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
