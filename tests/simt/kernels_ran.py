"""Check that every kernel of templates/ has run in the shim: kernels_ran.py TEMPLATES SHIM RACES RUNS...

Compares the kernels that the .cu files define with those that the test programs ran. Each
program has written PROGRAM.runs, with lines of "kernel forms matrices runs"; RACES is the file
of the race detector's program. Fails for a kernel that ran on fewer than 50 matrices, for a .cu
file without kernels, for a function of jit/device.cuh that the shim lacks, and for a kernel with
shared memory or barriers, its own or in a function it calls, that the race detector did not run.
"""

import collections
import pathlib
import re
import sys

LEAST_MATRICES = 50
SHARING = {"MBK_SHARED_MEMORY", "mbk_block_sync", "mbk_warp_sync"}


def without_comments(text):
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)


def kernels_of(text):
    """Returns the names after MBK_KERNEL, except in its own #define."""
    text = re.sub(r"#define[^\n]*", "", without_comments(text))
    return re.findall(r"\bMBK_KERNEL(?:_[12])?\b(?:\s+MBK_(?:BOUNDS|RESIDENT)\s*\([^)]*\))?\s+(\w+)\s*\(", text)


def device_functions(path):
    return set(re.findall(r"\b(?:MBK_DEVICE|SIMT_SHORT|SIMT_CALL)\s+[\w\s]+?\b(mbk_\w+)\s*\(", without_comments(path.read_text())))


def sharing_kernels(texts):
    """Returns the kernels that use a name of SHARING, directly or through functions and macros."""
    names = {}  # function, kernel or macro -> words of its definition
    for text in texts:
        text = without_comments(text)
        found = [(match[1], match[0]) for match in re.finditer(r"#define\s+(\w+)(?:[^\n]*\\\n)*[^\n]*", text)]
        plain = re.sub(r"#define(?:[^\n]*\\\n)*[^\n]*", "", text)
        plain = re.sub(r"MBK_(?:BOUNDS|RESIDENT)\s*\([^)]*\)", "", plain)
        found += [(match[1], match[0]) for match in re.finditer(
            r"\bMBK_(?:DEVICE|CALLED|KERNEL)\b[^;{]*?\b(\w+)\s*\(.*?^}", plain, re.S | re.M)]
        for name, code in found:
            names.setdefault(name, set()).update(re.findall(r"\w+", code))
    sharing = set(SHARING)
    while True:
        more = {name for name, words in names.items() if name not in sharing and words & sharing}
        if not more:
            break
        sharing |= more
    return {kernel for text in texts for kernel in kernels_of(text)} & sharing


def read_runs(paths):
    runs = collections.defaultdict(lambda: [0, 0, 0])
    for path in paths:
        for line in path.read_text().split("\n"):
            if line:
                kernel, forms, matrices, count = line.split()
                found = runs[kernel]
                runs[kernel] = [found[0] + int(forms), max(found[1], int(matrices)), found[2] + int(count)]
    return runs


def faults(files, runs):
    """Yields the faults of the kernels in `files`, a dictionary of texts by name."""
    for name, text in files.items():
        found = kernels_of(text)
        if "__global__" in without_comments(text):
            yield f"{name} writes __global__; write MBK_KERNEL"
        if not found and name.endswith(".cu"):
            yield f"{name} has no kernel"
        for kernel in found:
            if kernel not in runs:
                yield f"{kernel} of {name} ran in no test of tests/simt"
            elif runs[kernel][1] < LEAST_MATRICES:
                yield f"{kernel} of {name} ran on {runs[kernel][1]} matrices, not {LEAST_MATRICES}"


def check_itself(runs):
    """Checks that a kernel without a test would be found."""
    made_up = ("MBK_KERNEL MBK_BOUNDS(128)\n    mbk_made_up(int n) {}\nMBK_KERNEL mbk_other() {}\n"
               "MBK_KERNEL MBK_RESIDENT(128, 8)\n    mbk_third() {}")
    if len(list(faults({"made/up.cu": made_up}, runs))) != 3 or not list(faults({"empty.cu": ""}, runs)):
        sys.exit("kernels_ran.py finds no kernel without a test")
    calls = ("MBK_DEVICE void a(int n) {\n  mbk_block_sync();\n}\n#define B(x) \\\n  a(x)\n"
             "MBK_KERNEL MBK_BOUNDS(128)\n    mbk_b(int n) {\n  B(n);\n}\nMBK_KERNEL mbk_c(int n) {\n  n = 1;\n}\n"
             "MBK_KERNEL mbk_d() {\n  MBK_SHARED_MEMORY(shared);\n}\n")
    if sharing_kernels([calls]) != {"mbk_b", "mbk_d"}:
        sys.exit("kernels_ran.py does not see which kernels have shared memory")


def main():
    templates, shim = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    races, paths = pathlib.Path(sys.argv[3]), [pathlib.Path(path) for path in sys.argv[4:]]
    missing = [str(path) for path in [races, *paths] if not path.exists()]
    if missing:
        sys.exit("run the tests simt_* first; not there: " + " ".join(missing))
    runs = read_runs(paths)
    check_itself(runs)
    device = templates / "jit/device.cuh"
    files = {str(path.relative_to(templates)): path.read_text()
             for pattern in ("*.cu", "*.cuh") for path in sorted(templates.rglob(pattern)) if path != device}
    found = list(faults(files, runs))
    found += [f"{name} of jit/device.cuh is not in the shim's"
              for name in sorted(device_functions(device) - device_functions(shim))]
    found += [f"{kernel} has shared memory or barriers; run it in the race detector's program, races.cpp"
              for kernel in sorted(sharing_kernels(files.values()) - set(read_runs([races])))]
    for kernel, (forms, matrices, count) in sorted(runs.items()):
        print(f"{kernel:<22}{forms:4} forms, {matrices:4} matrices, {count:7} (kernel, matrix, seed) runs")
    kernels = sum(len(kernels_of(text)) for text in files.values())
    total = sum(count for _, _, count in runs.values())
    print(f"{kernels} kernels in {sum(name.endswith('.cu') for name in files)} files, {total} runs")
    for sentence in found:
        print(sentence)
    return 1 if found or kernels == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
