#!/usr/bin/env python3
"""Random decimals, read and written by merbit under three locales, bit for bit: test_decimals.py DECIMALS WORK_DIR COUNT

f64 against Python's float(), f32 against reference.py. The locales are made here with localedef, from the sources of
Debian's package `locales`; where they cannot be made, the rest is skipped (77)."""
import array
import os
import pathlib
import random
import shutil
import struct
import subprocess
import sys

import reference

LOCALES = (("C", None, "."), ("de_DE.UTF-8", "de_DE", ","), ("ps_AF.UTF-8", "ps_AF", "\u066b"))


def halfway(dice, fraction_bits, lowest, highest):
    """Returns all digits of a midpoint of two numbers of a format, or of a number slightly above it."""
    top = 2 * (dice.getrandbits(fraction_bits) | dice.randrange(2) << fraction_bits) + 1
    power = dice.randrange(lowest, highest) - fraction_bits - 1
    digits = str(top * 5**-power) if power < 0 else str(top << power)
    tail = dice.choice(("", "0", "1", "000000000000000000000000000001"))
    return f"{digits}{tail}e{min(power, 0) - len(tail)}"


def short_tie(dice):
    """Returns a midpoint of two doubles with 19 digits: 54 bits, the last one set."""
    power = dice.randrange(-4, 24)
    if power < 0:
        return f"{(dice.getrandbits(52) * 2 + 1 | 1 << 53) * 5**-power}e{power}"
    first, last = -(-(2**53) // 5**power), (2**54 - 1) // 5**power
    return f"{dice.randrange(first, last + 1) | 1}e{power}"


def decimal(dice):
    kind = dice.randrange(100)
    bits = dice.getrandbits(63)
    if kind < 30:
        return repr(struct.unpack("<d", struct.pack("<Q", bits))[0])
    if kind < 40:
        return "%.*e" % (dice.randrange(14, 22), struct.unpack("<d", struct.pack("<Q", bits >> 11))[0])  # subnormal
    if kind < 60:
        return "%d.%0*d" % (dice.getrandbits(dice.randrange(1, 64)), dice.randrange(1, 18), dice.getrandbits(20))
    if kind < 75:
        return "%de%d" % (dice.getrandbits(dice.randrange(1, 80)), dice.randrange(-345, 300))
    if kind < 85:
        return str(dice.getrandbits(64) - 2**63)
    if kind < 92:
        return "%.*f" % (dice.randrange(0, 30), dice.random() * 10.0 ** dice.randrange(-9, 9))
    if kind < 97:
        return short_tie(dice)
    return halfway(dice, 52, -1022, 1023) if kind < 98 else halfway(dice, 23, -126, 127)


def make(count, seed):
    """Returns decimals whose doubles are finite, and the doubles."""
    dice = random.Random(seed)
    texts, doubles = [], array.array("d")
    while len(texts) < count:
        text = ("-" if dice.randrange(2) else "") + decimal(dice).lstrip("-")
        number = float(text) if text[-3:] not in ("nan", "inf") else float("inf")
        if abs(number) < float("inf"):
            texts.append(text)
            doubles.append(number)
    return texts, doubles


def write(path, texts):
    lines = "".join(f"1 {i} {text}\n" for i, text in enumerate(texts, 1))
    path.write_text(f"%%MatrixMarket matrix coordinate real general\n1 {len(texts)} {len(texts)}\n{lines}")


def first_difference(name, texts, got, expected):
    for text, one, other in zip(texts, got, expected):
        if struct.pack("<d", one) != struct.pack("<d", other):
            sys.exit(f"{name}: {text} became {one!r}, not {other!r}")
    sys.exit(f"{name}: {len(got)} values instead of {len(expected)}")


def check(name, texts, expected, work, code):
    """Returns the values that were read, and those of the text that was written."""
    got = array.array(code, (work / "values").read_bytes())
    if got.tobytes() != expected.tobytes():
        first_difference(f"{name}, reading", texts, got, expected)
    lines = (work / "out.mtx").read_text().splitlines()[2:]
    if code == "d":
        again = array.array("d", [float(line.rsplit(" ", 1)[1]) for line in lines])
    else:
        again = singles([line.rsplit(" ", 1)[1] for line in lines])
    if again.tobytes() != expected.tobytes():
        first_difference(f"{name}, writing", lines, again, expected)


def singles(texts):
    rounded = [reference.round_decimal(text.encode(), reference.F32) for text in texts]
    values = array.array("f")
    values.frombytes(array.array("I", rounded).tobytes())
    return values


def make_locale(source, name, folder):
    if source is None:
        return True
    try:
        made = subprocess.run(["localedef", "-f", "UTF-8", "-i", source, folder / name], capture_output=True)
    except FileNotFoundError:
        return False
    return (folder / name / "LC_NUMERIC").exists() or made.returncode == 0


def run_locale(program, work, name, point, type_name, path):
    command = [program, name, type_name, path, work / "out.mtx", work / "values"]
    process = subprocess.run(command, stdout=subprocess.PIPE, env={**os.environ, "LOCPATH": str(work / "locales")})
    if process.returncode == 77:
        return False
    if process.returncode != 0 or process.stdout.decode().strip() != point:
        sys.exit(f"{name}: status {process.returncode}, decimal separator {process.stdout.decode()!r}")
    return True


def main():
    program, work = sys.argv[1], pathlib.Path(sys.argv[2])
    seed = int(os.environ.get("MERBIT_TEST_SEED", "1"))
    count = 1000000 if "MERBIT_TEST_FULL" in os.environ else int(sys.argv[3])
    print(f"MERBIT_TEST_SEED={seed}")
    shutil.rmtree(work, ignore_errors=True)
    (work / "locales").mkdir(parents=True)
    texts, doubles = make(count, seed)
    write(work / "in.mtx", texts)
    dice = random.Random(seed)
    most = count // 15  # including those that are too large, which are left out; exact arithmetic is slow
    few = texts[:most] + [halfway(dice, 23, -126, 127) for _ in range(most // 4)]
    few = [text for text in few if reference.round_decimal(text.encode(), reference.F32) is not None]
    floats = singles(few)
    write(work / "few.mtx", few)
    skipped = 0
    for name, source, point in LOCALES:
        if not make_locale(source, name, work / "locales") or not run_locale(
            program, work, name, point, "f64", work / "in.mtx"
        ):
            print(f"{name}: skipped: localedef or the locale's source (Debian's package locales) is missing")
            skipped += 1
            continue
        check(f"{name} f64", texts, doubles, work, "d")
        run_locale(program, work, name, point, "f32", work / "few.mtx")
        check(f"{name} f32", few, floats, work, "f")
        print(f"{name}: decimal separator {ascii(point)}: {count} f64 and {len(few)} f32 values read and written")
    shutil.rmtree(work)
    return 77 if skipped else 0


if __name__ == "__main__":
    sys.exit(main())
