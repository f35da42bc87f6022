#!/bin/sh
# Times merbit beside PETSc's matrix types on 1, 2 and 4 processes: sh dist/petsc/bench.sh [FILE.json] [OPTION...]
# The options are those of bench.c, for example -size 1000000. The file is docs/results/petsc-products.json if none is
# given. Measure on a machine that does nothing else, and on no more processes than it has cores (RANKS="1 2").
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=${1-$here/../../docs/results/petsc-products.json}
[ $# -eq 0 ] || shift
. "$here/environment.sh"
make -s -C "$here"
mkdir -p "$(dirname "$out")"
for ranks in ${RANKS-1 2 4}; do
  mpirun -n "$ranks" "$build/bench" -dll_prepend "$build/libmerbit_petsc.so" -json "$build/bench.$ranks.json" "$@"
done
python3 - "$out" "$here" "$*" $(for ranks in ${RANKS-1 2 4}; do echo "$build/bench.$ranks.json"; done) <<'END'
import datetime, json, subprocess, sys
out, here, options, *parts = sys.argv[1:]
model = [line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")]
commit = subprocess.run(["git", "-C", here, "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
results = [json.loads(line) for part in parts for line in open(part)]
ratios = {}
for r in results:
    ratios.setdefault(r["type"], []).append(r["ratio"])
for name, numbers in ratios.items():
    product = 1.0
    for number in numbers:
        product *= number
    print(f"{name}: {product ** (1 / len(numbers)):.2f} times aij in geometric mean, at worst {min(numbers):.2f}")
with open(out, "w") as f:
    json.dump({"device": model[0] if model else "unknown", "processors": len(model), "date": str(datetime.date.today()),
               "commit": commit, "command": f"sh dist/petsc/bench.sh {options}".strip(), "results": results}, f, indent=1)
    f.write("\n")
END
