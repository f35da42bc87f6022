// The set-up of AMG under the race detector (races.cpp), and a product with rows long enough
// for thread blocks.
#include "simt/headers.h"

extern "C" { // amg_bed.h includes C code that calls functions of the library
#include "core/core.h"
}
#include "support/internal.h"

#include "simt/amg_bed.h"
#include "simt/races_list.h"

// The Laplacian of a mesh with 20 columns; with `hub`, node 0 is a neighbour of all others.
struct mesh {
  std::vector<int32_t> row_ptr{0}, col_ind;
  std::vector<double> values;

  mesh(int32_t n, bool hub) {
    for (int32_t i = 0; i < n; i++) {
      for (int32_t j = 0; j < n; j++) {
        if (i == j || (hub && (i == 0 || j == 0)) || abs(i - j) == 1 || abs(i - j) == 20) {
          col_ind.push_back(j);
          values.push_back(i != j ? -1 : i > 0 ? 5 : 1.9); // makes Lanczos steps necessary
        }
      }
      row_ptr.push_back((int32_t)col_ind.size());
    }
  }
};

static void test_amg(void **) {
  const int32_t n = 400;
  mesh plain(n, false), star(n, true);
  std::vector<double> modes(3 * n);
  for (int32_t i = 0; i < 3 * n; i++) {
    modes[(size_t)i] = 1 + i % 7;
  }
  merbit_context_desc desc = {};
  merbit_context *host;
  desc.side = MERBIT_SIDE_CPU;
  desc.threads = 1;
  assert_int_equal(merbit_context_create(&desc, &host, nullptr), MERBIT_OK);
  host->device.multiprocessors = 3;
  for (uint64_t seed : simt_few_seeds) {
    mbi_amg_gpu gpu;
    mbi_amg_there a = {}, unit = {}, c = {};
    merbit_view inverse, view = merbit_csr(n, n, plain.row_ptr.back(), plain.row_ptr.data(),
                                           plain.col_ind.data(), plain.values.data());
    view.memory = MERBIT_MEMORY_DEVICE;
    amg_bed::what = {"amg", "mesh", seed};
    assert_int_equal(mbi_amg_gpu_create(&gpu, host, &view, 1, 1, 0, nullptr), MERBIT_OK);
    assert_true(gpu.count > 1);
    assert_int_equal(mbi_amg_gpu_invert(&gpu, 1e-12, MERBIT_F64, &inverse), MERBIT_OK);
    mbi_amg_gpu_destroy(&gpu);
    std::vector<double> windy = plain.values;
    for (size_t i = 0; i < (size_t)n; i++) {
      for (size_t k = (size_t)plain.row_ptr[i]; k < (size_t)plain.row_ptr[i + 1]; k++) {
        windy[k] *= plain.col_ind[k] < (int32_t)i ? 9 : plain.col_ind[k] == (int32_t)i ? 6 : 1;
      }
    }
    merbit_view wind = view;
    wind.values = windy.data();
    amg_bed::what.matrix = "wind";
    assert_int_equal(mbi_amg_gpu_create(&gpu, host, &wind, 1, 1, 0, nullptr), MERBIT_OK);
    assert_true(gpu.reduced);
    assert_int_equal(mbi_amg_gpu_invert(&gpu, 1e-12, MERBIT_F64, &inverse), MERBIT_OK);
    assert_int_equal(mbi_amg_gpu_update(&gpu, &wind), MERBIT_OK);
    mbi_amg_gpu_destroy(&gpu);
    amg_bed::what.matrix = "nodes of two rows";
    assert_int_equal(mbi_amg_gpu_create(&gpu, host, &view, 2, 2, 0, modes.data()), MERBIT_OK);
    assert_true(gpu.count > 1);
    mbi_amg_gpu_destroy(&gpu);
    assert_int_equal(mbi_amg_gpu_create(&gpu, host, &view, 2, 3, 0, modes.data()), MERBIT_OK);
    assert_true(gpu.count > 1);
    assert_int_equal(mbi_amg_gpu_update(&gpu, &view), MERBIT_OK);
    a.rows = a.cols = n;
    a.nnz = star.row_ptr.back();
    a.row_ptr = (mbi_devptr)(uintptr_t)star.row_ptr.data();
    a.col_ind = (mbi_devptr)(uintptr_t)star.col_ind.data();
    a.values = (mbi_devptr)(uintptr_t)star.values.data();
    unit.rows = unit.cols = n;
    assert_int_equal(mbi_amg_product_columns(&gpu, &a, &unit, 0, &c), MERBIT_OK);
    assert_int_equal(c.longest, n);
    assert_int_equal(mbi_amg_pool_take(host, &gpu.keep, (uint64_t)c.nnz * 8, &c.values),
                     MERBIT_OK);
    assert_int_equal(mbi_amg_product_values(&gpu, &a, &unit, nullptr, &c), MERBIT_OK);
    assert_memory_equal(amg_at<double>(c.values), star.values.data(), star.values.size() * 8);
    std::vector<int32_t> counts(257 * 2048 + 1, 1); // exceeds a turn of the scan
    assert_int_equal(mbi_amg_scan(&gpu, (mbi_devptr)(uintptr_t)counts.data(), 257 * 2048),
                     MERBIT_OK);
    assert_int_equal(counts.back(), 257 * 2048);
    mbi_amg_gpu_destroy(&gpu);
  }
  merbit_context_destroy(host);
}

const std::vector<CMUnitTest> races_of_amg = {cmocka_unit_test(test_amg)};
