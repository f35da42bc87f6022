#!/usr/bin/env python3
"""Plant small bugs in templates/ and list which of them the tests catch.

    tests/mutations/run.py [--jobs N] [--only TEXT ...] [--gpu] [--list]
    tests/mutations/run.py --check

The bugs are the rows of table.py. Nearly all of them are built once, into one copy of the tree with sanitizers
under build/mutations/: each mutated function holds its mutated bodies in addition to its own, and the number in
the environment variable MBM chooses one when a program starts (planting.py). First every test runs without MBM and
must pass. Then each row runs the tests that it names, with its number in MBM, until one fails: that test has
caught it. A test that takes too long has caught it, too. If none fails, they run with other seeds, which choose
other shares of large cross products. Rows in macros, tables and the like, which no switch can choose, are planted
one at a time in separate builds; with many jobs several run at once.

The first build takes about half an hour on two cores; later ones build only what has changed. --only TEXT selects
the rows with TEXT in their name, number, reason or tests, and builds only what these tests need; --list names them.
--gpu runs the rows that only a GPU shows. --check, which CI runs, builds nothing: it verifies that each row's
text occurs once and that its tests exist. Needs cmocka, CMake and Jinja2, as tests/run.sh installs them. Exit 1
if a mutation survives or is not planted.

To see what a mutation does, take its number from --list:

    MBM=NUMBER ctest --test-dir build/mutations/all-build -R '^TEST$' --output-on-failure
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import anchors
import names
import planting
import table

WORK = planting.ROOT / "build" / "mutations"
LEAST = 700  # rows that the tables must have
MOST_SECONDS = 900  # for a test without a mutation
SEEDS = range(1, 98)  # after these, tests that run a share of their cases per seed have run all
FACTOR, MORE_SECONDS = 10, 60  # a test with a mutation may take this many times as long, plus these seconds
SKIPPED = 77


WORDS_OF_C = set("int long unsigned const double float size_t char void if else for while do return break continue"
                 " switch case default sizeof static NULL true false memcpy memset INT64_MAX u".split())


def words_of(text):
    """Returns the identifiers in a C text."""
    return set(re.findall(r"\b[A-Za-z_]\w*", text))


def title(row):
    return f"{row[0]}: {row[3]}"


def check():
    """Prints the faults of the tables. Returns 1 if there are any."""
    sources, known, wrong, numbers = anchors.Sources(), names.all_names(), [], {}
    words = set(re.findall(r"\w+", " ".join(sources.bare.values())))
    own = {word for word in words if re.match("mb[iks]_|MB[IKS]_", word)}
    shared = words_of(" ".join(text for file, text in sources.bare.items() if re.search(r"\.h(\.j2)?$", file)))
    for row in table.MUTATIONS + table.GPU_MUTATIONS:
        where, old, new, _, tests = row
        count = len(sources.find(where, old))
        if count != 1 or old == new:
            elsewhere = ", ".join(sorted(sources.holders(old))[:3]) or "nowhere"
            wrong.append(f"{title(row)}: its text occurs {count} times (found in: {elsewhere}): {old}"
                         if sources.places(where) else
                         f"{title(row)}: there is no such definition; its text is found in: {elsewhere}")
        unknown = set(re.findall(r"\b(?:mb[iks]|MB[IKS]|merbit|MERBIT)_\w+", new)) - words
        if unknown:
            wrong.append(f"{title(row)}: no name in the sources: {', '.join(sorted(unknown))}")
        near = shared | words_of(" ".join(sources.text[place.file] for place in sources.places(where)))
        strange = words_of(new) - near - WORDS_OF_C - own
        if strange:
            wrong.append(f"{title(row)}: no such name in its file or in a header: {', '.join(sorted(strange))}")
        if planting.balanced(old) != planting.balanced(new):
            wrong.append(f"{title(row)}: its two texts differ in brackets left open")
        for test in tests.split("|"):
            if not any(re.fullmatch(test, name) for name in known):
                wrong.append(f"{title(row)}: no test is called {test}")
        if planting.number(row) in numbers:
            wrong.append(f"{title(row)}: as {title(numbers[planting.number(row)])}")
        numbers[planting.number(row)] = row
    if len(table.MUTATIONS) < LEAST:
        wrong.append(f"only {len(table.MUTATIONS)} mutations")
    for line in wrong:
        print(line)
    print(f"{len(table.MUTATIONS)} + {len(table.GPU_MUTATIONS)} mutations, {len(wrong)} mistakes in the tables")
    return 1 if wrong else 0


def run(command, seconds=None, **more):
    """Returns (exit status, output). The status is None if the command took too long; its children are then ended, too."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                               start_new_session=True, **more)
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        return None, output
    return process.returncode, output


class Build:
    """A copy of the tree and a build of it with sanitizers."""

    def __init__(self, name, jobs):
        self.tree, self.folder, self.jobs = planting.Tree(WORK / name), WORK / (name + "-build"), jobs
        self.targets, self.tests, self.locks = {}, {}, {}

    def write(self, templates, switches):
        self.tree.write(templates, switches)
        if not self.targets:
            ninja = ["-G", "Ninja"] if shutil.which("ninja") and not self.folder.exists() else []
            status, output = run(["cmake", "-S", self.tree.folder, "-B", self.folder, *ninja,
                                  "-DCMAKE_BUILD_TYPE=Debug", "-DMERBIT_SANITIZE=ON",
                                  f"-DMERBIT_PYTHON={sys.executable}"])
            if status:
                raise SystemExit(output)
            self.find_targets()

    def find_targets(self):
        """Returns what to build before each test: the build's programs among the words of its command."""
        listed = run(["cmake", "--build", self.folder, "--target", "help"])[1]
        known = set(re.findall(r"^(?:\.\.\. )?([\w.-]+)", listed, re.M))
        for file in self.folder.rglob("CTestTestfile.cmake"):
            for test in re.finditer(r'^add_test\((?:\[=\[|")?([^\s\]"]+)(?:\]=\]|")? (.*)\)$', file.read_text(), re.M):
                words = [pathlib.Path(word) for word in re.findall(r'"([^"]*)"', test.group(2))]
                self.targets[test.group(1)] = [w.name for w in words if self.folder in w.parents and w.name in known]

    def compile(self, tests):
        """Builds what these tests need, as far as possible. Returns None, or the compiler's output if something failed."""
        targets = sorted({target for test in tests for target in self.targets[test]})
        keep_going = ["-k", "0"] if (self.folder / "build.ninja").exists() else ["-k"]
        status, output = run(["cmake", "--build", self.folder, "--parallel", str(self.jobs), "--target", *targets, "--",
                              *keep_going]) if targets else (0, "")
        listed = json.loads(subprocess.check_output(["ctest", "--test-dir", self.folder, "--show-only=json-v1"]))
        for test in listed["tests"]:
            properties = {p["name"]: p["value"] for p in test.get("properties", [])}
            self.tests[test["name"]] = test.get("command"), properties
            # Programs that use a folder in the build run one at a time.
            if any(str(self.folder) in word for word in (test.get("command") or [])[1:]):
                self.locks.setdefault(test["name"], threading.Lock())
        return output if status else None

    def matching(self, patterns):
        """Returns the tests that a row names, in its order."""
        found = []
        for pattern in patterns.split("|"):
            found += [name for name in sorted(self.targets) if re.fullmatch(pattern, name) and name not in found]
        return found

    def run(self, name, seconds, number=None, seed=SEEDS[0]):
        """Returns ("passed", "failed", "skipped" or "too long", output) of a test with a mutation."""
        command, properties = self.tests[name]
        environment = dict(os.environ, MERBIT_TEST_SEED=str(seed))
        environment.update(pair.split("=", 1) for pair in properties.get("ENVIRONMENT", []))
        environment.pop("MBM", None)
        if number is not None:
            environment["MBM"] = str(number)
        # A mutation's cache must not be used by other tests.
        with self.locks.get(name, threading.Lock()), tempfile.TemporaryDirectory(prefix="merbit-mutations-") as cache:
            environment["XDG_CACHE_HOME"] = cache
            status, output = run(command, seconds, env=environment, cwd=properties["WORKING_DIRECTORY"])
        return {0: "passed", None: "too long", SKIPPED: "skipped"}.get(status, "failed"), output


class Report:
    """The outcome of each row, printed when known and at the end."""

    def __init__(self, total):
        self.total, self.results, self.lock = total, [], threading.Lock()

    def add(self, row, answer, what, seconds):
        with self.lock:
            self.results.append((row, answer, what))
            print(f"{len(self.results):3}/{self.total} {answer:11} {seconds:4.0f} s  {title(row)} [{what}]", flush=True)

    def summary(self, alone):
        def part(answers):
            return [result for result in self.results if result[1] in answers]

        caught = part(["caught"])
        print(f"\n{len(caught)} of {self.total} mutations caught, {len(alone)} of all in builds of their own")
        for answer, text in (("SURVIVED", "survived"), ("not planted", "not planted")):
            rows = part([answer])
            print(f"{len(rows)} {text}")
            for row, _, what in rows:
                print(f"  {title(row)} [{what}]")
        if alone:
            print("in builds of their own:")
            for row, why in alone:
                print(f"  {title(row)} [{why}]")
        return 0 if len(caught) == self.total else 1


class Mutations:
    """The one build with all the switches, and the runs in it."""

    def __init__(self, rows, jobs):
        self.sources, self.jobs = anchors.Sources(), jobs
        self.build = Build("all", jobs)
        self.planted, self.alone = [], []
        for row in table.MUTATIONS:
            why = planting.obstacle(self.sources, row)
            self.planted += [] if why else [row]
            self.alone += [(row, why)] if why and row in rows else []
        self.rows = rows
        self.seconds = {}  # per test that passes without a mutation

    def chosen(self):
        return [row for row in self.rows if row in self.planted]

    def drop(self, numbers):
        """Leaves out mutations that do not compile together: they are tried alone."""
        for row in list(self.planted):
            error = numbers.get(planting.number(row))
            if error:
                print(f"does not compile beside the others: {title(row)}: {error}", flush=True)
                self.planted.remove(row)
                self.alone += [(row, "does not compile beside the others")] if row in self.rows else []

    def prepare(self):
        """Builds, and runs each test that is needed without a mutation."""
        start = time.monotonic()
        while True:
            self.build.write(planting.planted(self.sources, self.planted), True)
            tests = {name for row in self.rows for name in self.build.matching(row[4])}
            output = self.build.compile(tests)
            if output is not None:
                bad, others = self.build.tree.blame(output)
                if others or not bad:
                    log = self.build.folder / "build.log"
                    log.write_text(output, encoding="utf-8")
                    print("\n".join(others[:20]))
                    raise SystemExit(f"the build fails, and no mutation is to blame: {log}")
                self.drop(bad)
                continue
            print(f"built in {time.monotonic() - start:.0f} s: {len(self.planted)} mutations, {len(tests)} tests",
                  flush=True)
            bad = self.baseline(tests - set(self.seconds))
            if not bad:
                return
            self.drop(bad)

    def baseline(self, tests):
        """Runs tests without a mutation. Returns the mutations whose kernels do not compile."""
        bad, start = {}, time.monotonic()

        def one(name):
            begin = time.monotonic()
            status, output = self.build.run(name, MOST_SECONDS)
            if status == "passed":
                self.seconds[name] = time.monotonic() - begin
            elif status != "skipped":
                bad.update(self.build.tree.blame(output)[0])
                (self.build.folder / f"{name}.log").write_text(output, encoding="utf-8")
                print(f"{name} fails without a mutation: {self.build.folder / name}.log", flush=True)

        costs = {name: self.build.tests[name][1].get("COST", 0) for name in tests}
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            list(pool.map(one, sorted(tests, key=lambda name: -costs[name])))
        print(f"{len(self.seconds)} tests pass without a mutation, after {time.monotonic() - start:.0f} s", flush=True)
        return bad

    def try_one(self, row, build, number=None):
        """Runs a row's tests in `build`; without a number, builds them first. Returns (outcome, cause)."""
        names = [name for name in build.matching(row[4]) if name in self.seconds]
        for seed in SEEDS:
            for name in names:
                output = build.compile([name]) if number is None and seed == SEEDS[0] else None
                if output is not None:
                    error = planting.ERROR.search(output)
                    return "not planted", "does not compile: " + (error.group() if error else output[-200:])
                status, _ = build.run(name, FACTOR * self.seconds[name] + MORE_SECONDS, number, seed)
                if status != "passed":
                    what = [name] + [status] * (status != "failed") + [f"seed {seed}"] * (seed != SEEDS[0])
                    return "caught", ", ".join(what)
        return "SURVIVED", ", ".join(names) if names else "no test of this build that passes without it"

    def longest(self, row):
        """Returns the seconds of the first test that the row runs."""
        return next((self.seconds[name] for name in self.build.matching(row[4]) if name in self.seconds), 0)

    def run(self, report):
        """Runs the rows, the longest first, in parallel with those that no switch can choose."""
        def one(row):
            start = time.monotonic()
            report.add(row, *self.try_one(row, self.build, planting.number(row)), time.monotonic() - start)

        builds = max(1, min(self.jobs // 3, len(self.alone)))
        waiting = [row for row, _ in self.alone]

        def alone(index):
            build = Build(f"alone-{index}", max(1, self.jobs // builds))
            while True:
                try:
                    row = waiting.pop()
                except IndexError:
                    return
                start = time.monotonic()
                build.write(dict([planting.replaced(self.sources, row)]), False)
                report.add(row, *self.try_one(row, build), time.monotonic() - start)

        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            runs = [pool.submit(alone, index) for index in range(builds if waiting else 0)]
            runs += [pool.submit(one, row) for row in sorted(self.chosen(), key=self.longest, reverse=True)]
            for finished in concurrent.futures.as_completed(runs):
                finished.result()


def run_gpu(rows, jobs, report):
    """Runs the rows of device.cuh on a real GPU, each in its own build."""
    sources, build = anchors.Sources(), Build("gpu", jobs)
    for row in rows:
        start = time.monotonic()
        build.write(dict([planting.replaced(sources, row)]), False)
        answer = "SURVIVED", "no GPU, or no test that fails"
        for name in build.matching(row[4]):
            if build.compile([name]) is not None:
                answer = "not planted", "does not compile"
                break
            status, _ = build.run(name, MOST_SECONDS)
            if status not in ("passed", "skipped"):
                answer = "caught", name
                break
        report.add(row, *answer, time.monotonic() - start)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only: do the tables fit the sources and tests?")
    parser.add_argument("--list", action="store_true", help="only: numbers, names and reasons")
    parser.add_argument("--only", nargs="+", default=[""], metavar="TEXT", help="in the name, number, reason or tests")
    parser.add_argument("--gpu", action="store_true", help="those that only a GPU shows")
    parser.add_argument("--jobs", type=int, default=1, help="of the build and of tests that run at once")
    arguments = parser.parse_args()
    if arguments.check:
        return check()
    rows = [row for row in (table.GPU_MUTATIONS if arguments.gpu else table.MUTATIONS)
            if any(text in f"{planting.number(row)} {title(row)} {row[4]}" for text in arguments.only)]
    if arguments.list:
        for row in rows:
            print(f"{planting.number(row):9} {title(row)}")
        return 0
    if check():
        return 1
    report = Report(len(rows))
    if arguments.gpu:
        run_gpu(rows, arguments.jobs, report)
        return report.summary([])
    mutations = Mutations(rows, arguments.jobs)
    mutations.prepare()
    mutations.run(report)
    return report.summary(mutations.alone)


if __name__ == "__main__":
    sys.exit(main())
