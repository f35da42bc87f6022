// A C++ program that uses merbit: prints its version and a 1 x 1 product, "0.1.0 42".
#include <iostream>
#include <merbit.h>
#include <vector>

int main() {
  const std::vector<int> row_ptr = {0, 1}, col_ind = {0};
  const std::vector<double> values = {6}, x = {7};
  std::vector<double> y(1);
  const merbit_view a = merbit_csr(1, 1, 1, row_ptr.data(), col_ind.data(), values.data());
  merbit_plan_desc desc = {};
  merbit_context *context = nullptr;
  merbit_plan *plan = nullptr;
  desc.vector_memory = MERBIT_MEMORY_HOST;
  const bool failed = merbit_context_create(nullptr, &context, nullptr) ||
                      merbit_plan_create(context, &a, &desc, &plan) ||
                      merbit_spmv(plan, nullptr, nullptr, x.data(), nullptr, y.data(), nullptr);
  std::cout << merbit_version() << ' ' << y[0] << '\n';
  merbit_plan_destroy(plan);
  merbit_context_destroy(context);
  return failed;
}
