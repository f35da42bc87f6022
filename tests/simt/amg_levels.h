// Compares a hierarchy that was set up in the shim with that of the CPU: strong entries,
// aggregates and patterns are equal, values equal within a bound.
#ifndef SIMT_AMG_LEVELS_H
#define SIMT_AMG_LEVELS_H
#include "simt/amg_bed.h"
#include "simt/amg_matrices.h"

static merbit_context *host;

static int set_up(void **) {
  merbit_context_desc desc = {};
  desc.side = MERBIT_SIDE_CPU;
  desc.threads = 1;
  if (merbit_context_create(&desc, &host, nullptr) != MERBIT_OK) {
    return -1;
  }
  host->device.multiprocessors = 3;
  return 0;
}

static int tear_down(void **state) {
  merbit_context_destroy(host);
  return simt_runs_report(state);
}

static void expect_pattern(const mbi_amg_there &there, const mbi_amg_csr &csr,
                           const char *what) {
  if (there.rows != csr.rows || there.cols != csr.cols || there.nnz != csr.nnz ||
      memcmp(amg_at<int32_t>(there.row_ptr), csr.row_ptr, ((size_t)csr.rows + 1) * 4) != 0 ||
      (csr.nnz > 0 &&
       memcmp(amg_at<int32_t>(there.col_ind), csr.col_ind, (size_t)csr.nnz * 4) != 0)) {
    fail_msg("%s: the pattern of %s differs", amg_bed::what.matrix, what);
  }
}

static void expect_near(mbi_devptr there, const double *here, int64_t count, double size,
                        const char *what) {
  for (int64_t i = 0; i < count; i++) {
    const double difference = fabs(amg_at<double>(there)[i] - here[i]);
    if (!(difference <= 1e-13 * size)) {
      fail_msg("%s: %s of %lld is %.17g, not %.17g", amg_bed::what.matrix, what, (long long)i,
               amg_at<double>(there)[i], here[i]);
    }
  }
}

static int plain_levels; // levels whose P is T

static double largest(const double *values, int64_t count) {
  double most = 0;
  for (int64_t i = 0; i < count; i++) {
    most = fabs(values[i]) > most ? fabs(values[i]) : most;
  }
  return most;
}

// Compares the links of nodes: the entries of A_F to other nodes, which the CPU keeps for each
// entry of A.
static void expect_links(const mbi_amg_gpu_level &there, const mbi_amg_level &level) {
  const int32_t *links = amg_at<int32_t>(there.links);
  const int32_t *starts = amg_at<int32_t>(there.graph.row_ptr);
  std::map<std::pair<int64_t, int64_t>, bool> nodes;
  int64_t next = 0;
  for (int64_t i = 0; i < level.a.rows; i++) {
    for (int64_t k = level.a.row_ptr[i]; k < level.a.row_ptr[i + 1]; k++) {
      const int64_t bit = k - level.a.row_ptr[i], other = level.a.col_ind[k] / level.block;
      nodes[{i / level.block, other}] =
          other != i / level.block && (mbi_amg_kept(&level, i)[bit / 8] >> bit % 8 & 1);
    }
  }
  assert_int_equal(there.graph.nnz, nodes.size());
  for (const auto &[at, kept] : nodes) {
    const int64_t e = next++;
    assert_true(starts[at.first] <= e && e < starts[at.first + 1]);
    assert_int_equal(links[e], kept ? at.second : ~at.second);
  }
}

static void expect_level(const mbi_amg_gpu_level &there, const mbi_amg_level &level) {
  const int64_t rows = level.a.rows;
  assert_int_equal(there.block, level.block);
  expect_pattern(there.a, level.a, "A");
  expect_near(there.a.values, level.a.values, level.a.nnz, largest(level.a.values, level.a.nnz),
              "A");
  expect_near(there.inverse, level.inverse, rows, largest(level.inverse, rows), "D^-1");
  assert_true(fabs(there.lambda - level.lambda) <= 1e-13 * level.lambda);
  assert_int_equal(there.aggregates, level.aggregates);
  if (level.aggregates == 0) {
    return;
  }
  assert_int_equal(there.vectors, level.vectors);
  assert_int_equal(there.empty != 0, level.plain);
  plain_levels += level.plain;
  expect_links(there, level);
  assert_memory_equal(amg_at<int32_t>(there.aggregate), level.aggregate,
                      (size_t)(rows / level.block) * 4);
  for (int64_t i = 0; i < rows; i++) { // isolated nodes have no row in T
    if (level.aggregate[i / level.block] >= 0) {
      const int64_t k = level.vectors;
      expect_near(there.t + (uint64_t)(i * k) * 8, level.t + i * k, k, 1, "T");
    }
  }
  expect_pattern(there.p, level.p, "P");
  expect_pattern(there.r, level.r, "R");
  expect_near(there.p.values, level.p.values, level.p.nnz, 1, "P");
  expect_near(there.r.values, level.r.values, level.r.nnz, 1, "R");
}

// The nodes of a matrix and its near-null-space: `vectors` columns one after the other, or NULL
// for a constant for each unknown of a node.
struct nodes {
  int block = 1, vectors = 1;
  const double *modes = nullptr;
};

// The CPU's hierarchy of a matrix.
struct levels {
  mbi_amg_level at[MBI_AMG_LEVELS] = {};
  int count = 0;
  levels(input &in, const nodes &of) {
    at[0].a.rows = at[0].a.cols = in.n;
    at[0].a.nnz = nnz_of(in);
    at[0].a.row_ptr = in.row_ptr.data();
    at[0].a.col_ind = in.col_ind.data();
    at[0].a.values = in.values.data();
    at[0].borrowed = 1;
    at[0].block = of.block;
    at[0].vectors = of.vectors;
    void *copy = nullptr;
    assert_int_equal(mbi_allocate_array(host, in.n * of.vectors, 8, "near", &copy), MERBIT_OK);
    at[0].modes = (double *)copy;
    for (int64_t i = 0; i < in.n; i++) {
      for (int64_t v = 0; v < of.vectors; v++) {
        at[0].modes[i * of.vectors + v] =
            of.modes != nullptr ? of.modes[v * in.n + i] : i % of.block == v;
      }
    }
    assert_int_equal(mbi_amg_coarsen(host, at, of.modes != nullptr, &count), MERBIT_OK);
  }
  ~levels() {
    for (int l = 0; l < MBI_AMG_LEVELS; l++) {
      mbi_amg_level_release(host, &at[l]);
    }
  }
};

// Compares a level by reduction that is not the last.
static void expect_reduced(const mbi_amg_gpu_level &there, const mbi_amg_level &level) {
  const int64_t rows = level.a.rows;
  const double size = largest(level.inverse, rows);
  expect_pattern(there.a, level.a, "A");
  expect_near(there.a.values, level.a.values, level.a.nnz, largest(level.a.values, level.a.nnz),
              "A");
  assert_int_equal(there.aggregates, level.aggregates);
  assert_memory_equal(amg_at<int32_t>(there.points), level.points,
                      (size_t)level.aggregates * 4);
  assert_memory_equal(amg_at<int32_t>(there.aggregate), level.attached, (size_t)rows * 4);
  expect_pattern(there.p, level.p, "P");
  expect_near(there.p.values, level.p.values, level.p.nnz, 0, "P");
  expect_pattern(there.r, level.r, "R");
  expect_near(there.r.values, level.r.values, level.r.nnz, largest(level.r.values, level.r.nnz),
              "R");
  for (int half = 0; half < 2; half++) {
    const mbi_amg_csr &csr = level.halves[half];
    std::vector<double> inverse(level.inverse, level.inverse + rows);
    expect_pattern(there.halves[half], csr, "a row block");
    expect_near(there.halves[half].values, csr.values, csr.nnz, largest(csr.values, csr.nnz),
                "a row block");
    for (size_t i = 0; i < (size_t)rows; i++) {
      inverse[i] *= csr.row_ptr[i + 1] > csr.row_ptr[i];
    }
    expect_near(half ? there.inverse_c : there.inverse, inverse.data(), rows, size, "D^-1");
  }
}

static int reduced_levels; // levels by reduction

static void expect_same(const mbi_amg_gpu &gpu, const levels &cpu) {
  assert_int_equal(gpu.count, cpu.count);
  assert_int_equal(gpu.nonsymmetric, cpu.at[0].nonsymmetric);
  assert_int_equal(gpu.reduced, cpu.at[0].reduced);
  for (int l = 0; l < cpu.count; l++) {
    if (gpu.reduced && l + 1 < cpu.count) {
      expect_reduced(gpu.levels[l], cpu.at[l]);
      reduced_levels++;
    } else {
      expect_level(gpu.levels[l], cpu.at[l]);
    }
  }
}

// Compares the views for a cycle in f32 and in f64.
static void expect_views(mbi_amg_gpu &gpu) {
  for (int which = 0; which < 3 + gpu.reduced && (which == 0 || gpu.count > 1); which++) {
    const mbi_amg_gpu_level &level = gpu.levels[0];
    const mbi_amg_there &csr = which == 1    ? level.p
                               : which == 2  ? level.r
                               : which == 3  ? level.halves[1]
                               : gpu.reduced ? level.halves[0]
                                             : level.a;
    merbit_view wide, narrow;
    assert_int_equal(mbi_amg_gpu_show(&gpu, 0, which, MERBIT_F64, &wide), MERBIT_OK);
    assert_int_equal(mbi_amg_gpu_show(&gpu, 0, which, MERBIT_F32, &narrow), MERBIT_OK);
    assert_ptr_equal(wide.values, amg_at<double>(csr.values));
    assert_true(wide.memory == MERBIT_MEMORY_DEVICE && wide.nnz == csr.nnz &&
                wide.rows == csr.rows && wide.cols == csr.cols && narrow.nnz == csr.nnz);
    assert_true(narrow.value_type == MERBIT_F32);
    for (int64_t k = 0; k < csr.nnz; k++) {
      assert_true(((const float *)narrow.values)[k] == (float)amg_at<double>(csr.values)[k]);
    }
  }
  std::vector<double> wide((size_t)gpu.levels[0].a.rows);
  std::vector<float> narrow(wide.size());
  assert_int_equal(
      mbi_amg_gpu_inverse(&gpu, 0, 0, MERBIT_F64, (mbi_devptr)(uintptr_t)wide.data()),
      MERBIT_OK);
  assert_int_equal(
      mbi_amg_gpu_inverse(&gpu, 0, 0, MERBIT_F32, (mbi_devptr)(uintptr_t)narrow.data()),
      MERBIT_OK);
  for (size_t i = 0; i < wide.size(); i++) {
    assert_true(wide[i] == amg_at<double>(gpu.levels[0].inverse)[i]);
    assert_true(narrow[i] == (float)wide[i]);
  }
}

#endif
