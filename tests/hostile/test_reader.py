#!/usr/bin/env python3
"""Compare merbit's Matrix Market reader with reference.py: test_reader.py ANSWER DATA_DIR WORK_DIR

ANSWER (answer.c) reads each file from its path, from memory as f64 and f32, and by streams of odd chunks. Files: the table
of hostile ones and the malformed ones, whose answers are known, a file cut behind every byte, the real ones, and random
mutations of all small ones."""
import array
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys

import malformed
import reference
import table

SOURCES = ("path", "memory", "f32", "stream", "stream", "stream", "stream")
SMALL = 2000  # bytes of a file that is mutated


# ---- What merbit answers -----------------------------------------------------------------------------


class Answer:
    """A result: `matrix`, or `fault` (status, line) and the message."""

    def __init__(self, source, matrix=None, fault=None, sentence=""):
        self.source, self.matrix, self.fault, self.sentence = source, matrix, fault, sentence

    def __repr__(self):
        return f"{self.source}: {self.matrix or self.fault} {self.sentence}"


def take(output, code, count):
    items = array.array(code)
    items.frombytes(output.read(count * items.itemsize))
    return items


def read_matrix(output, source, facts):
    rows, cols, nnz, size = map(int, facts.split())
    row_ptr, col_ind = take(output, "q", rows + 1), take(output, "i", nnz)
    values = None
    if size:
        form = reference.F32 if size == 4 else reference.F64
        values = [reference.plain_nan(bits, form) for bits in take(output, "I" if size == 4 else "Q", nnz)]
    if rows > 10000 and nnz < 2:  # too long for the reference
        entries = [(next(row for row, start in enumerate(row_ptr) if start > 0) - 1, col_ind[0])] if nnz else []
    else:
        entries = [(row, col_ind[i]) for row in range(rows) for i in range(row_ptr[row], row_ptr[row + 1])]
    if len(entries) != nnz or row_ptr[0] != 0 or row_ptr[-1] != nnz or (size == 4) != (source == "f32") and size:
        sys.exit(f"{source}: the arrays of the answer do not agree: {facts}")
    return Answer(source, matrix=reference.Matrix(rows, cols, entries, values))


def ask(program, paths, work):
    """Returns for each path a list of results, one per source."""
    (work / "list").write_text("".join(f"{path}\n" for path in paths))
    with open(work / "answers", "wb") as output:
        process = subprocess.run([program, work / "list"], stdout=output, timeout=500)
    if process.returncode != 0:
        sys.exit(f"{program} {work}/list: exit status {process.returncode}")
    with open(work / "answers", "rb") as output:
        for path in paths:
            answers = []
            for expected_source in SOURCES:
                source, status, rest = output.readline().decode("latin-1").rstrip("\n").split(" ", 2)
                assert source == expected_source
                if status == "MERBIT_OK":
                    answers.append(read_matrix(output, source, rest))
                else:
                    line = re.match(r"(.*, )?line (\d+): ", rest)
                    assert not line or line.group(1) == (f"{path}, " if source == "path" else None), rest
                    fault = (status.removeprefix("MERBIT_"), int(line.group(2)) if line else None)
                    answers.append(Answer(source, fault=fault, sentence=rest))
            yield answers


# ---- Comparing ---------------------------------------------------------------------------------------


def agrees(answer, expected):
    return answer.matrix == expected if isinstance(expected, reference.Matrix) else answer.fault in expected


class Bench:
    def __init__(self, program, work):
        self.program, self.work, self.failures, self.answers = program, work, 0, 0
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)

    def fail(self, name, *lines):
        self.failures += 1
        if self.failures <= 20:
            print(f"{name}:", *lines, sep="\n    ")

    def compare(self, files):
        """Compares (name, data) pairs with the reference. Returns all results."""
        paths = [self.work / f"{index}.mtx" for index in range(len(files))]
        for path, (_, data) in zip(paths, files):
            path.write_bytes(data)
        everything = []
        for (name, data), answers in zip(files, ask(self.program, paths, self.work)):
            expected = {}
            for answer in answers:
                key = (answer.source == "f32", answer.source != "stream")
                if key not in expected:
                    expected[key] = reference.read(data, reference.F32 if key[0] else reference.F64, key[1])
                self.answers += 1
                if not agrees(answer, expected[key]):
                    self.fail(name, f"merbit: {answer}", f"the reference: {expected[key]}", data[:300])
            everything.append(answers)
        return everything


def known(good):
    """Returns a Good of the table as a Matrix."""
    entries = sorted(good.entries)
    values = None if good.pattern else [reference.to_bits(good.entries[place], reference.F64) for place in entries]
    return reference.Matrix(good.rows, good.cols, [(row - 1, col - 1) for row, col in entries], values)


def hold(bench, name, answer, expected):
    """Compares a result with the table's."""
    if isinstance(expected, table.Good):
        if answer.matrix != known(expected):
            bench.fail(name, f"merbit: {answer}", f"the table: {known(expected)}")
        return
    if expected.stream is not None and answer.source == "stream":
        expected = expected.stream
    if answer.fault != (expected.status, expected.line) or expected.word not in answer.sentence:
        bench.fail(name, f"merbit: {answer}", f"the table: {expected.status}, line {expected.line}: {expected.word}")


def run_table(bench):
    names = [name for name, _, _ in table.CASES]
    assert len(set(names)) == len(names)
    for (name, _, expected), answers in zip(table.CASES, bench.compare([case[:2] for case in table.CASES])):
        for answer in answers:
            if answer.source != "f32":
                hold(bench, name, answer, expected)
    good = sum(isinstance(expected, table.Good) for _, _, expected in table.CASES)
    print(f"hostile files: {len(names)} ({good} legal), each from {len(SOURCES)} sources")


def run_cuts(bench):
    cuts = [(f"cut behind byte {size}", table.CUT[:size]) for size in range(len(table.CUT) + 1)]
    legal = 0
    for size, ((name, _), answers) in enumerate(zip(cuts, bench.compare(cuts))):
        expected = table.cut(size)
        legal += expected is not None
        for answer in answers:
            if (answer.matrix is None) != (expected is None):
                bench.fail(name, f"merbit: {answer}", f"the table: {expected}")
            elif expected is not None and answer.source != "f32":
                hold(bench, name, answer, expected)
    print(f"cuts: {len(cuts)} ({legal} legal)")


def run_data(bench, folder):
    paths = sorted((folder / "malformed").glob("*.mtx"))
    files = [(path.stem, path.read_bytes()) for path in paths]
    if {name for name, _ in files} != set(malformed.ANSWERS):
        bench.fail("malformed.py", "does not list the files of data/malformed")
    for (name, _), answers in zip(files, bench.compare(files)):
        status, line, word = malformed.ANSWERS.get(name, ("", None, ""))
        for answer in answers:
            if answer.source == "stream" and re.search("entries( of at least|$)", word):
                continue  # needs the input's length; the reference has the results of streams
            if status == "OK":
                fine = answer.matrix is not None
            else:
                fine = answer.fault == (status, line) and word in answer.sentence
            if answer.source != "f32" and not fine:
                bench.fail(name, f"merbit: {answer}", f"the table: {status} {line} {word}")
    real = [(path.stem, path.read_bytes()) for path in sorted((folder / "mtx").glob("*.mtx"))]
    bench.compare(real)
    print(f"malformed files: {len(files)}; real files: {len(real)}")
    return [data for _, data in files + real]


# ---- Mutations ---------------------------------------------------------------------------------------

BYTES = b"0123456789+-.eEdD%\n\n\r\t  ,\x00\xff\xefinfaNA"
WORDS = """0 1 2 3 4 -1 +1 00 01 7 9 10 2147483647 2147483648 4294967296 4294967297 9223372036854775807 9223372036854775808
18446744073709551617 999999999999999999 1000000000000000000 1000000 2000000 -0 0.5 -1.5 .5 5. 1e 1e5 1D+03 1d-3 1e400 -1e400
1e-400 4.9e-324 2.2250738585072011e-308 3.4028235e38 3.4028236e38 1.0000000596046447754 9007199254740993 16777217 nan -inf
infinity inf 1,5 0x1p3 1.#INF % %% %%MatrixMarket matrix array coordinate real integer pattern complex general symmetric
skew-symmetric hermitian""".encode().split()


def mutate_bytes(data, dice):
    at = dice.randrange(len(data) + 1)
    kind = dice.randrange(4)
    if kind == 0:
        return data[:at] + bytes([dice.choice(BYTES)]) + data[at + 1 :]
    if kind == 1:
        return data[:at] + bytes([dice.choice(BYTES)]) + data[at:]
    if kind == 2:
        return data[:at] + data[at + dice.randrange(1, 4) :]
    return data[:at] if dice.random() < 0.3 else data[:at] + data[at + 1 :]


def mutate_words(data, dice):
    words = list(re.finditer(rb"[^ \t\r\n\v\f]+", data))
    if not words:
        return data + b"1"
    word = dice.choice(words)
    return data[: word.start()] + dice.choice(WORDS) + data[word.end() :]


def mutate_lines(data, dice):
    lines = data.split(b"\n")
    at, other = dice.randrange(len(lines)), dice.randrange(len(lines))
    kind = dice.randrange(4)
    if kind == 0:
        del lines[at]
    elif kind == 1:
        lines.insert(at, lines[other])
    elif kind == 2:
        lines[at], lines[other] = lines[other], lines[at]
    else:
        lines.insert(at, dice.choice((b"", b" ", b"%", b"% c", b"\r", b"1", b"1 1", b"1 1 1")))
    return b"\n".join(lines)


def mutate_number(data, dice):
    """Replaces a number, mostly a value, by another."""
    end = rb"(?=[ \t\r]*$)" if dice.random() < 0.9 else b""
    numbers = list(re.finditer(rb"(?<![^\s])[+-]?[\d.]+(?:[eEdD][+-]?\d+)?" + end, data, re.M))[1:]
    if not numbers:
        return data
    number = dice.choice(numbers)
    text = str(dice.getrandbits(dice.choice((3, 20, 60, 70, 200, 3000)))).encode()
    if b"integer" not in data:
        at = dice.randrange(len(text) + 1)
        power = dice.randrange(-330, 310) - at if dice.random() < 0.7 else 0
        text = b"-" * dice.randrange(2) + text[:at] + b"." + text[at:] + dice.choice((b"e", b"D")) + b"%d" % power
    return data[: number.start()] + text + data[number.end() :]


MUTATIONS = (mutate_bytes, mutate_words, mutate_lines, mutate_number)


def run_mutations(bench, origins, count, seed):
    origins = [data for data in origins if 0 < len(data) <= SMALL]
    legal_origins = [data for data in origins if isinstance(reference.read(data), reference.Matrix)]
    dice = random.Random(seed)
    legal = refused = 0
    for first in range(0, count, 1000):
        files = []
        for index in range(first, min(first + 1000, count)):
            if dice.random() < 0.5:  # mostly still legal
                data = mutate_number(dice.choice(legal_origins), dice)
                changes = dice.randrange(2)
            else:
                data = dice.choice(origins)
                changes = 1 + dice.randrange(3)
            for _ in range(changes):
                data = dice.choice(MUTATIONS)(data, dice)
            files.append((f"mutation {index} of seed {seed}", data))
        for answers in bench.compare(files):
            legal += answers[0].matrix is not None
            refused += answers[0].matrix is None
    print(f"mutations: {count} of {len(origins)} files ({legal} legal, {refused} refused), seed {seed}")


def main():
    program, folder, work = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    full = "MERBIT_TEST_FULL" in os.environ
    seed = int(os.environ.get("MERBIT_TEST_SEED", "1"))
    print(f"MERBIT_TEST_SEED={seed}")
    bench = Bench(program, work)
    run_table(bench)
    run_cuts(bench)
    origins = run_data(bench, folder) + [data for _, data, _ in table.CASES] + [table.CUT]
    run_mutations(bench, origins, 200000 if full else 1500, seed)
    print(f"{bench.answers} answers, {bench.failures} disagreements")
    if bench.failures == 0:
        shutil.rmtree(work)
    return 1 if bench.failures else 0


if __name__ == "__main__":
    sys.exit(main())
