#!/usr/bin/env python3
"""Compile and run the programs of docs/guide.md and compare their output with what the guide shows.

Usage: test_guide.py CC CXX LIBRARY HEADER [--update] [--only WORD] [FILE ...]

LIBRARY is the compiled implementation, which is not compiled again here, and HEADER the merbit.h that matches it (the one
of --study). FILE defaults to docs/guide.md. --update rewrites the ```text blocks and adds missing ones. --only tests just
the sections whose title contains WORD.

Each ```c and ```cpp block is a complete program, each ```sh block a script, and the ```text block after it is its
standard output. All blocks below one "## " heading share a folder, which contains merbit.h and a clone of the
repository, merbit. A comment on the line before the fence changes what a block is:

    <!-- guide: file NAME -->   the block is a file in the folder (any language); later blocks compile or read it
    <!-- guide: cuda -->        the program needs an NVIDIA GPU: it is compiled, and run only where there is one

Programs are compiled as C99 or C++11 with all warnings as errors and AddressSanitizer, which also finds objects that
they do not destroy. Those that include cuda_runtime.h need a CUDA toolkit. Programs run without a visible GPU, unless marked.
In a ```sh block cc and c++ are CC and CXX; compiling merbit.c or merbit.cpp with -c gives LIBRARY.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FLAGS = ["-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror", "-fsanitize=address"]
BLOCK = re.compile(r"(?:^<!-- guide: ([^\n]*) -->\n)?^```(\w+)\n(.*?)^```\n", re.M | re.S)
SHIM = """#!/bin/sh
{0} -DMERBIT_IMPLEMENTATION_DONE "$@" || exit
output=merbit.o
for word; do
  [ "$previous" = -o ] && output=$word
  case $word in *merbit.c | *merbit.cpp) implementation=1;; esac
  previous=$word
done
[ -z "$implementation" ] || {0} -r -nostdlib -Wl,--whole-archive {1} -o "$output"
"""
PROBE = """#include "merbit.h"
#include <stdio.h>
int main(void) {
  merbit_context_desc desc = {0};
  merbit_error error;
  merbit_context *context;
  desc.side = MERBIT_SIDE_CUDA;
  if (merbit_context_create(&desc, &context, &error) != MERBIT_OK) puts(error.message);
  merbit_context_destroy(context);
  return 0;
}
"""


class Failure(Exception):
    """A fault, with a message for the reader of the test's output."""


def call(command, folder, **environment):
    """Runs a command. Returns its standard output."""
    done = subprocess.run(command, cwd=folder, env={**os.environ, **environment}, text=True, capture_output=True)
    if done.returncode:
        raise Failure(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def toolkit():
    """Returns the folder of a CUDA toolkit with its headers and runtime library, or None."""
    for folder in (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"):
        if folder and pathlib.Path(folder, "include/cuda_runtime.h").exists():
            return folder
    return None


class Tester:
    def __init__(self, arguments, work):
        self.compilers = {"c": [arguments.cc, "-std=c99"], "cpp": [arguments.cxx, "-std=c++11"]}
        self.library = str(pathlib.Path(arguments.library).resolve())
        self.header = pathlib.Path(arguments.header).resolve()
        self.cuda = toolkit()
        # libcuda never frees some memory, and maps some in AddressSanitizer's shadow gap.
        os.environ["ASAN_OPTIONS"] = "protect_shadow_gap=0"
        os.environ["LSAN_OPTIONS"] = f"suppressions={ROOT}/tests/lsan.supp:print_suppressions=0"
        self.hidden = {"CUDA_VISIBLE_DEVICES": "", "HOME": str(work)}
        self.shims = work / "bin"
        self.shims.mkdir()
        for name, compiler in (("cc", arguments.cc), ("c++", arguments.cxx)):
            # The full path: with the shims in PATH, a bare name would be the shim itself.
            (self.shims / name).write_text(SHIM.format(shutil.which(compiler), self.library))
            (self.shims / name).chmod(0o755)
        self.build(work, "c", PROBE)
        self.no_gpu = call(["./program"], work).strip()

    def build(self, folder, language, text):
        source = folder / f"program.{language}"
        source.write_text(text)
        command = self.compilers[language] + FLAGS + [f"-I{ROOT}", source, self.library, "-o", "program"]
        if "cuda_runtime.h" in text:
            library = f"{self.cuda}/lib64"
            command += ["-isystem", f"{self.cuda}/include", f"-L{library}", "-lcudart", f"-Wl,-rpath,{library}"]
        call(command + ["-lm", "-ldl", "-pthread"], folder)

    def run(self, folder, mark, language, text):
        """Returns the output of a block and None, or None and the reason why it cannot run here."""
        if language == "sh":
            return call(["sh", "-euc", text], folder, PATH=f"{self.shims}:{os.environ['PATH']}", CC="cc", CXX="c++",
                        **self.hidden), None
        if "cuda_runtime.h" in text and not self.cuda:
            return None, "no CUDA toolkit was found"
        self.build(folder, language, text)
        if mark == "cuda" and self.no_gpu:
            return None, self.no_gpu
        return call(["./program"], folder, **({} if mark == "cuda" else self.hidden)), None


def check_contents(text):
    """Checks that the list at the top has every section, in order."""
    titles = re.findall(r"^## (.*)$", text, re.M)
    listed = re.findall(r"^- \[(.*)\]\(#(.*)\)$", text, re.M)
    anchors = [(title, re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")) for title in titles]
    if listed != anchors:
        raise Failure(f"the contents differ from the sections: {sorted(set(listed) ^ set(anchors))}")


def test_section(tester, section, folder, update, skipped):
    """Tests the blocks of one section. Returns its text, with new outputs if `update`."""
    folder.mkdir()
    (folder / "merbit.h").symlink_to(tester.header)
    (folder / "merbit").symlink_to(ROOT)
    result, place, tests = "", 0, 0
    blocks = list(BLOCK.finditer(section))
    for index, block in enumerate(blocks):
        mark, language, text = block.groups()
        if mark and mark.startswith("file "):
            (folder / mark[5:]).write_text(text)
        if mark and mark.startswith("file ") or language not in ("c", "cpp", "sh"):
            continue
        output, reason = tester.run(folder, mark, language, text)
        tests += 1
        following = blocks[index + 1] if index + 1 < len(blocks) else None
        if following and following.group(2) == "text" and not following.group(1):
            shown, start, end = following.group(3), *following.span()
        else:
            shown, start, end = "", block.end(), block.end()
        if output is None:
            skipped.append(reason)
        elif update and shown != output:
            result += section[place:start] + ("" if shown else "\n") + f"```text\n{output}```\n"
            place = end
        elif shown != output:
            raise Failure(f"the guide shows\n{shown}and block {index + 1} prints\n{output}")
    return result + section[place:], tests


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    for name in ("cc", "cxx", "library", "header"):
        parser.add_argument(name)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    arguments = parser.parse_args()
    failures, tests, skipped = 0, 0, []
    with tempfile.TemporaryDirectory() as work:
        tester = Tester(arguments, pathlib.Path(work))
        for file in arguments.files or [ROOT / "docs/guide.md"]:
            text = file.read_text()
            sections = re.split(r"^(?=## )", text, flags=re.M)
            for number, section in enumerate(sections):
                title = section.split("\n", 1)[0].strip("# ")
                if arguments.only.lower() not in title.lower():
                    continue
                try:
                    folder = pathlib.Path(work, f"{file.stem}-{number}")
                    sections[number], count = test_section(tester, section, folder, arguments.update, skipped)
                    tests += count
                except Failure as failure:
                    print(f"FAILED: {file.name}, {title}: {failure}")
                    failures += 1
            if arguments.update:
                file.write_text("".join(sections))
            try:
                check_contents(text)
            except Failure as failure:
                print(f"FAILED: {file.name}: {failure}")
                failures += 1
    note = f", {len(skipped)} of them not run: {skipped[0]}" if skipped else ""
    print(f"{tests} programs{note}")
    return failures > 0 or tests == 0


if __name__ == "__main__":
    sys.exit(main())
