#!/bin/sh
# dist_bench on the CPU, with ranks over shared memory: every matrix is the same for any number of ranks, every product is
# verified, the JSON has the fields that dist/predict.py reads, wrong options are refused, and a failing rank ends the run.
set -eu
bench=$1
python=$2
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
run() { "$bench" --side cpu --exchange shared --threads 1 --repeat 1 --commit test "$@" >"$work/out" 2>"$work/errors"; }
refuse() { # a part of the message, then the options
  sentence=$1
  shift
  if run "$@"; then echo "$* was accepted"; exit 1; fi
  grep -q -- "$sentence" "$work/errors" || { echo "$*: no \"$sentence\""; cat "$work/errors"; exit 1; }
}
run --ranks 1,2,3 --weak 3K --strong 9K --json "$work/run.json" || { cat "$work/out" "$work/errors"; exit 1; }
"$python" - "$work/run.json" "$root" <<'END'
import json
import pathlib
import sys

path, root = pathlib.Path(sys.argv[1]), sys.argv[2]
run = json.loads(path.read_text())
results = run["results"]
kinds = {(r["matrix"], r["scaling"], r["ranks"]) for r in results}
assert len(results) == len(kinds) == 5 * 2 * 3, len(results)
assert run["failed"] == 0 and run["commit"] == "test" and run["device"] == "CPU"
for r in results:
    assert r["verified"] == 1 and r["rows_outside_bound"] == 0 and 0 < r["error_in_bounds"] <= 1, r
    assert abs(r.get("pagerank_total", 1) - 1) < 1e-9, r
    assert (r["rank_halo"] > 0) == (r["ranks"] > 1) == (r["halo_hidden_percent"] is not None), r
    assert r["product"]["seconds"] > 0 and r["create_seconds"] > 0, r
    wish = 9000 if r["scaling"] == "strong" else 3000 * r["ranks"]
    assert 0.6 * wish < r["nnz"] < 1.4 * wish, r
    assert ("cg_iteration_seconds" in r) == (r["matrix"] in ("stencil27", "stencil7", "road")), r
    assert ("pagerank_iteration_seconds" in r) == (r["matrix"] in ("road", "rmat", "web")), r
for name in ("stencil27", "stencil7", "road", "rmat", "web"):
    strong = [r for r in results if r["matrix"] == name and r["scaling"] == "strong"]
    assert len({(r["nnz"], r["global_rows"]) for r in strong}) == 1, strong  # not a matter of ranks

sys.path.insert(0, root + "/dist")
import predict

runs = predict.load([path])
assert len([line for line in predict.measured(runs) if " weak | " in line]) == 15
assert len([line for line in predict.predicted(runs) if ", A x | weak, " in line]) == 5
END
refuse 'give a number from 1 to 64' --ranks 0
refuse 'there is no mesh' --matrices stencil7,mesh
refuse 'give a number, as 80M' --weak 80X
refuse '--colour red is no option' --colour red
if "$bench" --side cpu 2>"$work/errors"; then echo 'NCCL on the CPU was accepted'; exit 1; fi
grep -q 'give --exchange shared with --side cpu' "$work/errors"
refuse 'cannot be written' --ranks 1 --matrices road --weak 1K --strong 0 --json "$work/absent/run.json"
refuse 'ranks have not ended within 0 s' --ranks 2 --matrices road --weak 1K --strong 0 --limit 0

# If a rank dies, the other one does not wait for it.
"$bench" --side cpu --exchange shared --threads 1 --ranks 2 --weak 2M --strong 0 >"$work/out" 2>"$work/errors" &
parent=$!
children=
while [ "$(echo "$children" | wc -w)" -lt 2 ]; do
  kill -0 $parent || { echo 'the run has ended before its rank was killed'; exit 1; }
  children=$(cat /proc/$parent/task/$parent/children)
done
kill -9 "$(echo "$children" | awk '{ print $2 }')"
if wait $parent; then echo 'a dead rank was not missed'; exit 1; fi
grep -q 'rank 1 of 2 ended with status 9' "$work/errors" || { cat "$work/errors"; exit 1; }
echo 'dist_bench verifies, writes and refuses what it should'
