"""Finds definitions in templates/ and in merbit_dist.h by name, and texts in them.

A definition is a function or kernel, a macro, a struct, union or enumeration, a table (an initialised array or
struct) or a Jinja2 macro. A step of a solver has the name that it is written with, as MBS_ELEMENT(cg_start);
where a name is made by Jinja2, as mbi_take_{{ t.suffix }}, each {{ }} of it is a *. Several definitions may
have the same name.
"""
import bisect
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

NAME = r"(?:\w|\{\{[^{}]*\}\})+"
LEXEME = re.compile(
    r"""(?P<comment>/\*.*?\*/|//[^\n]*|\{\#.*?\#\})
    |(?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+')
    |(?P<directive>^[ \t]*\#[ \t]*(?P<word>\w*)(?:\\\n|/\*.*?\*/|[^\n])*)
    |(?P<jinja>\{%[-+]?\s*(?P<tag>\w*).*?%\})
    |(?P<expression>\{\{.*?\}\})
    |(?P<brace>[{};])""",
    re.S | re.M | re.X,
)
DEFINE = re.compile(r"[ \t]*#[ \t]*define[ \t]+(\w+)")
JINJA_MACRO = re.compile(r"\{%[-+]?\s*macro\s+(\w+)(.*?)\{%[-+]?\s*endmacro\s*[-+]?%\}", re.S)
STRUCT = r"(?:typedef\s+)?(?:struct|union|enum)\b\s*(?:alignas\s*\(.*?\)\s*)?(%s)?[^()=]*$" % NAME
TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|\w+|[^\w\s]')
BREAK = r"(?:\s|\\\n)"


class Definition:
    def __init__(self, file, name, kind, start, end, body=None):
        self.file, self.name, self.kind, self.start, self.end = file, name, kind, start, end
        self.body = body  # of a function: the text between its braces


def pattern(text):
    """Returns `text` as a regular expression of whole words, with any white space between its tokens."""
    tokens = list(TOKEN.finditer(text))
    parts = []
    for before, token in zip([None] + tokens, tokens):
        if before:
            words = re.match(r"\w", token.group()) and re.search(r"\w\Z", before.group())
            parts.append(BREAK + ("+" if words else "*"))
        elif re.match(r"\w", token.group()):
            parts.append(r"(?<!\w)")
        parts.append(re.escape(token.group()))
    if tokens and re.search(r"\w\Z", tokens[-1].group()):
        parts.append(r"(?!\w)")
    return re.compile("".join(parts))


def blank(match):
    """Returns a comment as white space of its length, and other lexemes unchanged."""
    return re.sub(r"[^\n]", " ", match.group()) if match.group("comment") else match.group()


class Scan:
    """The lexemes of one file that end or nest definitions."""

    def __init__(self, file, text):
        self.file, self.text, self.found = file, text, []
        self.lexemes = [m for m in LEXEME.finditer(text) if not m.group("comment") and not m.group("string")]
        self.starts = [m.start() for m in self.lexemes]
        for match in self.lexemes:
            if match.group("word") == "define":
                name = DEFINE.match(match.group())
                self.add(name.group(1), "macro", match.start(), match.end())
        self.templates = [(m.start(), m.end()) for m in JINJA_MACRO.finditer(text)]
        for match in JINJA_MACRO.finditer(text):
            self.add(match.group(1), "Jinja2 macro", match.start(), match.end())
        self.walk(0, len(self.lexemes), 0)

    def add(self, name, kind, start, end, body=None):
        self.found.append(Definition(self.file, name, kind, start, end, body))

    def close(self, index):
        """Returns the index of the brace that closes the one at `index`. Counts one branch of the preprocessor."""
        depth, saved = 0, []
        for i in range(index, len(self.lexemes)):
            match = self.lexemes[i]
            word = match.group("word") or match.group("tag")
            if word in ("if", "ifdef", "ifndef", "for"):
                saved.append(depth)
            elif word in ("else", "elif"):
                depth = saved[-1] if saved else 0
            elif word in ("endif", "endfor") and saved:
                saved.pop()
            elif match.group() == "{":
                depth += 1
            elif match.group() == "}":
                depth -= 1
                if depth == 0:
                    return i
            elif re.fullmatch(r'\{\{ "[^"]*" \}\}', match.group()):  # braces that Jinja2 must not see
                depth += match.group()[2:-2].count("{") - match.group()[2:-2].count("}")
        return None

    def walk(self, index, end, start):
        """Finds definitions among the lexemes [index, end); the first begins at `start` or later."""
        while index < end:
            match = self.lexemes[index]
            if match.group("directive") or match.group("jinja"):
                if self.text[start : match.start()].strip() and not match.group("jinja"):
                    start = start if self.open_head(start, match.start()) else match.end()
                elif not self.open_head(start, match.start()):
                    start = match.end()
            elif match.group() == ";":
                self.declaration(start, match.end())
                start = match.end()
            elif match.group() == "}":
                start = match.end()
            elif match.group() == "{":
                close = self.close(index)
                if close is None:
                    return
                if self.group(start, index, close):
                    index = close
                    start = self.lexemes[close].end()
                else:
                    start = match.end()
            index += 1

    def open_head(self, start, end):
        """Returns whether a definition begins here that continues after a directive."""
        head = self.code(start, end)
        return head.count("(") > head.count(")")

    def code(self, start, end):
        text = self.text[start:end]
        return LEXEME.sub(lambda m: m.group() if m.group("expression") or m.group("brace") else
                          " " if not m.group("string") else '""', text)

    def group(self, start, open_, close):
        """Takes the definition before and between two braces. Returns whether it is one."""
        head = self.code(start, self.lexemes[open_].start()).strip()
        inside = (self.behind_head(open_, close), self.lexemes[close].start())
        begin = start + len(self.text[start : self.lexemes[open_].start()]) - len(
            self.text[start : self.lexemes[open_].start()].lstrip())
        finish = self.lexemes[close].end()
        if re.search(r'(extern\s+""|namespace\s*\w*)$', head):
            return False
        head = self.without_template(head)
        name = self.function(head)
        if name:
            self.add(name, "function", begin, finish, inside)
            return True
        match = re.match(STRUCT, head)
        if match:
            semicolon = self.text.find(";", finish)
            after = self.text[finish : semicolon].strip()
            for name in {match.group(1), re.sub(r"\W.*", "", after)} - {None, ""}:
                self.add(self.plain(name), "struct", begin, semicolon + 1)
            self.walk(open_ + 1, close, inside[0])
            return True
        match = re.search(r"(%s)\s*(?:\[.*\])?\s*=\s*$" % NAME, head, re.S)
        if match:
            self.add(self.plain(match.group(1)), "table", begin, finish)
        return True

    def behind_head(self, open_, close):
        """Returns where the text between two braces begins for all branches of the preprocessor."""
        begin, depth = self.lexemes[open_].end(), 0
        for match in self.lexemes[open_ + 1 : close]:
            word = match.group("word") or match.group("tag")
            if word in ("endif", "endfor") and depth == 0:
                begin = match.end()
            depth += (word in ("if", "ifdef", "ifndef", "for")) - (word in ("endif", "endfor") and depth > 0)
        return begin

    def declaration(self, start, end):
        """Takes a table without braces."""
        if any(a <= start < b for a, b in self.templates):
            return
        match = re.search(r"(%s)\s*(?:\[[^=]*\])?\s*=" % NAME, self.code(start, end))
        if match and "(" not in self.code(start, end)[: match.start()]:
            self.add(self.plain(match.group(1)), "table", start, end)

    @staticmethod
    def plain(name):
        return re.sub(r"\{\{.*?\}\}", "*", name)

    @staticmethod
    def without_template(head):
        while head.startswith("template"):
            depth = parentheses = 0
            for i, c in enumerate(head):
                parentheses += (c == "(") - (c == ")")
                if not parentheses:
                    depth += (c == "<") - (c == ">")
                    if c == ">" and depth == 0:
                        break
            head = head[i + 1 :].strip()
        return head

    def function(self, head):
        """Returns the name of the function that `head` begins, or None."""
        head = re.sub(r"\)\s*:[^:].*$", ")", head, flags=re.S)
        head = re.sub(r"\)\s*(const|noexcept|\s)*$", ")", head)
        if not head.endswith(")"):
            return None
        depth = 0
        for i in range(len(head) - 1, -1, -1):
            depth += (head[i] == ")") - (head[i] == "(")
            if depth == 0:
                break
        before, arguments = head[:i].rstrip(), head[i + 1 : -1]
        match = re.search(r"operator\s*\S+$", before) or re.search(NAME + "$", before)
        if not match or match.group() in ("if", "for", "while", "switch", "defined") or "=" in before[: match.start()]:
            return None
        name = match.group()
        if name.startswith("MBS_"):
            return f"{name}({arguments.split(',')[0].strip()})"
        return self.plain(name)


class Sources:
    """The files under templates/ and merbit_dist.h, and their definitions by name."""

    def __init__(self):
        self.text = {p.relative_to(ROOT).as_posix(): p.read_text(encoding="utf-8")
                     for p in sorted((ROOT / "templates").rglob("*")) + [ROOT / "merbit_dist.h"] if p.is_file()}
        self.bare = {file: re.sub(LEXEME, blank, text) for file, text in self.text.items()}
        self.definitions = {}
        for file, text in self.text.items():
            for definition in Scan(file, text).found:
                self.definitions.setdefault(definition.name, []).append(definition)

    def places(self, where):
        """Returns the definitions of this name; for FILE:name the whole file."""
        if where.startswith("FILE:"):
            file = "templates/" + where.removeprefix("FILE:")
            text = self.text.get(file)
            return [] if text is None else [Definition(file, where, "file", 0, len(text))]
        return self.definitions.get(where, [])

    def find(self, where, text):
        """Returns all (definition, start, end) of `text`, which has no comments, in the definitions named `where`."""
        regex = pattern(text)
        found = {}
        for place in self.places(where):
            for match in regex.finditer(self.bare[place.file], place.start, place.end):
                found.setdefault((place.file, match.start()), (place, match.start(), match.end()))
        return list(found.values())

    def holders(self, text):
        """Returns the names of the smallest definitions around each occurrence of `text`."""
        regex, found = pattern(text), set()
        for file, bare in self.bare.items():
            for match in regex.finditer(bare):
                around = [d for ds in self.definitions.values() for d in ds
                          if d.file == file and d.start <= match.start() and match.end() <= d.end]
                found.add(min(around, key=lambda d: d.end - d.start).name if around
                          else "FILE:" + file.removeprefix("templates/"))
        return found
