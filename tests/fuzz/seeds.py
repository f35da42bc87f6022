#!/usr/bin/env python3
"""Write the seed corpora of the fuzz targets: seeds.py TARGET DATA_DIR FOLDER"""
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "hostile"))
import table  # noqa: E402


def reader(data):
    """Yields every small file of the tests and a file of each kind, after the two bytes that choose how it is read."""
    texts = [path.read_bytes() for path in sorted(data.glob("*/*.mtx"))] + [text for _, text, _ in table.CASES]
    for index, text in enumerate(text for text in texts if len(text) <= 2000):
        yield bytes([0x20 + index % 2, index % 7]) + text
        if b"complex" in text:
            yield bytes([0x22 + index % 2, index % 7]) + text
    for field, value in (("real", "2"), ("integer", "2"), ("complex", "2 0"), ("pattern", "")):
        for symmetry in ("general", "symmetric", "skew-symmetric", "hermitian"):
            kept = [(i, j) for j in (1, 2, 3) for i in (1, 2, 3)
                    if symmetry == "general" or i > j or i == j and symmetry != "skew-symmetric"]
            values = [value.replace("0", "0" if i == j else "3") for i, j in kept]
            head = f"%%MatrixMarket matrix {{}} {field} {symmetry}\n3 3"
            entries = [f"{i} {j} {v}" for (i, j), v in zip(kept, values)]
            for lines in [head.format("array"), *values], [f"{head.format('coordinate')} {len(kept)}", *entries]:
                yield b"\x22\x05" + ("\n".join(lines) + "\n").encode()


def arrays(_):
    """Yields valid CSR and COO views of every width and base, and one large entry of each kind."""
    for flags in range(32):
        base = flags >> 4
        coo = flags & 1
        head = bytes([flags, 0, 3, 4, 5])
        offsets = bytes([base, 2, 0, 2])
        indices = bytes(base + i for i in (0, 4, 1, 2))
        rows = bytes(base + i for i in (2, 0, 0, 1))
        values = bytes([101, 99, 100, 250])
        yield head + (rows if coo else offsets) + indices + values
        yield bytes([flags, 0, 0, 0, 0, base])
        for wide in (-1, 2**31 - 1, 2**31, 2**32 + base, 2**63 - 1):
            yield head + (rows if coo else offsets) + indices[:3] + b"\xff" + struct.pack("<q", wide) + values


def cache(_):
    """Yields each entry unchanged, each under another key, and each with one edit of every kind."""
    for key in range(4):
        for other in range(4):
            mode = bytes([1 | key << 1 | other << 3])
            yield mode
            for kind in range(4):
                for at in (0, 8, 16, 24, 32, 47, 48, 49):
                    yield mode + bytes([kind]) + struct.pack("<H", at) + struct.pack("<Q", 1)
    yield b"\0"
    yield b"\0" + struct.pack("<8sQQQ16s", b"merbit\r\n", 1, 1, 1, b"") + b"kx"


def expression(_):
    """Yields everything in the grammar, in both types, and some things that are not in it."""
    for text in ("a + x", "min(a, max(x, -a)) * 2.5e-3", "!(a > 0) ? x - 0.1 : abs(x) / (1 + a * a)",
                 "a < x && x != 3 || !a", "sqrt(a) + exp(x) - log(a) * pow(a, x)", "floor(a) == ceil(inf)",
                 "((((a))))", "a; x", "a /* x */", "#include <a>", "\"a\"", "a ? x", "0x10", "1e999", "min(a)"):
        for kind in (b"\0", b"\1"):
            yield kind + text.encode()


def main():
    target, data, folder = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    folder.mkdir(parents=True)
    targets = {"reader": reader, "arrays": arrays, "cache": cache, "expression": expression}
    for index, seed in enumerate(targets[target](data)):
        (folder / f"{index:04}").write_bytes(seed)


if __name__ == "__main__":
    main()
