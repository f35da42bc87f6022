#!/usr/bin/env python3
"""Plant the small bugs of table.py into templates/, one at a time, and list which the tests catch.

    tests/mutations/run.py [--jobs N] [--only TEXT ...] [--gpu] [--list]
    tests/mutations/run.py --check

Works in build/mutations/: each job has a copy of the tree and a build with sanitizers. A mutation builds and
runs only the tests that the table names for it; the first that fails has caught it. All of them take about
an hour on two cores, which is why CI only checks that the table still fits the sources (--check). --only picks
mutations whose definition or reason contains TEXT; --gpu runs those that only a GPU shows. Needs cmocka, CMake and
Jinja2, as tests/run.sh installs them. Exit 1 if any survives.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

import anchors
import names
import table

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
WORK = ROOT / "build" / "mutations"
SECONDS = 400  # for one test; a hang counts as caught
LEAST = 700
ENVIRONMENT = dict(os.environ, MERBIT_TEST_SEED="1")


def check():
    """Prints the rows that do not fit the sources or name no test; 1 if there are any."""
    sources, known, wrong = anchors.Sources(), names.all_names(), []
    for where, old, new, why, tests in table.MUTATIONS + table.GPU_MUTATIONS:
        count = len(sources.find(where, old))
        if not sources.places(where):
            wrong.append(f"{where}: {why}: there is no such definition")
        elif count != 1 or old == new:
            wrong.append(f"{where}: {why}: its text occurs {count} times: {old}")
        for test in tests.split("|"):
            if not any(re.fullmatch(test, name) for name in known):
                wrong.append(f"{where}: {why}: no test is called {test}")
    if len(table.MUTATIONS) < LEAST:
        wrong.append(f"only {len(table.MUTATIONS)} mutations")
    for line in wrong:
        print(line)
    print(f"{len(table.MUTATIONS)} + {len(table.GPU_MUTATIONS)} mutations, {len(wrong)} mistakes in the tables")
    return 1 if wrong else 0


def run(command, seconds=3600, **more):
    """(exit status, output); a hang is status 124, with all that the command started ended."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               errors="replace", start_new_session=True, env=ENVIRONMENT, **more)
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        return 124, output
    return process.returncode, output


class Job:
    """A copy of the tree and its build."""

    def __init__(self, number):
        self.tree = WORK / f"tree-{number}"
        self.build = WORK / f"build-{number}"
        self.tree.mkdir(parents=True, exist_ok=True)
        self.copy()
        self.sources = anchors.Sources(self.tree / "templates")
        self.generate()
        status, output = run(["cmake", "-S", self.tree, "-B", self.build, "-DCMAKE_BUILD_TYPE=Debug",
                              "-DMERBIT_SANITIZE=ON", "-DMERBIT_SPLIT=OFF", f"-DMERBIT_PYTHON={sys.executable}"])
        if status:
            raise SystemExit(output)
        self.targets = self.find_targets()
        self.good = {}  # test: does it pass without a mutation

    def find_targets(self):
        """What to build before each test: programs of ours among the words of its command."""
        known = set(re.findall(r"^\.\.\. (\S+)", run(["cmake", "--build", self.build, "--target", "help"])[1], re.M))
        found = {}
        for file in self.build.rglob("CTestTestfile.cmake"):
            for test in re.finditer(r"^add_test\((?:\[=\[)?([^\s\]]+)(?:\]=\])? (.*)\)$", file.read_text(), re.M):
                words = [pathlib.Path(word) for word in re.findall(r'"([^"]*)"', test.group(2))]
                found[test.group(1)] = [w.name for w in words if self.build in w.parents and w.name in known]
        return found

    def copy(self):
        """Only what differs, so that the build is incremental."""
        for name in ["CMakeLists.txt", "examples", "gen", "templates", "tests"]:
            sources = [ROOT / name] if (ROOT / name).is_file() else [
                p for p in (ROOT / name).rglob("*") if p.is_file() and "__pycache__" not in p.parts]
            for source in sources:
                target = self.tree / source.relative_to(ROOT)
                target.parent.mkdir(parents=True, exist_ok=True)
                if not target.exists() or target.read_bytes() != source.read_bytes():
                    shutil.copy(source, target)
            if not (ROOT / name).is_file():
                for old in [p for p in (self.tree / name).rglob("*") if p.is_file()]:
                    if not (ROOT / old.relative_to(self.tree)).exists() and "__pycache__" not in old.parts:
                        old.unlink()

    def generate(self):
        fresh = self.tree / "merbit.h.new"
        status, output = run([sys.executable, self.tree / "gen" / "generate.py", "--output", fresh])
        header = self.tree / "merbit.h"
        if status:
            raise SystemExit(output)
        if not header.exists() or header.read_bytes() != fresh.read_bytes():
            fresh.replace(header)
        else:
            fresh.unlink()

    def names(self, pattern):
        """Tests of the table's pattern, in its order."""
        found = []
        for part in pattern.split("|"):
            found += [n for n in sorted(self.targets) if re.fullmatch(part, n) and n not in found]
        return found

    def passes(self, name):
        """(built, passed, output)"""
        if self.targets[name]:
            status, output = run(["cmake", "--build", self.build, "--target", *self.targets[name]])
            if status:
                return False, False, output
        status, output = run(["ctest", "--test-dir", self.build, "-R", f"^{re.escape(name)}$", "--timeout",
                              str(SECONDS), "--output-on-failure"], SECONDS + 60)
        return True, status == 0 and "***Skipped" not in output, output

    def try_one(self, mutation):
        """What became of it, and by what."""
        where, old, new, _, tests = mutation
        (place, start, end), = self.sources.find(where, old)
        path = self.tree / "templates" / place.file
        text = self.sources.text[place.file]
        names = self.names(tests)
        try:
            for name in names:
                if name not in self.good:
                    self.plant(path, text)
                    self.good[name] = self.passes(name)[1]
                if not self.good[name]:
                    continue
                self.plant(path, text[:start] + new + text[end:])
                built, passed, output = self.passes(name)
                if not built:
                    return "does not compile", first_error(output)
                if not passed:
                    return "caught", name
        finally:
            self.plant(path, text)
        names = [name for name in names if self.good[name]]
        return "SURVIVED", ", ".join(names) if names else "no test that passes without it"

    def plant(self, path, text):
        if path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            self.generate()


def first_error(output):
    return next((line for line in output.splitlines() if "error" in line), "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only: does the table fit the sources?")
    parser.add_argument("--list", action="store_true", help="only: name them")
    parser.add_argument("--only", nargs="+", default=[""], metavar="TEXT", help="in the name or the reason")
    parser.add_argument("--gpu", action="store_true", help="those that only a GPU shows")
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.check:
        return check()
    chosen = [m for m in (table.GPU_MUTATIONS if arguments.gpu else table.MUTATIONS)
              if any(text in m[0] + ": " + m[3] for text in arguments.only)]
    if arguments.list:
        for mutation in chosen:
            print(f"{mutation[0]}: {mutation[3]}")
        return 0
    if check():
        return 1
    jobs = [Job(number) for number in range(arguments.jobs)]
    results, free, lock = [], list(jobs), threading.Lock()

    def one(mutation):
        with lock:
            job = free.pop()
        start = time.monotonic()
        try:
            answer = job.try_one(mutation)
        finally:
            with lock:
                free.append(job)
        with lock:
            results.append((mutation, answer))
            print(f"{len(results):3}/{len(chosen)} {answer[0]:8} {time.monotonic() - start:5.0f} s  "
                  f"{mutation[0]}: {mutation[3]} [{answer[1]}]", flush=True)

    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        list(pool.map(one, chosen))
    caught = sum(answer[0] == "caught" for _, answer in results)
    print(f"{caught} of {len(results)} mutations caught")
    for mutation, answer in results:
        if answer[0] != "caught":
            print(f"  {answer[0]}: {mutation[0]}: {mutation[3]} [{answer[1]}]")
    return 0 if caught == len(results) else 1


if __name__ == "__main__":
    sys.exit(main())
