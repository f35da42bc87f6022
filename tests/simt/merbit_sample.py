"""Run MERBIT kernels from the whole cross product of forms: merbit_sample.py FOLDER COMPILER FLAGS...

test_merbit_*.cpp run a fixed list in which every two choices meet. This script compiles and runs
forms picked by MERBIT_TEST_SEED, or all of them with MERBIT_TEST_FULL, with random threads per
block. It writes the programs to FOLDER.
"""

import concurrent.futures
import itertools
import os
import pathlib
import random
import re
import subprocess
import sys

QUICK = 8
PER_PROGRAM = 32
SHARED_MOST = 227 << 10
THREADS = (32, 64, 128, 512, 1024)
CHOICES = {
    "value": ("float", "double"),
    "sigma": (1, 7, 14, 28, 41),
    "omega": (32, 16, 8),
    "offset": (32, 64),
    "base": (0, 1),
    "tile": (32, 64),
    "ones": (0, 1),
    "commit": ("host", "device", "dual"),
}


def threads_of(form, chance):
    """Returns a random number of threads whose products fit in shared memory."""
    bytes_per_step = 4 if form["value"] == "float" else 8
    most = SHARED_MOST // (bytes_per_step * (form["sigma"] + 1))
    return chance.choice([threads for threads in THREADS if threads <= most])


def source(forms, chance):
    lines = ['#include "simt/merbit_product.h"']
    for form in forms:
        threads = threads_of(form, chance)
        name = "_".join(str(choice) for choice in form.values()) + f"_{threads}"
        lines.append(
            "#define SIMT_FORM {}, {value}, {sigma}, {omega}, {}, {offset}, {base}, {tile}, {ones}, {}, {}".format(
                "form_" + name, threads, int(form["commit"] == "device"), int(form["commit"] == "dual"), **form))
        lines.append('#include "simt/merbit_form.h"')
    return "\n".join(lines) + "\nint main() {\n  return merbit_main(true);\n}\n"


def run(job):
    """Compiles and runs one program. Returns its output."""
    folder, command, number, text = job
    path = folder / f"sample{number}.cpp"
    path.write_text(text)
    program = str(path.with_suffix(""))
    arguments = [str(path) if argument == "SOURCE" else argument for argument in command]
    for step in (arguments + ["-o", program], [program]):
        done = subprocess.run(step, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            return f"FAILED: {' '.join(step)}\n{done.stdout}"
    return done.stdout


def main():
    folder, command = pathlib.Path(sys.argv[1]), sys.argv[2:]
    seed = os.environ.get("MERBIT_TEST_SEED", "1")
    full = "MERBIT_TEST_FULL" in os.environ
    chance = random.Random(int(seed))
    every = [dict(zip(CHOICES, choice)) for choice in itertools.product(*CHOICES.values())]
    forms = every if full else chance.sample(every, QUICK)
    folder.mkdir(parents=True, exist_ok=True)
    jobs = [(folder, command, number, source(forms[first:first + PER_PROGRAM], chance))
            for number, first in enumerate(range(0, len(forms), PER_PROGRAM))]
    print(f"MERBIT_TEST_SEED={seed}: {len(forms)} of {len(every)} forms")
    failed = runs = 0
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0)) if full else 1) as pool:
        for output in pool.map(run, jobs):
            counted = re.search(r"^(\d+) \(kernel, matrix, seed\) runs", output, re.M)
            if output.startswith("FAILED") or counted is None:
                print(output)
                failed = 1
            else:
                runs += int(counted.group(1))
    print(f"{runs} (kernel, matrix, seed) runs")
    return failed


if __name__ == "__main__":
    sys.exit(main())
