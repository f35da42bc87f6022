// The products that compare.py times: merbit, Eigen, librsb, SuiteSparse:GraphBLAS and MKL
// behind one C interface. All use the threads of one OpenMP runtime; with several, the idle
// threads of one would spin while another computes. All compute y = A x except GraphBLAS, which
// adds to y, its fastest form.
#define MERBIT_IMPLEMENTATION
#define MERBIT_STATIC
#include "merbit.h"

#include <Eigen/SparseCore>
#include <rsb.h>

#include <algorithm>
#include <complex>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

extern "C" { // missing from this version of its header
#include <GraphBLAS.h>
}

namespace {

struct Matrix {
  int rows, cols, nnz;
  const int *row_ptr, *col_ind;
  const void *values;
};

struct Rival {
  virtual ~Rival() {
  }
  virtual bool multiply(const void *x, void *y) = 0;
  virtual std::string note() {
    return "";
  }
};

// ---- merbit ---------------------------------------------------------------------------------
template <typename T> struct Merbit : Rival {
  merbit_context *context = nullptr;
  merbit_plan *plan = nullptr;
  Merbit(const Matrix &a, int threads, int method) {
    merbit_context_desc context_desc = {};
    merbit_plan_desc plan_desc = {};
    merbit_view view = {};
    context_desc.side = MERBIT_SIDE_CPU;
    context_desc.threads = threads;
    plan_desc.method = static_cast<merbit_method>(method);
    plan_desc.expected_calls = 1000;
    view.value_type = sizeof(T) == 4 ? MERBIT_F32 : MERBIT_F64;
    view.rows = a.rows;
    view.cols = a.cols;
    view.nnz = a.nnz;
    view.row_ptr = a.row_ptr;
    view.col_ind = a.col_ind;
    view.values = a.values;
    if (merbit_context_create(&context_desc, &context, nullptr) == MERBIT_OK) {
      (void)merbit_plan_create(context, &view, &plan_desc, &plan);
    }
  }
  ~Merbit() override {
    merbit_plan_destroy(plan);
    merbit_context_destroy(context);
  }
  bool multiply(const void *x, void *y) override {
    return merbit_spmv(plan, nullptr, nullptr, x, nullptr, y, nullptr) == MERBIT_OK;
  }
  std::string note() override {
    char text[1024];
    (void)merbit_plan_describe(plan, text, sizeof text);
    return text;
  }
};

// ---- Eigen ----------------------------------------------------------------------------------
template <typename T> struct EigenRival : Rival {
  typedef Eigen::Map<const Eigen::SparseMatrix<T, Eigen::RowMajor>> Sparse;
  typedef Eigen::Matrix<T, Eigen::Dynamic, 1> Vector;
  Sparse a;
  EigenRival(const Matrix &m, int threads)
      : a(m.rows, m.cols, m.nnz, m.row_ptr, m.col_ind, static_cast<const T *>(m.values)) {
    Eigen::setNbThreads(threads);
  }
  bool multiply(const void *x, void *y) override {
    Eigen::Map<const Vector> in(static_cast<const T *>(x), a.cols());
    Eigen::Map<Vector> out(static_cast<T *>(y), a.rows());
    out.noalias() = a * in;
    return true;
  }
};

// ---- librsb ---------------------------------------------------------------------------------
template <typename T> struct Rsb : Rival {
  rsb_mtx_t *a = nullptr;
  Rsb(const Matrix &m, int threads) {
    rsb_err_t error = rsb_lib_init(RSB_NULL_INIT_OPTIONS);
    rsb_int_t count = threads;
    if (error == RSB_ERR_NO_ERROR) {
      (void)rsb_lib_set_opt(RSB_IO_WANT_EXECUTING_THREADS, &count);
      a = rsb_mtx_alloc_from_csr_const(
          m.values, m.row_ptr, m.col_ind, m.nnz,
          sizeof(T) == 4 ? RSB_NUMERICAL_TYPE_FLOAT : RSB_NUMERICAL_TYPE_DOUBLE, m.rows, m.cols,
          RSB_DEFAULT_ROW_BLOCKING, RSB_DEFAULT_COL_BLOCKING, RSB_FLAG_NOFLAGS, &error);
    }
  }
  ~Rsb() override {
    (void)rsb_mtx_free(a);
  }
  bool multiply(const void *x, void *y) override {
    const T one = 1, zero = 0;
    return a != nullptr &&
           rsb_spmv(RSB_TRANSPOSITION_N, &one, a, x, 1, &zero, y, 1) == RSB_ERR_NO_ERROR;
  }
};

// ---- SuiteSparse:GraphBLAS ------------------------------------------------------------------
template <typename T> struct Graph : Rival {
  GrB_Matrix a = nullptr;
  GrB_Vector in = nullptr, out = nullptr;
  GrB_Type type = sizeof(T) == 4 ? GrB_FP32 : GrB_FP64;
  GrB_Semiring times =
      sizeof(T) == 4 ? GrB_PLUS_TIMES_SEMIRING_FP32 : GrB_PLUS_TIMES_SEMIRING_FP64;
  GrB_BinaryOp plus = sizeof(T) == 4 ? GrB_PLUS_FP32 : GrB_PLUS_FP64;
  template <typename From, typename To> static To *copy(const From *from, size_t count) {
    To *to = static_cast<To *>(std::malloc((count + 1) * sizeof(To)));
    std::copy(from, from + count, to);
    return to;
  }
  Graph(const Matrix &m, int threads) {
    static const GrB_Info started = GrB_init(GrB_NONBLOCKING);
    (void)started;
    (void)GxB_Global_Option_set(GxB_GLOBAL_NTHREADS, threads);
    const T *values = static_cast<const T *>(m.values);
    const bool iso = std::all_of(values, values + m.nnz, [&](T v) { return v == values[0]; });
    const size_t count = iso ? 1 : static_cast<size_t>(m.nnz);
    GrB_Index *p = copy<int, GrB_Index>(m.row_ptr, static_cast<size_t>(m.rows) + 1);
    GrB_Index *j = copy<int, GrB_Index>(m.col_ind, static_cast<size_t>(m.nnz));
    void *v = copy<T, T>(values, count);
    (void)GxB_Matrix_import_CSR(
        &a, type, static_cast<GrB_Index>(m.rows), static_cast<GrB_Index>(m.cols), &p, &j, &v,
        (static_cast<GrB_Index>(m.rows) + 1) * sizeof *p,
        static_cast<GrB_Index>(m.nnz) * sizeof *j, count * sizeof(T), iso, false, nullptr);
    full(&in, static_cast<size_t>(m.cols));
    full(&out, static_cast<size_t>(m.rows));
  }
  void full(GrB_Vector *vector, size_t count) {
    (void)GrB_Vector_new(vector, type, count);
    (void)GrB_Vector_assign_FP64(*vector, nullptr, nullptr, 0, GrB_ALL, count, nullptr);
    std::vector<T> zeros(count);
    put(*vector, zeros.data(), count);
  }
  void put(GrB_Vector vector, const T *from, size_t count) { // full, not iso-valued
    void *v = copy<T, T>(from, count);
    (void)GxB_Vector_pack_Full(vector, &v, count * sizeof(T), false, nullptr);
  }
  ~Graph() override {
    (void)GrB_Matrix_free(&a);
    (void)GrB_Vector_free(&in);
    (void)GrB_Vector_free(&out);
  }
  bool step() {
    return GrB_mxv(out, nullptr, plus, times, a, in, nullptr) == GrB_SUCCESS;
  }
  const void *last = nullptr;
  bool multiply(const void *x, void *y) override { // packs a new x only
    GrB_Index rows, cols;
    if (x == last) {
      return step();
    }
    last = x;
    (void)GrB_Vector_size(&rows, out);
    (void)GrB_Vector_size(&cols, in);
    put(in, static_cast<const T *>(x), cols);
    put(out, std::vector<T>(rows).data(), rows);
    const bool done = step();
    void *v = nullptr;
    GrB_Index bytes;
    bool iso;
    if (!done || GxB_Vector_unpack_Full(out, &v, &bytes, &iso, nullptr) != GrB_SUCCESS) {
      return false;
    }
    for (GrB_Index i = 0; i < rows; i++) {
      static_cast<T *>(y)[i] = static_cast<T *>(v)[iso ? 0 : i];
    }
    std::free(v);
    put(out, std::vector<T>(rows).data(), rows);
    return true;
  }
};

// ---- MKL, opened at run time ----------------------------------------------------------------
struct MklDescription {
  int type, mode, diagonal;
};
enum { MKL_GENERAL = 20, MKL_NO_TRANSPOSE = 10 };

template <typename T> struct Mkl : Rival {
  typedef int (*Create)(void **, int, int, int, int *, int *, int *, T *);
  typedef int (*Multiply)(int, T, void *, MklDescription, const T *, T, T *);
  void *library, *a = nullptr;
  Multiply product = nullptr;
  template <typename F> F function(const char *name) {
    return reinterpret_cast<F>(dlsym(library, name));
  }
  Mkl(const Matrix &m, int threads, const char *path)
      : library(dlopen(path, RTLD_NOW | RTLD_GLOBAL)) {
    const bool single = sizeof(T) == 4;
    if (library == nullptr) {
      return;
    }
    int *p = const_cast<int *>(m.row_ptr), *j = const_cast<int *>(m.col_ind);
    function<void (*)(int)>("MKL_Set_Num_Threads")(threads);
    product = function<Multiply>(single ? "mkl_sparse_s_mv" : "mkl_sparse_d_mv");
    (void)function<Create>(single ? "mkl_sparse_s_create_csr" : "mkl_sparse_d_create_csr")(
        &a, 0, m.rows, m.cols, p, p + 1, j, static_cast<T *>(const_cast<void *>(m.values)));
    const MklDescription general = {MKL_GENERAL, 0, 0};
    (void)function<int (*)(void *, int, MklDescription, int)>("mkl_sparse_set_mv_hint")(
        a, MKL_NO_TRANSPOSE, general, 1000);
    (void)function<int (*)(void *)>("mkl_sparse_optimize")(a);
  }
  ~Mkl() override {
    if (a != nullptr) {
      (void)function<int (*)(void *)>("mkl_sparse_destroy")(a);
    }
  }
  bool multiply(const void *x, void *y) override {
    const MklDescription general = {MKL_GENERAL, 0, 0};
    return a != nullptr && product(MKL_NO_TRANSPOSE, T(1), a, general,
                                   static_cast<const T *>(x), T(0), static_cast<T *>(y)) == 0;
  }
};

template <typename T>
Rival *open(const std::string &name, const Matrix &m, int threads, int method,
            const char *mkl) {
  if (name == "merbit") {
    return new Merbit<T>(m, threads, method);
  }
  if (name == "eigen") {
    return new EigenRival<T>(m, threads);
  }
  if (name == "librsb") {
    return new Rsb<T>(m, threads);
  }
  if (name == "graphblas") {
    return new Graph<T>(m, threads);
  }
  return name == "mkl" ? new Mkl<T>(m, threads, mkl) : nullptr;
}

} // namespace

extern "C" {

void *rival_open(const char *name, int rows, int cols, int nnz, const int *row_ptr,
                 const int *col_ind, const void *values, int single, int threads, int method,
                 const char *mkl) {
  const Matrix m = {rows, cols, nnz, row_ptr, col_ind, values};
  return single ? open<float>(name, m, threads, method, mkl)
                : open<double>(name, m, threads, method, mkl);
}

void rival_close(void *rival) {
  delete static_cast<Rival *>(rival);
}

void rival_note(void *rival, char *text, size_t size) {
  (void)snprintf(text, size, "%s", static_cast<Rival *>(rival)->note().c_str());
}

// Returns the seconds of one product, averaged over `count`, or a negative number on failure.
double rival_time(void *rival, const void *x, void *y, int count) {
  const double start = mbi_seconds();
  for (int i = 0; i < count; i++) {
    if (!static_cast<Rival *>(rival)->multiply(x, y)) {
      return -1;
    }
  }
  return (mbi_seconds() - start) / count;
}

// Returns the bytes per second of a = b + s c, counted as STREAM does.
double stream_triad(double *a, const double *b, const double *c, int64_t count, int threads) {
  const double start = mbi_seconds();
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int64_t i = 0; i < count; i++) {
    a[i] = b[i] + 3.0 * c[i];
  }
  return 24.0 * static_cast<double>(count) / (mbi_seconds() - start);
}
}
