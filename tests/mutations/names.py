"""Finds the names of all tests in the sources and CMake files under tests/: those that `ctest -N` lists in any build."""
import pathlib
import re

TESTS = pathlib.Path(__file__).resolve().parent.parent
COMMAND = re.compile(r"^[ \t]*(foreach|endforeach|add_test)\s*\(([^()]*)", re.M)


def of_source(path):
    """Returns the name that merbit_add_test in tests/CMakeLists.txt gives: the path if file and folder differ."""
    folder = "_".join(path.parent.parts)
    stem = path.stem.removeprefix("test_")
    return folder if stem == path.parent.name and len(path.parent.parts) > 1 else f"{folder}_{stem}"


def of_cmake(text):
    """Yields names in add_test(NAME ...), for each word of the foreach around it."""
    names, loops = set(), []
    for match in COMMAND.finditer(text):
        command, words = match.group(1), match.group(2).split()
        if command == "foreach":
            loops.append((words[0], words[1:]))
        elif command == "endforeach":
            loops.pop()
        elif words[0] == "NAME":
            found = {words[1]}
            for variable, values in loops:
                found = {name.replace("${%s}" % variable, value) for name in found for value in values}
            names |= {name for name in found if "$" not in name}
    return names


def all_names():
    sources = [p.relative_to(TESTS) for pattern in ("test_*.c", "simt/test_*.cpp") for p in TESTS.rglob(pattern)]
    names = {of_source(path) for path in sources}
    for path in TESTS.rglob("CMakeLists.txt"):
        names |= of_cmake(path.read_text(encoding="utf-8"))
    return names
