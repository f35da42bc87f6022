#!/usr/bin/env python3
"""Check the Markdown files: README.md's length, relative links and anchors, and that tables and pictures match docs/results/."""
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LINES, WORDS, SUMMARY = 150, 1500, 12
LINK = re.compile(r"\]\(([^)\s]+)\)|^\[[^\]]+\]:\s*(\S+)", re.M)


def pages():
    """Yields the repository's Markdown files, without those of builds."""
    for folder in (".", "docs", "examples", "python", "tests", ".github"):
        for path in (ROOT / folder).glob("*.md" if folder == "." else "**/*.md"):
            yield path


def prose(text):
    """Returns the text without fenced blocks and code spans."""
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S))


def anchors(path):
    """Returns the anchors that GitHub gives a file's headings."""
    found = set()
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    for heading in re.findall(r"^#+\s+(.*?)\s*#*$", text, re.M):
        slug = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        slug = re.sub(r"[^\w\- ]", "", slug).replace(" ", "-")
        number = 0
        while slug + (f"-{number}" if number else "") in found:
            number += 1
        found.add(slug + (f"-{number}" if number else ""))
    return found | set(re.findall(r'<a (?:id|name)="([^"]+)"', text))


def broken_links():
    for page in pages():
        for first, second in LINK.findall(prose(page.read_text(encoding="utf-8"))):
            link = first or second
            if re.match(r"[a-z]+:", link):
                continue
            name, _, anchor = link.partition("#")
            target = (page.parent / name).resolve() if name else page
            where = f"{page.relative_to(ROOT)}: {link}"
            if not target.exists():
                yield f"{where}: there is no such file"
            elif anchor and anchor not in anchors(target):
                yield f"{where}: {target.name} has no heading for #{anchor}"


def too_long():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = re.search(r"<!-- summary -->\n(.*?)<!-- end -->", text, re.S)[1].count("\n") - 2
    for count, most, what in ((len(text.splitlines()), LINES, "lines"), (len(text.split()), WORDS, "words"),
                              (rows, SUMMARY, "rows of times")):
        if not 0 < count <= most:
            yield f"README.md has {count} {what}; at most {most}"


def stale():
    for script in (ROOT / "docs" / "tables.py", ROOT / "dist" / "predict.py"):
        run = subprocess.run([sys.executable, str(script), "--check"], capture_output=True, text=True)
        if run.returncode != 0:
            yield run.stderr.strip()


    run = json.loads((ROOT / "docs" / "results" / "h200-products.json").read_text(encoding="utf-8"))
    measured = sorted(f"{m['speedup']:.2f}" for r in run["results"] for m in r["methods"] if m["name"] == "auto")
    picture = (ROOT / "docs" / "pictures" / "speedups.svg").read_text(encoding="utf-8")
    if sorted(re.findall(r">(\d+\.\d\d)</text>", picture)) != measured:
        yield "docs/pictures/speedups.svg does not show docs/results/h200-products.json: run examples/plots/plot.py"


def unsigned():
    """Yields results that do not say what was measured, where and when."""
    for path in (ROOT / "docs" / "results").glob("**/*.json"):
        run = json.loads(path.read_text(encoding="utf-8"))
        for field in ("device", "date", "commit", "command"):
            if not run.get(field):
                yield f"{path.relative_to(ROOT)} lacks {field}"


def main():
    found = [*too_long(), *broken_links(), *stale(), *unsigned()]
    print("\n".join(found) or "README.md is short, links lead somewhere, tables are those of docs/results/")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
