#!/bin/sh
# Times merbit and PETSc's matrix types on 1, 2 and 4 processes: sh dist/petsc/bench.sh [FILE.json] [OPTION...]
# The options are those of bench.c, for example -size 1000000. The default file is
# docs/results/petsc-products.json. Each product is compared with that of PETSc's aij; times are medians. Use an idle machine.
# RANKS="1 2" measures on other numbers of processes. With more processes than processors, times depend on the system's
# scheduling: they are marked "oversubscribed", and the means are also given without them.
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
import datetime, json, math, subprocess, sys
out, here, options, *parts = sys.argv[1:]
model = [line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")]
commit = subprocess.run(["git", "-C", here, "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
results = [json.loads(line) for part in parts for line in open(part)]
for r in results:
    r["oversubscribed"] = r["ranks"] > len(model)
for kind in list(dict.fromkeys(r["type"] for r in results))[1:]:
    for what, kept in ("", True), (", as many processes as processors at most", False):
        of_kind = [r for r in results if r["type"] == kind and (kept or not r["oversubscribed"])]
        if of_kind and (kept or len(of_kind) < sum(r["type"] == kind for r in results)):
            mean = math.prod(r["ratio"] for r in of_kind) ** (1 / len(of_kind))
            worst = min(of_kind, key=lambda r: r["ratio"])
            print(f"{kind}: {mean:.2f} times as fast as aij in geometric mean, at worst {worst['ratio']:.2f} "
                  f"({worst['matrix']}, {worst['ranks']} ranks){what}")
with open(out, "w") as f:
    json.dump({"program": "bench.sh", "device": model[0] if model else "unknown", "processors": len(model), "date": str(datetime.date.today()),
               "commit": commit, "command": f"sh dist/petsc/bench.sh {options}".strip(), "results": results}, f, indent=1)
    f.write("\n")
END
