#!/usr/bin/env python3
"""Compile and run every "Example:" of the manual at the head of merbit.h, as C99 and as C++11."""
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
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


def main():
    cc, cxx = sys.argv[1:3]
    found = dict(examples((ROOT / "merbit.h").read_text()))
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
