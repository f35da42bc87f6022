#!/usr/bin/env python3
"""Check dist/predict.py: fits recover the rates from which times were made, halos equal counted ones, and a prediction adds up."""
import math
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "dist"))
import predict

OWN, PACK, EXCHANGE, HALO = (4e-6, 2e11), (3e-6, 8e11), (12e-6, 2e11), (5e-6, 1e11)
CG = (20e-6, 4e10)  # passes over vectors


def close(found, expected, tolerance=1e-6):
    if not abs(found - expected) <= tolerance * abs(expected):
        sys.exit(f"{found} is not {expected}")


def result(matrix, scaling, ranks, nnz, halo):
    rows = nnz / ranks / 27
    halo = halo if ranks > 1 else 0
    parts = [predict.at(PACK, 8 * halo), predict.at(EXCHANGE, 8 * halo), predict.at(HALO, 9 * halo)]
    own = predict.at(OWN, nnz / ranks - 9 * halo)
    product = parts[0] + max(own, parts[1]) + parts[2]
    names = ("own", "pack", "exchange", "halo_product", "sum", "product")
    times = dict(zip(names, ({"seconds": s} for s in (own, *parts, 6e-6 * ranks, product))))
    return {"matrix": matrix, "scaling": scaling, "ranks": ranks, "nnz": nnz, "rank_rows": rows, "rank_own_nnz": nnz / ranks - 9 * halo,
            "rank_halo_nnz": 9 * halo, "rank_halo": halo, "rank_sent": halo,
            "cg_iteration_seconds": product + predict.at(CG, rows), **times}


def counted_box(side, corners):
    """Returns the points outside a box of side^3 points that its points' stencils reach."""
    inside = range(side)
    halo = set()
    for x in inside:
        for y in inside:
            for z in inside:
                for step in range(27):
                    move = (step % 3 - 1, step // 3 % 3 - 1, step // 9 - 1)
                    if corners or sum(map(abs, move)) <= 1:
                        at = (x + move[0], y + move[1], z + move[2])
                        if any(not 0 <= a < side for a in at):
                            halo.add(at)
    return len(halo)


def main():
    close(predict.line([(size, 2e-6 + size / 5e9) for size in (10, 1e4, 1e6, 1e8)])[0], 2e-6)
    close(predict.line([(size, 2e-6 + size / 5e9) for size in (10, 1e4, 1e6, 1e8)])[1], 5e9)
    close(predict.line([(1e6, 1e-4), (2e6, 2.2e-4)])[0] + 1, 1)  # the start time is not negative
    if predict.line([(5, 3e-6), (50, 2e-6)]) != (2e-6, math.inf) or predict.line([]) != (0, math.inf):
        sys.exit("times that fall, or none, have no rate")
    results = [result("stencil27", scaling, ranks, nnz if scaling == "strong" else 8e7 * ranks, halo)
               for scaling, nnz in (("weak", 8e7), ("strong", 6e8)) for ranks, halo in ((1, 0), (2, 5e4), (4, 1e5))]
    model = predict.Model(results)
    for fit, truth in ((model.pack, PACK), (model.exchange, EXCHANGE), (model.halo, HALO), (model.own["stencil27"], OWN),
                       (model.passes["stencil27"]["cg"], CG)):
        close(fit[0], truth[0], 1e-3)
        close(fit[1], truth[1], 1e-3)
    for side in (4, 7):  # 64 GPUs form a 4 x 4 x 4 grid of boxes, of which an inner one has neighbours on all sides
        close(predict.box_halo(side**3, 64, True), counted_box(side, True))
        close(predict.box_halo(side**3, 64, False), counted_box(side, False))
    close(predict.box_halo(1000, 2, True), 100)
    if predict.boxes(8) != [2, 2, 2] or math.prod(predict.boxes(1024)) != 1024:
        sys.exit("boxes are not near a cube")
    draw = random.Random(1)  # a small R-MAT: distinct columns in a quarter of its draws
    scale, draws = 10, 4000
    met = {sum((draw.random() < 0.24) << bit for bit in range(scale)) for _ in range(draws)}
    close(predict.rmat_halo(15.5 * 2**scale, 15.5 * 2**scale / draws), len(met) * (1 - draws / (15.5 * 2**scale)), 0.05)
    rows = 8e7 / 27
    halo = predict.box_halo(rows, 64, True)
    inside, outside = predict.at(EXCHANGE, 4 * halo), predict.at(predict.LINK, 4 * halo)
    own = predict.at(OWN, 8e7 - 9 * halo)
    product = predict.at(PACK, 8 * halo) + max(own, inside, outside) + predict.at(HALO, 9 * halo)
    found = predict.forecast(model, "stencil27", 64 * 8e7, 64)
    close(found[0], product, 1e-3)
    close(found[1], product + predict.at(CG, rows) + 2 * (24e-6 + 3 * predict.HOP - 6e-6), 1e-3)
    if found[2] is not None:
        sys.exit("PageRank was not measured")
    print("fits, halos and predictions are right")


if __name__ == "__main__":
    main()
