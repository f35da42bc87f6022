"""The figures of tests/coverage.sh, from gcovr's JSON: totals, rooms, and every uncovered branch with its
function. Each function with uncovered branches must be explained in tests/uncovered.md, as

    - `function` (2): why

with the number of its uncovered branches. Exit 1 if one is missing there, or has more than that.
"""
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BANNER = re.compile(r"/\* ==== >>(\S+)")
FUNCTION = re.compile(r"^(?:[A-Za-z_].*[ *])?((?:mbi|merbit)_\w+)\(")
EXPLAINED = re.compile(r"^- `(\w+)` \((\d+)\): \S")


def places():
    """(room, function) of every line of merbit.h."""
    room, function, found = "api", "", [None]
    lines = (ROOT / "merbit.h").read_text(encoding="utf-8").splitlines()
    for line in lines:
        banner, head = BANNER.match(line), FUNCTION.match(line)
        if banner:
            room = banner.group(1)
        if head:
            function = head.group(1)
        found.append((room, function))
    return found, [""] + lines


def main():
    report = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
    (measured,) = [f for f in report["files"] if f["file"].endswith("merbit.h")]
    where, text = places()
    rooms, uncovered, seen = {}, {}, {}
    for line in measured["lines"]:
        number = line["line_number"]
        room, function = where[number]
        # One entry for each place, though several programs report it.
        key = seen.setdefault(number, dict(room=room, function=function, count=0, branches={}))
        key["count"] = max(key["count"], line["count"])
        for i, branch in enumerate(line.get("branches", [])):
            if branch.get("throw"):
                continue
            at = (branch.get("branchno", i), branch.get("source_block_id"))
            key["branches"][at] = key["branches"].get(at, 0) + branch["count"]
    for number, line in sorted(seen.items()):
        total = rooms.setdefault(line["room"], [0, 0, 0, 0])
        total[0] += 1
        total[1] += line["count"] > 0
        total[2] += len(line["branches"])
        missed = sum(count == 0 for count in line["branches"].values())
        total[3] += len(line["branches"]) - missed
        if missed:
            uncovered.setdefault((line["room"], line["function"]), []).append((number, missed))

    print("uncovered branches:")
    for (room, function), lines in uncovered.items():
        for number, missed in lines:
            print(f"  {room} {function} merbit.h:{number} ({missed}): {text[number].strip()}")
    print(f"\n{'room':28} {'lines':>13} {'':6} {'branches':>13}")
    whole = [sum(total[i] for total in rooms.values()) for i in range(4)]
    for room, total in list(rooms.items()) + [("merbit.h", whole)]:
        print(f"{room:28} {total[1]:6}/{total[0]:6} {percent(total[1], total[0])} "
              f"{total[3]:6}/{total[2]:6} {percent(total[3], total[2])}")

    explained = {}
    for line in (ROOT / "tests" / "uncovered.md").read_text(encoding="utf-8").splitlines():
        match = EXPLAINED.match(line)
        if match:
            explained[match.group(1)] = int(match.group(2))
    wrong = 0
    for (_, function), lines in uncovered.items():
        count = sum(missed for _, missed in lines)
        if count > explained.get(function, 0):
            wrong += 1
            print(f"tests/uncovered.md explains {explained.get(function, 0)} of {count} uncovered branches "
                  f"of {function}")
    for function in explained.keys() - {function for _, function in uncovered}:
        print(f"tests/uncovered.md explains {function}, of which every branch is covered")
    return 1 if wrong else 0


def percent(part, whole):
    return f"{100 * part / whole:5.1f}%" if whole else "      "


if __name__ == "__main__":
    sys.exit(main())
