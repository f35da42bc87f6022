"""Print the figures of tests/coverage.sh from gcovr's JSON: totals, files, and every uncovered branch with its
function. Each function with uncovered branches must be explained in tests/uncovered.md, as

    - `function` (2): why

with the number of its uncovered branches. Exit 1 if one is missing there, or has more than that.
"""
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FUNCTION = re.compile(r"^(?:[A-Za-z_].*[ *])?((?:mbi|merbit)_\w+)\(")
EXPLAINED = re.compile(r"^- `(\w+)` \((\d+)\): \S")


def functions(text):
    """Returns the function of every line of a source."""
    function, found = "", [""]
    for line in text:
        head = FUNCTION.match(line)
        function = head.group(1) if head else function
        found.append(function)
    return found


def main():
    report = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
    rooms, uncovered, seen, texts = {}, {}, {}, {}
    for measured in report["files"]:
        path = ROOT / measured["file"]
        room = re.sub(r".*/(?:templates|sources)/", "", str(path))
        texts[room] = [""] + path.read_text(encoding="utf-8").splitlines()
        where = functions(texts[room][1:])
        for line in measured["lines"]:
            number = line["line_number"]
            # Merge the entries of several programs for the same place.
            key = seen.setdefault((room, number), dict(function=where[number], count=0, branches={}))
            key["count"] = max(key["count"], line["count"])
            for i, branch in enumerate(line.get("branches", [])):
                if branch.get("throw"):
                    continue
                at = (branch.get("branchno", i), branch.get("source_block_id"))
                key["branches"][at] = key["branches"].get(at, 0) + branch["count"]
    for (room, number), line in sorted(seen.items()):
        total = rooms.setdefault(room, [0, 0, 0, 0])
        total[0] += 1
        total[1] += line["count"] > 0
        total[2] += len(line["branches"])
        missed = sum(count == 0 for count in line["branches"].values())
        total[3] += len(line["branches"]) - missed
        if missed:
            uncovered.setdefault((room, line["function"]), []).append((number, missed))

    print("uncovered branches:")
    for (room, function), lines in uncovered.items():
        for number, missed in lines:
            print(f"  {room}:{number} {function} ({missed}): {texts[room][number].strip()}")
    print(f"\n{'file':28} {'lines':>13} {'':6} {'branches':>13}")
    whole = [sum(total[i] for total in rooms.values()) for i in range(4)]
    for room, total in list(rooms.items()) + [("all", whole)]:
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
