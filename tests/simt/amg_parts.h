// Parts of the set-up of AMG by themselves: prefix sums, and the inverse of the coarsest
// matrix.
#ifndef SIMT_AMG_PARTS_H
#define SIMT_AMG_PARTS_H
#include "simt/amg_levels.h"

// A scan of more tiles than its one block has threads.
static void long_arrays_are_summed(void **) {
  const int64_t count = 2048 * 300 + 5;
  std::vector<int32_t> counts((size_t)count + 1);
  mbi_amg_gpu gpu = {};
  mbi_amg_facts facts;
  int64_t sum = 0;
  for (int64_t i = 0; i < count; i++) {
    counts[(size_t)i] = (int32_t)(i % 7);
  }
  amg_bed::what = {"scan", "long", simt_seeds[2]};
  gpu.context = host;
  assert_int_equal(mbi_amg_gpu_open(&gpu), MERBIT_OK);
  memset((void *)(uintptr_t)gpu.facts, 0, sizeof facts);
  assert_int_equal(mbi_amg_scan(&gpu, (mbi_devptr)(uintptr_t)counts.data(), count), MERBIT_OK);
  assert_int_equal(mbi_amg_read(&gpu, &facts), MERBIT_OK);
  for (int64_t i = 0; i <= count; i++) {
    assert_int_equal(counts[(size_t)i], sum);
    sum += i < count ? i % 7 : 0;
  }
  assert_int_equal(facts.total, sum);
  assert_int_equal(facts.most, 6);
  mbi_amg_gpu_destroy(&gpu);
}

// A matrix whose pivots come in another order than its rows. `kind` 0: definite; 1: not
// symmetric; 2: of rank n - 1; 3: indefinite, with a zero on the diagonal.
static input coarsest_matrix(int64_t n, int kind) {
  std::vector<double> sums((size_t)n);
  entries e;
  uint64_t random = (uint64_t)(n + 1);
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = kind == 1 ? 0 : i; j < n; j++) {
      const double value = -(double)(1 + test_below(&random, 64)) / 64;
      if (i != j && (j == i + 1 || test_below(&random, 3) > 0)) {
        e[{i, j}] = value;
        sums[(size_t)i] -= value;
        if (kind != 1) {
          e[{j, i}] = value;
          sums[(size_t)j] -= value;
        }
      }
    }
  }
  for (int64_t i = 0; i < n; i++) {
    const double sum = sums[(size_t)i], sign = i % 2 == 0 ? 1 : -1;
    e[{i, i}] = kind == 0   ? sum + 1
                : kind == 1 ? sign * sum / 2
                : kind == 2 ? sum
                : i > 0     ? sign * (sum + 1)
                            : 0;
  }
  return input("a coarsest matrix", n, e);
}

// Checks the inverse B of the last level's matrix A: A B A = A, and B has `rank` rows. Compares
// it with that by the CPU.
static void check_inverse(const input &in, bool symmetric, int64_t rank) {
  const size_t n = (size_t)in.n;
  std::vector<double> dense(n * n), product(n * n);
  mbi_amg_gpu gpu = {};
  mbi_amg_csr csr = {}, cpu;
  merbit_view wide, narrow;
  gpu.context = host;
  gpu.count = 1;
  csr.rows = csr.cols = gpu.levels[0].a.rows = gpu.levels[0].a.cols = in.n;
  csr.nnz = gpu.levels[0].a.nnz = nnz_of(in);
  csr.row_ptr = (int32_t *)in.row_ptr.data();
  csr.col_ind = (int32_t *)in.col_ind.data();
  csr.values = (double *)in.values.data();
  gpu.levels[0].a.row_ptr = (mbi_devptr)(uintptr_t)csr.row_ptr;
  gpu.levels[0].a.col_ind = (mbi_devptr)(uintptr_t)csr.col_ind;
  gpu.levels[0].a.values = (mbi_devptr)(uintptr_t)csr.values;
  assert_int_equal(mbi_amg_gpu_open(&gpu), MERBIT_OK);
  assert_int_equal(mbi_amg_gpu_invert(&gpu, 1e-12, MERBIT_F64, &wide), MERBIT_OK);
  assert_int_equal(mbi_amg_gpu_invert(&gpu, 1e-12, MERBIT_F32, &narrow), MERBIT_OK);
  assert_int_equal(mbi_amg_invert(host, &csr, 1e-12, &cpu), MERBIT_OK);
  expect_pattern(gpu.inverse, cpu, "the inverse");
  const double *const inverse = amg_at<double>(gpu.inverse.values);
  const double size = largest(cpu.values, cpu.nnz);
  assert_ptr_equal(wide.values, inverse);
  for (size_t i = 0; i < n; i++) {
    for (size_t k = (size_t)in.row_ptr[i]; k < (size_t)in.row_ptr[i + 1]; k++) {
      const size_t j = (size_t)in.col_ind[k];
      dense[i * n + j] = in.values[k];
      for (size_t c = 0; c < n; c++) {
        product[i * n + c] += in.values[k] * inverse[j * n + c];
      }
    }
    rank -= largest(inverse + i * n, in.n) != 0;
  }
  assert_int_equal(rank, 0);
  for (size_t i = 0; i < n; i++) {
    std::vector<double> row(n);
    for (size_t j = 0; j < n; j++) {
      for (size_t k = (size_t)in.row_ptr[j]; k < (size_t)in.row_ptr[j + 1]; k++) {
        row[(size_t)in.col_ind[k]] += product[i * n + j] * in.values[k];
      }
    }
    for (size_t j = 0; j < n; j++) {
      const size_t at = i * n + j;
      assert_true(fabs(row[j] - dense[at]) <= 1e-9 * (double)n);
      assert_true(!symmetric || inverse[at] == inverse[j * n + i]);
      assert_true(fabs(inverse[at] - cpu.values[at]) <= 1e-9 * size);
      assert_true(((const float *)narrow.values)[at] == (float)inverse[at]);
    }
  }
  mbi_amg_csr_release(host, &cpu);
  mbi_amg_gpu_destroy(&gpu);
}

static void matrices_are_inverted(void **) {
  for (int64_t n : {0, 1, 2, 3, 5, 7, 8, 9, 16, 17, 40, 100, MBI_AMG_COARSEST}) {
    for (int kind = 0; kind < 4; kind++) {
      const std::string name = std::to_string(n) + " rows, kind " + std::to_string(kind);
      const bool singular = (kind == 2 && n > 0) || (kind > 0 && n == 1);
      amg_bed::what = {"inverse", name.c_str(), simt_seeds[2]};
      check_inverse(coarsest_matrix(n, kind), kind != 1, n - singular);
    }
  }
}

#endif
