"""Draw how CG converges with each preconditioner, on the power network that ships with examples/solve.c.

    pip install -r examples/plots/requirements.txt
    cc -O3 -I. examples/solve.c -o solve -lm -ldl -pthread
    python3 examples/plots/preconditioners.py ./solve --device "what you measure on"

Runs the program once for each kind, writes what it tells to docs/results/convergence/cg-KIND.json (cg.json without one),
and the picture to docs/pictures/preconditioners.svg.
"""

import argparse
import datetime
import json
import os
import pathlib
import re
import subprocess

from convergence import draw
from plot import save

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
KINDS = ("none", "jacobi", "chebyshev", "fsai", "amg")
MATRIX = "examples/data/1138_bus.mtx"


def run(program, kind, device):
    """Solves with a kind of preconditioner; returns what it wrote, with where and when."""
    path = ROOT / "docs" / "results" / "convergence" / ("cg.json" if kind == "none" else f"cg-{kind}.json")
    options = ["--method", "cg", "--preconditioner", kind, "--picture", path.name, MATRIX]
    subprocess.run([program, *options[:5], path, MATRIX], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    text = path.read_text(encoding="utf-8")
    version = re.search(r'MERBIT_VERSION_STRING "(.*)"', (ROOT / "merbit.h").read_text(encoding="utf-8"))[1]
    commit = subprocess.check_output(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], text=True).strip()
    about = {"program": "solve", "merbit": version, "date": str(datetime.date.today()), "commit": commit,
             "command": " ".join(["solve", *options]), "device": device}
    path.write_text("{\n" + json.dumps(about, indent=0)[2:-2] + "," + text[1:], encoding="utf-8")
    written = json.loads(path.read_text(encoding="utf-8"))
    if written["curves"][0]["points"][-1][1] > written["target"]:
        raise SystemExit(f"{path}: CG does not converge")
    return written


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", help="examples/solve.c, compiled")
    parser.add_argument("--device", required=True)
    options = parser.parse_args()
    runs = [run(os.path.abspath(options.program), kind, options.device) for kind in KINDS]
    save(draw(runs, "1138_bus: ||b - A x|| / ||b||", logarithmic=True),
         str(ROOT / "docs" / "pictures" / "preconditioners.svg"))


if __name__ == "__main__":
    main()
