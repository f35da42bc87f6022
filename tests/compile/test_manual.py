#!/usr/bin/env python3
"""Check the part of merbit.h that users read: no long lines, comments name things that exist, and the manual's list of
functions is complete. Compile and run every "Example:" of the manual, as C99 and as C++11."""
import pathlib
import re
import subprocess
import sys
import tempfile

import test_messages

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
WIDTH = 100
LIBRARY = '#define MERBIT_IMPLEMENTATION\n#include "merbit.h"\n'
FRAME = """#include "merbit.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void) {
%s
  return 0;
}
"""


def examples(header):
    manual = header[header.index(">>MANUAL") : header.index("*/", header.index(">>MANUAL"))]
    for part in re.split(r"^ \* Example: ", manual, flags=re.M)[1:]:
        name, *lines = part.splitlines()
        body = []
        for line in lines:
            if line.startswith(" *     "):
                body.append(line[5:])
            elif body:
                break
        yield name.strip(), "\n".join(body)


def listed(header):
    """Returns the functions under "FUNCTIONS BY TASK"; "merbit_noun_verb, _other" also stands for merbit_noun_other."""
    found, noun = set(), ""
    text = header.split("FUNCTIONS BY TASK.")[1].split("\n *\n * A PRODUCT.")[0]
    for name in re.findall(r"\bmerbit_\w+|(?<=, )_\w+", text):
        noun = "_".join(name.split("_")[:2]) if name.startswith("merbit") else noun
        found.add(name if name.startswith("merbit") else noun + name)
    return found


def faults(header):
    public = header[: header.index("#endif /* MERBIT_H */")]
    own = header[header.rindex(test_messages.GUARD) :]
    code = re.sub(test_messages.TOKEN, " ", public)
    known = set(re.findall(r"\b(?:MERBIT|merbit)_\w+", code)) | test_messages.UNKNOWN
    known |= set(re.findall(r'mbi_environment\("(\w+)"\)', own))
    structs = test_messages.fields(code)
    for number, line in enumerate(public.splitlines(), 1):
        if len(line) > WIDTH:
            yield f"line {number} has {len(line)} characters, more than {WIDTH}: {line}"
    for comment in re.findall(r"/\*.*?\*/", public, re.S):
        for name in re.findall(r"\b(?:MERBIT|merbit)_\w+", comment):
            if name not in known:
                yield f"{name} is no public name: {comment[:120]!r}"
        for struct, field in re.findall(r"\b(\w+_desc|view)\.(\w+)", comment):
            if field not in structs.get(struct, ()):
                yield f"{struct}.{field} is no field: {comment[:120]!r}"
    functions = set(re.findall(r"^MERBIT_API [^;(]*?(merbit_\w+)\(", code, re.M))
    for name in sorted((functions ^ listed(header)) - {"merbit_view"}):
        yield f"{name} is not both a function and in the manual's list of functions"


def main():
    cc, cxx = sys.argv[1:3]
    header = (ROOT / "merbit.h").read_text()
    wrong = list(faults(header))
    if wrong:
        print("\n".join(wrong))
        return 1
    found = dict(examples(header))
    if len(found) < 3:
        print(f"only {len(found)} examples found in the manual")
        return 1
    flags = ["-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror", f"-I{ROOT}"]
    link = ["-lm", "-ldl", "-pthread"]
    with tempfile.TemporaryDirectory() as work:
        library = pathlib.Path(work, "library.c")
        library.write_text(LIBRARY)
        for compiler in ([cc, "-std=c99"], [cxx, "-x", "c++", "-std=c++11"]):
            compiled = str(pathlib.Path(work, "library.o"))  # once for all examples
            subprocess.run(compiler + flags + ["-c", str(library), "-o", compiled], check=True)
            for name, body in found.items():
                source = pathlib.Path(work, name + ".c")
                program = pathlib.Path(work, name)
                source.write_text(FRAME % body)
                subprocess.run(compiler + flags + ["-c", str(source), "-o", str(program) + ".o"], check=True)
                subprocess.run([compiler[0], str(program) + ".o", compiled, "-o", str(program)] + link, check=True)
                subprocess.run([str(program)], check=True, cwd=work)
                print(f"{name}: compiled and run as {compiler[-1][5:].upper()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
