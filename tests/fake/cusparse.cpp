// A libcusparse that implements only cusparseSpMV of a CSR, in the order of the fake driver's
// streams: bench opens it as the rival. Sizes, types and preprocessing are checked when they
// are used.
#include <dlfcn.h>
#include <stdint.h>

#include <list>
#include <vector>

#include "fake.h"

namespace {
enum { SUCCESS = 0, INVALID_VALUE = 3, EXECUTION_FAILED = 6, NOT_SUPPORTED = 10 };
enum { INDEX_32 = 2, CSR_ALG1 = 2, CSR_ALG2 = 3, F32 = 0, F64 = 1, BUFFER = 64 };

struct vector {
  int64_t size;
  void *values;
  int type;
};

struct matrix {
  int64_t rows, cols, nnz;
  void *row_ptr, *col_ind, *values;
  int type, algorithm; // of the preprocessing; 0: none
};

struct product {
  matrix a;
  vector x, y;
  double alpha, beta;
};

void *stream = nullptr;
std::list<product> products; // kept, because a graph may repeat them

template <class T> std::vector<T> fetch(const void *from, int64_t count, fake_copy copy) {
  std::vector<T> to((size_t)count);
  copy(to.data(), from, to.size() * sizeof(T));
  return to;
}

template <class T> void multiply(const product &p, fake_copy copy) {
  const auto row_ptr = fetch<int32_t>(p.a.row_ptr, p.a.rows + 1, copy);
  const auto col_ind = fetch<int32_t>(p.a.col_ind, p.a.nnz, copy);
  const auto values = fetch<T>(p.a.values, p.a.nnz, copy);
  const auto x = fetch<T>(p.x.values, p.x.size, copy);
  auto y = fetch<T>(p.y.values, p.y.size, copy);
  for (size_t row = 0; row < y.size(); row++) {
    double sum = 0;
    for (size_t k = (size_t)row_ptr[row]; k < (size_t)row_ptr[row + 1]; k++) {
      sum += (double)values[k] * (double)x[(size_t)col_ind[k]];
    }
    y[row] = (T)(p.alpha * sum + (p.beta != 0 ? p.beta * (double)y[row] : 0));
  }
  copy(p.y.values, y.data(), y.size() * sizeof(T));
}

void *begin(void *argument) {
  return argument;
}

int advance(void *run, fake_copy copy) {
  const product &p = *(const product *)run;
  p.a.type == F32 ? multiply<float>(p, copy) : multiply<double>(p, copy);
  return 1;
}

int enqueue(product &p, void *buffer) {
  typedef int (*enqueuer)(void *, const char *, const fake_work *);
  void *driver = dlopen("libcuda.so.1", RTLD_NOW); // already loaded
  const enqueuer to_driver =
      driver != nullptr ? (enqueuer)dlsym(driver, "fake_cuda_enqueue") : nullptr;
  const size_t size = p.a.type == F32 ? sizeof(float) : sizeof(double);
  const fake_work work = {begin,
                          advance,
                          &p,
                          6,
                          {(uint64_t)p.a.row_ptr, (uint64_t)p.a.col_ind, (uint64_t)p.a.values,
                           (uint64_t)p.x.values, (uint64_t)p.y.values, (uint64_t)buffer},
                          {(size_t)(p.a.rows + 1) * 4, (size_t)p.a.nnz * 4,
                           (size_t)p.a.nnz * size, (size_t)p.x.size * size,
                           (size_t)p.y.size * size, BUFFER}};
  return to_driver != nullptr && to_driver(stream, "cusparseSpMV", &work) == 0
             ? SUCCESS
             : EXECUTION_FAILED;
}

bool fits(int operation, const matrix *a, const vector *x, const vector *y, int type,
          int algorithm) {
  return operation == 0 && x->size == a->cols && y->size == a->rows && x->values != y->values &&
         type == a->type && type == x->type && type == y->type &&
         (algorithm == CSR_ALG1 || algorithm == CSR_ALG2);
}

double scalar(const void *from, int type) {
  return type == F32 ? (double)*(const float *)from : *(const double *)from;
}
} // namespace

extern "C" {
int cusparseCreate(void **handle) {
  *handle = &products;
  return SUCCESS;
}

int cusparseDestroy(void *) {
  return SUCCESS;
}

int cusparseSetStream(void *, void *to) {
  stream = to;
  return SUCCESS;
}

int cusparseGetVersion(void *, int *version) {
  *version = 12900;
  return SUCCESS;
}

const char *cusparseGetErrorString(int) {
  return "the fake refuses it";
}

int cusparseCreateCsr(void **made, int64_t rows, int64_t cols, int64_t nnz, void *row_ptr,
                      void *col_ind, void *values, int offset_type, int index_type, int base,
                      int type) {
  if (offset_type != INDEX_32 || index_type != INDEX_32 || base != 0) {
    return NOT_SUPPORTED;
  }
  *made = new matrix{rows, cols, nnz, row_ptr, col_ind, values, type, 0};
  return SUCCESS;
}

int cusparseCreateCoo(void **, int64_t, int64_t, int64_t, void *, void *, void *, int, int,
                      int) {
  return NOT_SUPPORTED;
}

int cusparseDestroySpMat(void *made) {
  delete (matrix *)made;
  return SUCCESS;
}

int cusparseCreateDnVec(void **made, int64_t size, void *values, int type) {
  *made = new vector{size, values, type};
  return SUCCESS;
}

int cusparseDestroyDnVec(void *made) {
  delete (vector *)made;
  return SUCCESS;
}

int cusparseSpMV_bufferSize(void *, int operation, const void *, void *a, void *x, const void *,
                            void *y, int type, int algorithm, size_t *bytes) {
  *bytes = BUFFER;
  return fits(operation, (matrix *)a, (vector *)x, (vector *)y, type, algorithm)
             ? SUCCESS
             : INVALID_VALUE;
}

int cusparseSpMV_preprocess(void *, int operation, const void *, void *a, void *x, const void *,
                            void *y, int type, int algorithm, void *) {
  ((matrix *)a)->algorithm = algorithm;
  return fits(operation, (matrix *)a, (vector *)x, (vector *)y, type, algorithm)
             ? SUCCESS
             : INVALID_VALUE;
}

int cusparseSpMV(void *, int operation, const void *alpha, void *a, void *x, const void *beta,
                 void *y, int type, int algorithm, void *buffer) {
  const matrix *m = (const matrix *)a;
  if (!fits(operation, m, (vector *)x, (vector *)y, type, algorithm) ||
      m->algorithm != algorithm) {
    return INVALID_VALUE;
  }
  products.push_back({*m, *(vector *)x, *(vector *)y, scalar(alpha, type), scalar(beta, type)});
  return enqueue(products.back(), buffer);
}
}
