"""Two tasks that end in pictures: the PageRank of a web of pages, and a membrane on an L-shaped frame.

python pictures.py [FOLDER]     writes pagerank.png and membrane.png into FOLDER, this one unless given
"""

import pathlib
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp

import merbit

folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")

# %% PageRank
# Pages are points in the plane and link to close ones; one in twenty is a hub that its whole neighbourhood links to.

random = np.random.default_rng(1)
pages = random.random((600, 2))
distance = np.linalg.norm(pages[:, None] - pages[None], axis=2)
hubs = random.random(600) < 0.05
links = (distance < 0.06) | ((distance < 0.18) & hubs[None])
np.fill_diagonal(links, False)
graph = sp.csr_array(links.astype(np.float64))  # entry (i, j): page i links to page j

ranks, info = merbit.pagerank(graph)
print(f"PageRank: {info.stop} after {info.iterations} iterations")

source, target = graph.nonzero()
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 5))
left.plot(pages[[source, target], 0], pages[[source, target], 1], color="0.85", linewidth=0.3, zorder=0)
left.scatter(*pages.T, s=12 * 600 * ranks, c=ranks, cmap="viridis")
left.set_title("Pages, as large as their rank")
left.set_aspect("equal")
right.semilogy(np.arange(1, info.iterations + 1), info.history)
right.set(title="Convergence", xlabel="iteration", ylabel="change (L1 norm)")
figure.tight_layout()
figure.savefig(folder / "pagerank.png", dpi=110)

# %% A membrane
# -Laplace(u) = 1 on an L-shaped domain, u = 0 on its edge: five-point stencil, solved by CG.

n = 96
inside = np.zeros((n + 2, n + 2), bool)
inside[1:-1, 1:-1] = True
inside[n // 2 :, n // 2 :] = False
number = np.full(inside.shape, -1)
number[inside] = np.arange(inside.sum())
rows, columns = [], []
for shift in ((0, 1), (0, -1), (1, 0), (-1, 0)):
    neighbour = np.roll(number, shift, (0, 1))[inside]
    there = neighbour >= 0
    rows.append(number[inside][there])
    columns.append(neighbour[there])
rows, columns = np.concatenate(rows), np.concatenate(columns)
count = inside.sum()
matrix = sp.coo_array((-np.ones(len(rows)), (rows, columns)), shape=(count, count)) + 4 * sp.eye_array(count)

A = merbit.csr(matrix.tocsr())
u, info = merbit.cg(A, np.full(count, 1 / (n + 1) ** 2))
print(f"membrane: {info.stop} after {info.iterations} iterations, residual {info.residual:.1e}")
print(A.describe())

height = np.full(inside.shape, np.nan)
height[inside] = u
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 5))
left.contourf(height, 24, cmap="magma")
left.set_title("Height of the membrane")
left.set_aspect("equal")
right.semilogy(info.history)
right.set(title="Convergence of CG", xlabel="iteration", ylabel="||b - A x|| / ||b||")
figure.tight_layout()
figure.savefig(folder / "membrane.png", dpi=110)
