#!/usr/bin/env python3
"""Generate merbit.h from templates/: one ordered file, kernels embedded, enumerations expanded.

    gen/generate.py [--output FILE]     write the header (default: merbit.h at the root)
    gen/generate.py --study             include the methods for comparison; write build/study/merbit.h
    gen/generate.py --check             exit 1 if the committed header differs from what would be written
    gen/generate.py --sources FOLDER    write the expansion of each .j2 file outside api/, for separate compilation

templates/merbit.h.j2 lists the sources in their order. Each #include of a header is removed; the first one is replaced
by the header. Text between #ifdef MBI_SEPARATE and #endif is for separate compilation and is left out. In merbit.h a
function must therefore be defined before it is used, and two files that call each other do not compile. Text between
#ifdef MERBIT_STUDY_METHODS and #endif, and spmv/study/, are for the benchmark and the tests; --study keeps them and
defines that macro. Every file under templates/ must be used. The output depends only on their contents.
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
COLUMNS = 99  # the longest line of C
WIDTH = 97  # the longest line of embedded text, which may join several short source lines
CHUNK = 1800  # bytes per string literal; ISO C99 guarantees 4,095 characters
INCLUDE = re.compile(r'#include "([^"]+)".*\n')
SEPARATE = re.compile(r"#ifdef MBI_SEPARATE\n.*?#endif /\* MBI_SEPARATE \*/\n", re.S)
PADDING = re.compile(r" +\\$", re.M)
SPLIT = re.compile(r"MBK_BY_FIELD\((\w+), (\w+)\)\) \{")
GUARD = re.compile(r"\A#ifndef (MBI_\w+_H)\n#define \1\n(.*)#endif\n\Z", re.S)
POINTERS = re.compile(r"MBK_POINTER\(([^()]*)\)\s(\w+(?:,\s\w+)*);")
FIELD = re.compile(r"([\w ]+?) (\**\w+(?:, \**\w+)*);")
TOKEN = re.compile(r'("(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|/\* ==== >>[^\n]*)|/\*.*?\*/|//[^\n]*', re.S)
SCALAR = re.compile(r"^MBS_(?:(?:WIDE_)?(?:BEFORE|COUNT|AFTER)\(\w+\) \{\n.*?\n\}|NOTHING_\w+\(\w+\))\n", re.M | re.S)
ARGUMENTS = re.compile(r'#include "([^"]+_arguments\.cuh)"')
COMMENT = re.compile(r'("(?:\\.|[^"\\\n])*")|[ \t]*//[^\n]*')
MEANING = re.compile(r'#error +(\\\n *)?"define (\w+)[^"]*"')


LINKAGE = re.compile(r"\bMBI_INTERNAL\b")

STUDY = "MERBIT_STUDY_METHODS"
SOURCES = "jit/sources.c.j2"  # embeds the kernels


def without_study(text):
    """Remove the text that requires MERBIT_STUDY_METHODS, but keep the text after its #else."""
    lines = []
    depth = 0  # nesting of conditionals, including #ifdef MERBIT_STUDY_METHODS; 0: outside of it
    keep = True
    for line in text.splitlines(keepends=True):
        directive = re.match(r"#\s*(\w+)", line)
        directive = directive and directive.group(1)
        if depth == 0:
            if re.match(rf"#ifdef {STUDY}\b", line):
                depth, keep = 1, False
                continue
        else:
            depth += directive in ("if", "ifdef", "ifndef")
            depth -= directive == "endif"
            if depth == 0 or (depth == 1 and directive == "else"):
                keep = True
                continue
        if keep:
            lines.append(line)
    text = "".join(lines)
    if STUDY in text:
        raise SystemExit(f"{STUDY} is left: only #ifdef, #else and #endif are understood")
    return text


def uncommented(text):
    """Remove the comments of a source, except for >> banners, without leaving empty lines."""
    text = TOKEN.sub(lambda match: match.group(1) or "\0", text)
    text = re.sub(r"^[ \t]*\0[ \t]*(\\?\n|$)", "", text, flags=re.M)
    text = re.sub(r"[ \t]*\0[ \t]*$", "", text, flags=re.M)
    return re.sub(r"[ \t]*\0[ \t]*", " ", text)


def shut(lines, columns):
    """Put each block of one statement on the line that opens it, if it fits."""
    out = []
    for line in lines:
        out.append(line)
        while len(out) > 2 and re.match(r" *}(?! else {$)", out[-1]):
            head, statement, tail = out[-3:]
            if not re.match(r" *[^ #].*{$", head) or not re.match(r" +[^ #{}].*;$", statement):
                break
            joined = f"{head} {statement.strip()} {tail.strip()}"
            if head.index(head.strip()) != tail.index("}") or len(joined) > columns:
                break
            out[-3:] = [joined]
    return out


def narrow(text, columns=COLUMNS):
    """Shorten the uncommented text of a source. Lines that continue a statement are joined if they fit, otherwise
    indented by four instead of being aligned. Blocks of one statement are joined, too. Two spaces become a tab."""
    lines = []
    first = 0  # indentation of the statement's first line
    ended = True
    directive = plain = False
    for line in PADDING.sub(r" \\", text).split("\n"):
        code = line.lstrip(" ")
        indentation = len(line) - len(code)
        if '"' not in code:
            code = re.sub(r" {2,}", " ", code)
            line = " " * indentation + code
        if directive or not code or code.startswith(("/*", "#")):
            directive = line.endswith("\\") and (directive or code.startswith("#"))
            plain = False
            lines.append(line)
            continue
        if ended:
            first = indentation
        elif plain and len(lines[-1]) + 1 + len(code) <= columns:
            last = lines.pop()
            line = last + ("" if last.endswith("(") else " ") + code
        else:
            line = " " * min(indentation, first + 4) + code
        lines.append(line)
        plain = True
        ended = code.endswith((";", "{", "}", ":"))
    return re.sub(r"^(?:  )+", lambda match: "\t" * (len(match[0]) // 2), "\n".join(shut(lines, columns)), flags=re.M)


class Generator:
    pieces = 32  # the most literals of a kernel's text

    def __init__(self, study=False):
        self.study = study
        self.header = True
        self.macros = 0
        self.used = set()
        self.included = {"api/features.h", "merbit.h"}
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
            pieces=self.pieces,
            kernel_hash=self.kernel_hash,
            each=self.each,
            study=study,
        )

    def load(self, name):
        self.used.add(name)
        return (TEMPLATES / name).read_text(encoding="utf-8")

    def text(self, name):
        """Return the text of a file, expanded by Jinja2 if it is a template."""
        return self.env.get_template(name).render() if name.endswith(".j2") else self.load(name)

    def expand(self, text):
        """Replace the first #include of each header by the header, and remove the others."""
        return INCLUDE.sub(self.include, SEPARATE.sub("", text))

    def each(self, types, caller):
        """Repeat the text between {% call(t) each(types) %} and {% endcall %} for each type t. In the header it becomes a
        macro, with the keys of t that it uses as parameters, which is expanded for each type. So the text must not
        contain directives."""
        if not self.header:
            return "".join(caller(t) for t in types)
        names = {key: f"\1{key}\2" for key in types[0] if all(key in t for t in types)}
        body = narrow(LINKAGE.sub("static", uncommented(caller(names))), COLUMNS - 2)
        keys = [key for key in names if names[key] in body]
        parameters = [key.upper() + "_" for key in keys]
        for key, parameter in zip(keys, parameters):
            if re.search(rf"\b{parameter}\b", body):
                raise SystemExit(f"{parameter} is the name of a macro's parameter")
            for before, after in ((r"(?<=\w)", "##%s"), ("", "%s")):
                body = re.sub(before + names[key] + r"(?=\w)", (after % parameter) + "##", body)
                body = re.sub(before + names[key], after % parameter, body)
        lines = [line for line in body.split("\n") if line]
        if any(line.startswith("#") for line in lines):
            raise SystemExit("a directive in a text that becomes a macro")
        self.macros += 1
        name = f"MBI_EACH_{self.macros}"
        uses = "\n".join(f"{name}({', '.join(t[key] for key in keys)})" for t in types)
        return f"#define {name}({', '.join(parameters)}) \\\n" + " \\\n".join(lines) + f"\n{uses}\n"

    def include(self, match):
        name = match.group(1)
        if name.endswith("_arguments.cuh"):  # has a comment instead of a banner
            return self.addresses(uncommented(self.text(name)))
        if name.endswith("steps.cuh") and SCALAR.search(self.text(name)):
            return self.steps(name)
        if name.endswith(".cuh"):  # the CPU includes the same text
            return self.expand(self.text(name))
        if name in self.included or (name.startswith("spmv/study/") and not self.study):
            return ""
        self.included.add(name)
        return self.room(name if (TEMPLATES / name).exists() else name + ".j2", "")

    def steps(self, name):
        """Embed a file of steps, which the CPU includes once per type: first what all types share, then a macro of the
        rest, which is expanded with the MBS_VECTOR and MBS_NAME of each type."""
        macro = "MBI_" + re.sub(r"\W", "_", name.removesuffix(".cuh")).upper()
        if name in self.included:
            return macro + "\n"
        self.included.add(name)
        text = uncommented(self.text(name))
        defines = re.findall(r"^#define .*\n", text, re.M)
        rest = narrow(re.sub(r"^#define .*\n", "", SCALAR.sub("", text), flags=re.M), COLUMNS - 2)
        lines = [line for line in rest.split("\n") if line]
        return "".join(defines + SCALAR.findall(text)) + f"\n#define {macro} \\\n" + " \\\n".join(lines) + f"\n{macro}\n"

    def room(self, name, title):
        """Return a source or header with a banner that can be searched for."""
        head = f"/* ==== >>{name.removesuffix('.j2')}{title and '  ' + title} ==== */"
        text = GUARD.sub(r"\2", self.text(name))  # no include guard: each header appears once
        text = LINKAGE.sub("static", uncommented(self.expand(text)))
        text = re.sub(r"\n{3,}", "\n\n", text).strip("\n")
        return head + "\n" + (text if name == SOURCES else narrow(text)) + "\n"

    def kernel(self, name):
        """Return a kernel file's name and its text as short string literals. Lines keep their numbers."""
        source = self.kernel_source(name)
        chunks, current = [], []
        size = 0
        lines = [part for line in re.findall(r"[^\n]*\n+", source) for part in self.parts(line)]
        while lines:
            line = lines.pop(0)
            while lines and len(self.escape(line + lines[0])) <= WIDTH:
                line += lines.pop(0)
            literal = '"' + self.escape(line) + '"'
            if size + len(literal) > CHUNK:
                chunks.append(current)
                current, size = [], 0
            current.append(literal)
            size += len(literal)
        chunks.append(current)
        if len(chunks) > self.pieces:
            raise SystemExit(f"{name} has {len(chunks)} pieces: raise `pieces`")
        body = ",\n".join("\n".join(chunk) for chunk in chunks)
        return f'{{"{name}", {{\n{body}}}}},'

    def kernel_source(self, name):
        """Return a kernel's text without comments, indentation and explanations of its macros. Structs of arguments
        replace the line that includes them. Lines keep their numbers."""
        text = COMMENT.sub(lambda match: match.group(1) or "", self.load(name))
        text = MEANING.sub(lambda match: f"#error {match[2]}" + ("\n" if match[1] else ""), text)
        found = SPLIT.findall(text)
        for struct, argument in sorted({key for key in found if found.count(key) > 1}):
            text = self.share(name, text, struct, argument)
        text = SPLIT.sub(lambda match: self.split(name, *match.groups()), text)
        if "MBK_BY_FIELD" in text and "#define MBK_BY_FIELD" not in text:
            raise SystemExit(f"{name}: MBK_BY_FIELD does not end a kernel's head on one line")
        text = ARGUMENTS.sub(lambda match: self.structs(match.group(1)), text)
        return "".join(PADDING.sub(r" \\", line.strip()) + "\n" for line in text.rstrip().split("\n"))

    def split(self, file, struct, argument):
        """Return the end of a kernel's head with the struct's fields as parameters, and the macro that joins them."""
        parameters, names = self.fields(file, struct, argument)
        return f"MBK_PARAMETERS({struct}, {argument}, {parameters})) {{ MBK_JOIN({struct}, {argument}, {names})"

    def share(self, file, text, struct, argument):
        """Define macros for the fields of a struct that several kernels of a file take. The macros replace two lines of
        comments that must follow the #include of the struct, so that lines keep their numbers."""
        base = struct.removesuffix("_arguments")
        defines = [f"#define {base}_{kind} {text}\n" for kind, text in zip(("parameters", "fields"), self.fields(file, struct, argument))]
        match = next(m for m in re.finditer(r'#include "([^"]+_arguments\.cuh)"\n(\n\n)', text) if f"}} {struct};" in self.load(m[1]))
        text = text[: match.start(2)] + "".join(defines) + text[match.end(2) :]
        head = f"MBK_PARAMETERS({struct}, {argument}, {base}_parameters)) {{ MBK_JOIN({struct}, {argument}, {base}_fields)"
        return text.replace(f"MBK_BY_FIELD({struct}, {argument})) {{", head)

    def fields(self, file, struct, argument):
        """Return the fields of a kernel's struct as a list of parameters, and the list of their names."""
        texts = (self.structs(name) for name in ARGUMENTS.findall(self.load(file)))
        bodies = [re.search(rf"typedef struct {struct} \{{ (.*?) \}} {struct};", text) for text in texts]
        body = next(match.group(1) for match in bodies if match)
        fields = [(kind.strip(), name) for kind, names in FIELD.findall(body) for name in names.split(", ")]
        fields = [(kind + " *" * name.count("*"), f"{argument}_{name.strip('*')}") for kind, name in fields]
        return ", ".join(f"{kind} {name}".replace("* ", "*") for kind, name in fields), ", ".join(name for _, name in fields)

    def structs(self, name):
        """Return a file of arguments as one line, with real pointers in place of MBK_POINTER."""
        line = " ".join(self.kernel_source(name).split())
        line = POINTERS.sub(lambda match: f"{match[1]} *{match[2].replace(', ', ', *')};", line)
        if "#" in line:
            raise SystemExit(f"{name}: a preprocessor line, where only structs belong")
        return line

    @staticmethod
    def addresses(text):
        """Return a file of arguments for the host, where pointers are addresses. Adjacent ones share a line."""
        text, found = POINTERS.sub(r"mbi_devptr \2;", text), 1
        while found:
            text, found = re.subn(r"^(  mbi_devptr [\w, ]{,70});\n  mbi_devptr (?=\w+;)", r"\1, ", text, flags=re.M)
        return text

    def parts(self, line):
        """Split a line into parts that fit the header's lines."""
        if len(self.escape(line)) <= COLUMNS + 4:
            return [line]
        found = [""]
        for word in re.findall(r"\S+\s*", line):
            if len(self.escape(found[-1] + word)) > WIDTH:
                found.append("")
            found[-1] += word
        return found

    @staticmethod
    def escape(line):
        table = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t"}
        if not line.isascii():
            raise SystemExit(f"kernel line is not ASCII: {line!r}")
        return "".join(table.get(c, c) for c in line)

    def kernel_hash(self):
        """Return a hash of all embedded kernel texts, which is part of a cubin's key."""
        digest = hashlib.sha256()
        names = tables.kernel_files(study=False) + (tables.kernel_files(study=True) if self.study else [])
        for name in sorted(names):
            digest.update(f"{name}\0{self.kernel_source(name)}\0".encode())
        return digest.hexdigest()

    def generate(self):
        output = self.text("merbit.h.j2")
        have = {
            str(p.relative_to(TEMPLATES)) for p in TEMPLATES.rglob("*") if p.is_file()
        }
        if not self.study:
            output = re.sub(r"\n{3,}", "\n\n", without_study(output))
            have = {name for name in have if not name.startswith("spmv/study/")}
        unused = sorted(have - self.used)
        if unused:
            raise SystemExit("not used by any template: " + ", ".join(unused))
        return output

    def write_sources(self, folder):
        """Write the expansion of each template, unless the file has that text already."""
        self.header = False
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
    parser.add_argument("--output", type=pathlib.Path)
    parser.add_argument("--study", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--sources", type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.sources:
        Generator(study=True).write_sources(arguments.sources)
        return 0
    target = arguments.output or ROOT / ("build/study/merbit.h" if arguments.study else "merbit.h")
    output = Generator(arguments.study).generate()
    if not arguments.check:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(output, encoding="utf-8")
        return 0
    if target.read_text(encoding="utf-8") == output:
        print(f"{target.name} is current")
        return 0
    print(f"{target.name} differs from templates/: run gen/generate.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
