"""A slow Matrix Market reader to hold merbit's against, written from the definition (NISTIR 5935) and merbit.h's
manual. All numbers are exact until they are rounded once. It tells where a file is wrong, but has no messages.

Decisions that the definition leaves open: blanks (space, tab, CR, VT, FF) may surround everything except the banner's
first word; blank lines and comments may be anywhere after the banner; a byte order mark is skipped; only comments may
have 262,144 bytes or more; exponents may be written E or D; nan, inf and infinity are values, in any
case; a real hermitian file is symmetric; a symmetric file lists entries on one side of its diagonal."""
import re
import struct
import sys

F64 = (52, 1023)
F32 = (23, 127)

BLANKS = b" \t\r\v\f"
LINE_LIMIT = 262144
MOST = 10**18 - 1  # largest size; more digits are TOO_LARGE
NUMBER = re.compile(rb"([+-]?)(\d+\.?\d*|\.\d+)(?:[eEdD]([+-]?\d+))?\Z")
WHOLE = re.compile(rb"\+?(\d+)\Z")
SPECIAL = re.compile(rb"([+-]?)(nan|inf|infinity)\Z", re.I)
PACKED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd", b"PK\x03\x04")
FIELDS = (b"real", b"integer", b"pattern", b"complex", b"unsigned-integer")
SYMMETRIES = (b"general", b"symmetric", b"skew-symmetric", b"hermitian")
SHORTEST = {"array": 2, "coordinate": 4}  # bytes of "1\n" and "1 1\n"


if hasattr(sys, "set_int_max_str_digits"):
    sys.set_int_max_str_digits(0)  # numbers may be as long as a line


class Fault(Exception):
    def __init__(self, status, line):
        super().__init__(status, line)
        self.status, self.line = status, line


class Matrix:
    """A matrix, sorted by row and column; `values` holds bit patterns, or is None for a pattern."""

    def __init__(self, rows, cols, entries, values):
        self.rows, self.cols, self.entries, self.values = rows, cols, entries, values

    def __eq__(self, other):
        return isinstance(other, Matrix) and vars(self) == vars(other)

    def __repr__(self):
        return f"{self.rows} x {self.cols}, {len(self.entries)} entries {self.entries[:8]}, values {self.values and [hex(v) for v in self.values[:8]]}"


# ---- Numbers ---------------------------------------------------------------------------------------


def round_ratio(top, bottom, form):
    """Returns the bits of the value nearest to top / bottom, ties to even; None beyond the largest number."""
    fraction_bits, bias = form
    if top == 0:
        return 0
    exponent = top.bit_length() - bottom.bit_length()  # 2^(exponent - 1) < ratio < 2^(exponent + 1)
    if top < bottom << exponent if exponent >= 0 else top << -exponent < bottom:
        exponent -= 1
    unit = max(exponent, 1 - bias) - fraction_bits  # of the last place
    if unit >= 0:
        bottom <<= unit
    else:
        top <<= -unit
    whole, rest = divmod(top, bottom)
    if 2 * rest > bottom or (2 * rest == bottom and whole & 1):
        whole += 1
    bits = whole + ((unit + fraction_bits + bias - 1) << fraction_bits)
    return bits if bits < (2 * bias + 1) << fraction_bits else None


def round_decimal(text, form):
    """Returns the bits of a decimal's nearest value, including the sign; None if that is infinite."""
    sign, digits, exponent = NUMBER.match(text).groups()
    negative = (sign == b"-") << sum(width(form))
    whole, _, fraction = digits.partition(b".")
    significant = (whole + fraction).lstrip(b"0")
    power = int(exponent or b"0") - len(fraction)
    magnitude = len(significant) + power  # 10^(magnitude - 1) <= value < 10^magnitude
    if not significant or magnitude < -400:
        return negative
    if magnitude > 400:
        return None
    number = int(significant)
    bits = round_ratio(number * 10 ** max(power, 0), 10 ** max(-power, 0), form)
    return None if bits is None else bits | negative


def width(form):
    return form[0], form[1].bit_length() + 1


def pack(form):
    return ("<Q", "<d") if form == F64 else ("<I", "<f")


def to_float(bits, form):
    whole, real = pack(form)
    return struct.unpack(real, struct.pack(whole, bits))[0]


def to_bits(value, form):
    whole, real = pack(form)
    try:
        data = struct.pack(real, value)
    except OverflowError:  # of a sum of floats
        data = struct.pack(real, float("inf") if value > 0 else float("-inf"))
    return plain_nan(struct.unpack(whole, data)[0], form)


def plain_nan(bits, form):
    """Replaces all NaNs by one, because the processor decides which one a sum gives."""
    fraction_bits, bias = form
    infinite = (2 * bias + 1) << fraction_bits
    magnitude = bits & ~(1 << sum(width(form)))
    return infinite | 1 << (fraction_bits - 1) if magnitude > infinite else bits


def value_of(token, field, form):
    """Returns the bits, or None if the token is not a value of the field."""
    special = SPECIAL.match(token)
    if special:
        return to_bits(float(special.group(0)), form)
    if not NUMBER.match(token) or (field in (b"integer", b"unsigned-integer") and not re.match(rb"[+-]?\d+\Z", token)):
        return None
    return round_decimal(token, form)


# ---- Lines -------------------------------------------------------------------------------------------


def whole_of(token):
    match = WHOLE.match(token)
    return int(match.group(1)) if match else None


def data_lines(lines):
    """Yields (number, tokens) of lines that are neither blank nor comments."""
    for number, line in enumerate(lines, 1):
        if number == 1:
            continue
        start = line[:LINE_LIMIT].lstrip(BLANKS)
        if len(line) >= LINE_LIMIT and not start.startswith(b"%"):
            raise Fault("INVALID_FILE", number)
        if start and not start.startswith(b"%"):
            yield number, re.split(rb"[ \t\r\v\f]+", line.strip(BLANKS))


def read_banner(line):
    words = re.split(rb"[ \t\r\v\f]+", line.rstrip(BLANKS).lower())
    fine = len(line) < LINE_LIMIT and words[0] == b"%%matrixmarket" and len(words) == 5 and words[1] == b"matrix"
    fine = fine and words[2] in (b"coordinate", b"array") and words[3] in FIELDS and words[4] in SYMMETRIES
    if not fine:
        raise Fault("INVALID_FILE", 1)
    form, field, symmetry = words[2:]
    if field == b"pattern" and (form == b"array" or symmetry in SYMMETRIES[2:]):
        raise Fault("INVALID_FILE", 1)
    if field == b"complex":
        raise Fault("NOT_SUPPORTED", 1)
    return form == b"array", field, b"symmetric" if symmetry == b"hermitian" else symmetry


def read_sizes(number, tokens, count):
    sizes = []
    for token in tokens[:count]:
        size = whole_of(token)
        if size is None:
            raise Fault("INVALID_FILE", number)
        if size > MOST:
            raise Fault("TOO_LARGE", number)
        sizes.append(size)
    if len(tokens) != count:
        raise Fault("INVALID_FILE", number)
    return sizes


def array_places(rows, cols, symmetry):
    skew = symmetry == b"skew-symmetric"
    for col in range(1, cols + 1):
        for row in range(1 if symmetry == b"general" else col + skew, rows + 1):
            yield row, col


def array_count(rows, cols, symmetry):
    if symmetry == b"general":
        return rows * cols
    return rows * (rows - 1) // 2 if symmetry == b"skew-symmetric" else rows * (rows + 1) // 2


def read_entry(number, tokens, array, place, field, symmetry, rows, cols, form):
    if array:
        row, col = next(place)
        tokens = [b"", b""] + tokens
    else:
        row, col = ([whole_of(token) for token in tokens[:2]] + [None, None])[:2]
        if not row or not col or row > rows or col > cols:
            raise Fault("INVALID_FILE", number)
        if symmetry == b"skew-symmetric" and row == col:
            raise Fault("INVALID_FILE", number)
    if len(tokens) != (2 if field == b"pattern" else 3):
        raise Fault("INVALID_FILE", number)
    bits = None if field == b"pattern" else value_of(tokens[2], field, form)
    if bits is None and field != b"pattern":
        raise Fault("INVALID_FILE", number)
    return row, col, bits


def assemble(rows, cols, listed, symmetry, pattern, form):
    """Adds mirror images in file order, and adds up duplicates in file order."""
    sign = 1 << sum(width(form))
    whole = []
    for row, col, bits in listed:
        whole.append((row - 1, col - 1, bits))
        if symmetry != b"general" and row != col:
            mirrored = plain_nan(bits ^ sign, form) if symmetry == b"skew-symmetric" else bits
            whole.append((col - 1, row - 1, mirrored))
    sums = {}
    for row, col, bits in whole:
        value = 1.0 if pattern else to_float(bits, form)
        if (row, col) in sums:
            # Two floats' sum in double, rounded to float, is their sum in float (S. Figueroa, 1995).
            sums[row, col] = to_bits(to_float(sums[row, col], form) + value, form)
        else:
            sums[row, col] = to_bits(value, form)
    places = sorted(sums)
    values = None if pattern and len(places) == len(whole) else [sums[place] for place in places]
    return Matrix(rows, cols, places, values)


def limit_rows(rows, size):
    return rows <= 2**20 + 64 * size


def read_text(data, form, length_known):
    size = len(data)
    if size == 0 or data.startswith(PACKED):
        raise Fault("INVALID_FILE", 1)
    data = data.removeprefix(b"\xef\xbb\xbf")
    lines = data.split(b"\n")
    if not lines[-1] and len(lines) > 1:
        lines.pop()
    array, field, symmetry = read_banner(lines[0])
    remaining = data_lines(lines)
    number, tokens = next(remaining, (None, None))
    if number is None:
        raise Fault("INVALID_FILE", len(lines) + 1)
    size_line = number
    rows, cols, *count = read_sizes(number, tokens, 2 if array else 3)
    if cols >= 2**31:
        raise Fault("TOO_LARGE", number)
    if symmetry != b"general" and rows != cols:
        raise Fault("INVALID_FILE", number)
    count = array_count(rows, cols, symmetry) if array else count[0]
    if length_known:
        behind = max(0, len(data) - sum(len(line) + 1 for line in lines[:number]))
        shortest = SHORTEST["array" if array else "coordinate"]
        if not limit_rows(rows, size):
            raise Fault("TOO_LARGE", number)
        if count * shortest > behind + 1:
            raise Fault("INVALID_FILE", number)
    place = array_places(rows, cols, symmetry) if array else None
    listed, side = [], None
    for _ in range(count):
        number, tokens = next(remaining, (None, None))
        if number is None:
            raise Fault("INVALID_FILE", len(lines) + 1)
        row, col, bits = read_entry(number, tokens, array, place, field, symmetry, rows, cols, form)
        listed.append((row, col, bits))
        if symmetry != b"general" and row != col:
            if side not in (None, row > col):
                raise Fault("INVALID_FILE", number)
            side = row > col
    for number, _ in remaining:
        raise Fault("INVALID_FILE", number)
    if not limit_rows(rows, size):
        raise Fault("TOO_LARGE", size_line)
    return assemble(rows, cols, listed, symmetry, field == b"pattern", form)


def read(data, form=F64, length_known=True):
    """Returns a Matrix, or the set of acceptable (status, line). The reader searches for zero bytes ahead of the current
    line, so it may report an earlier fault or the first zero byte."""
    faults = set()
    zero = data.find(b"\0")
    if zero >= 0 and not data.startswith(PACKED):
        faults.add(("INVALID_FILE", data.count(b"\n", 0, zero) + 1))
    try:
        matrix = read_text(data, form, length_known)
    except Fault as fault:
        if not faults or fault.line <= min(faults)[1]:
            faults.add((fault.status, fault.line))
    return faults or matrix
