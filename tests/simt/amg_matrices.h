// Matrices of which test_amg.cpp makes multigrid: meshes, graphs and nodes of several rows.
#ifndef SIMT_AMG_MATRICES_H
#define SIMT_AMG_MATRICES_H
#include "support/internal.h"

#include <math.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "support/matrices.h"

// A symmetric matrix with sorted rows.
struct input {
  const char *name;
  int64_t n;
  std::vector<int32_t> row_ptr, col_ind;
  std::vector<double> values;

  input(const char *name, int64_t n,
        const std::map<std::pair<int64_t, int64_t>, double> &entries)
      : name(name), n(n), row_ptr((size_t)n + 1) {
    for (const auto &[at, value] : entries) {
      row_ptr[(size_t)at.first + 1]++;
      col_ind.push_back((int32_t)at.second);
      values.push_back(value);
    }
    for (size_t i = 0; i < (size_t)n; i++) {
      row_ptr[i + 1] += row_ptr[i];
    }
  }
};

static int64_t nnz_of(const input &in) {
  return in.row_ptr[(size_t)in.n];
}

typedef std::map<std::pair<int64_t, int64_t>, double> entries;

// A matrix in an inconvenient but legal form: 64-bit indices from 1, f32, unsorted rows, some
// entries in two parts.
struct rough {
  std::vector<int64_t> row_ptr, col_ind;
  std::vector<float> values;

  explicit rough(const input &in) : row_ptr{1} {
    uint64_t random = 5;
    for (size_t i = 0; i < (size_t)in.n; i++) {
      std::vector<std::pair<int64_t, float>> row;
      for (size_t k = (size_t)in.row_ptr[i]; k < (size_t)in.row_ptr[i + 1]; k++) {
        const float value = (float)in.values[k], part = k % 5 == 0 ? value / 2 : 0;
        row.push_back({in.col_ind[k] + 1, value - part});
        if (part != 0) {
          row.push_back({in.col_ind[k] + 1, part});
        }
      }
      for (size_t k = row.size(); k > 1; k--) {
        std::swap(row[k - 1], row[(size_t)test_below(&random, (int64_t)k)]);
      }
      for (const auto &[column, value] : row) {
        col_ind.push_back(column);
        values.push_back(value);
      }
      row_ptr.push_back((int64_t)col_ind.size() + 1);
    }
  }
  merbit_view view(int64_t n) const {
    merbit_view view = merbit_csr(n, n, (int64_t)col_ind.size(), row_ptr.data(), col_ind.data(),
                                  values.data());
    view.offset_type = view.index_type = MERBIT_INDEX_64;
    view.value_type = MERBIT_F32;
    view.base = 1;
    view.memory = MERBIT_MEMORY_DEVICE;
    return view;
  }
};

static merbit_view view_of(const input &in) {
  merbit_view view = merbit_csr(in.n, in.n, nnz_of(in), in.row_ptr.data(), in.col_ind.data(),
                                in.values.data());
  view.memory = MERBIT_MEMORY_DEVICE;
  return view;
}

static void put(entries &e, int64_t i, int64_t j, double value) {
  e[{i, j}] = e[{j, i}] = value;
}

// Sets the diagonal entries such that the sum of each row is `extra`.
static void close(entries &e, int64_t n, double extra) {
  std::vector<double> sums((size_t)n, 0.0);
  for (const auto &[at, value] : e) {
    sums[(size_t)at.first] += at.first != at.second ? value : 0;
  }
  for (int64_t i = 0; i < n; i++) {
    e[{i, i}] = extra - sums[(size_t)i];
  }
}

// Returns a mesh of nx x ny with couplings of `cy` in the second direction; with `full` also
// diagonal couplings, with `jumps` jumping coefficients.
static input mesh(const char *name, int64_t nx, int64_t ny, double cy, bool full, bool jumps) {
  entries e;
  for (int64_t y = 0; y < ny; y++) {
    for (int64_t x = 0; x < nx; x++) {
      const int64_t i = y * nx + x;
      const double c = jumps && (x / 5 + y / 3) % 2 ? 1024 : 1;
      if (x + 1 < nx) {
        put(e, i, i + 1, -c);
      }
      if (y + 1 < ny) {
        put(e, i, i + nx, -c * cy);
        if (full && x + 1 < nx) {
          put(e, i, i + nx + 1, -c);
          put(e, i + 1, i + nx, -c);
        }
      }
    }
  }
  close(e, nx * ny, 0.125);
  return input(name, nx * ny, e);
}

// Returns a graph in which `hubs` nodes have `degree` neighbours, the others few or none.
static input graph(const char *name, int64_t n, int64_t hubs, int64_t degree, uint64_t seed) {
  entries e;
  for (int64_t i = 0; i < n; i++) {
    for (int64_t k = 0; k < (i < hubs ? degree : i % 17 == 0 ? 0 : 2); k++) {
      const int64_t j = test_below(&seed, n);
      if (j != i && (j % 17 != 0 || j < hubs)) {
        put(e, i, j, -(double)(1 + test_below(&seed, 64)) / 16);
      }
    }
  }
  close(e, n, 1);
  for (int64_t i = 0; i < n && seed % 8 != 0; i++) {
    e[{i, i}] *= 0.75; // row sums then do not bound the eigenvalues
  }
  return input(name, n, e);
}

// Keeps the names of test cases, which outlive their inputs.
static const char *name_of(const char *what, int i) {
  static std::set<std::string> names;
  return names.insert(what + (" " + std::to_string(i))).first->c_str();
}

// Replaces each entry of a matrix of nodes by a block of `block` rows. Of the blocks off the
// diagonal, `left_out` in 8 entries are not stored, and the first unknown of some nodes is
// coupled to nothing, as if its value were prescribed. With `left_out` 0 all blocks are full.
// The matrix is diagonally dominant.
static input blocked(const char *name, const input &of, int block, int left_out) {
  uint64_t random = 17;
  entries e;
  for (int64_t i = 0; i < of.n; i++) {
    for (int64_t k = of.row_ptr[(size_t)i]; k < of.row_ptr[(size_t)i + 1]; k++) {
      const int64_t j = of.col_ind[(size_t)k];
      for (int64_t r = 0; j <= i && r < block; r++) {
        for (int64_t c = 0; c < block; c++) {
          const bool apart =
              left_out > 0 && ((i % 50 == 3 && r == 0) || (j % 50 == 3 && c == 0));
          if (!apart && (j == i ? r != c : r == c || test_below(&random, 8) >= left_out)) {
            put(e, i * block + r, j * block + c,
                of.values[(size_t)k] * (r == c ? 1 : (double)test_below(&random, 5) / 16));
          }
        }
      }
    }
  }
  std::vector<double> sums((size_t)(of.n * block), 0.125);
  for (const auto &[at, value] : e) {
    sums[(size_t)at.first] += fabs(value);
  }
  for (int64_t i = 0; i < of.n * block; i++) {
    e[{i, i}] = sums[(size_t)i];
  }
  return input(name, of.n * block, e);
}

// Returns vectors that are hard to orthogonalise: the last depends on the first two, nodes have
// zeros alone or one unknown, and aggregates have fewer rows than there are vectors.
static std::vector<double> vectors_of(int64_t n, int block, int vectors) {
  std::vector<double> modes((size_t)(n * vectors));
  for (int64_t i = 0; i < n; i++) {
    for (int64_t v = 0; v < vectors; v++) {
      const double number = v < block ? (double)(i % block == v) : cos((double)(i * v));
      modes[(size_t)(v * n + i)] = i / block % 50 == 7 ? 0 : number;
    }
    if (vectors > 2) {
      modes[(size_t)((vectors - 1) * n + i)] = modes[(size_t)i] - 2 * modes[(size_t)(n + i)];
    }
  }
  return modes;
}

#endif
