/* Products, preconditioners and solves with CUDA vectors, which stay on the GPU, and which
 * PETSc makes for merbit's matrices. This also works with a PETSc without CUDA and a plugin
 * built by -DPETSC_HAVE_CUDA: this program replaces the functions by which merbit asks PETSc
 * where an array is and starts PETSc's GPU, and the vectors of type "cuda". It keeps copies of
 * some vectors in the memory of libcuda's GPU. */
#include "solves.h"
#include <dlfcn.h>

/* ---- Vectors on the GPU ------------------------------------------------------------------- */

static struct {
  int (*init)(unsigned), (*device)(int *, int), (*retain)(void **, int), (*push)(void *);
  int (*allocate)(unsigned long long *, size_t), (*release)(unsigned long long);
  int (*fill)(unsigned long long, unsigned char, size_t, void *);
  int (*upload)(unsigned long long, const void *, size_t);
  int (*download)(void *, unsigned long long, size_t);
} cuda;

#define ON_GPU "cuda_vectors_array"

static int writes; /* arrays on the GPU that were opened for writing */

#define GPU(call) PetscCheck((call) == 0, PETSC_COMM_SELF, PETSC_ERR_LIB, "CUDA: %s", #call)

static PetscErrorCode open_gpu(void) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW), *context;
  int device;
  PetscFunctionBegin;
  PetscCheck(library, PETSC_COMM_SELF, PETSC_ERR_LIB, "no libcuda.so.1: %s", dlerror());
#define FUNCTION(name, symbol) *(void **)&cuda.name = dlsym(library, symbol)
  FUNCTION(init, "cuInit");
  FUNCTION(device, "cuDeviceGet");
  FUNCTION(retain, "cuDevicePrimaryCtxRetain");
  FUNCTION(push, "cuCtxPushCurrent_v2");
  FUNCTION(allocate, "cuMemAlloc_v2");
  FUNCTION(release, "cuMemFree_v2");
  FUNCTION(fill, "cuMemsetD8Async");
  FUNCTION(upload, "cuMemcpyHtoD_v2");
  FUNCTION(download, "cuMemcpyDtoH_v2");
#undef FUNCTION
  GPU(cuda.init(0));
  GPU(cuda.device(&device, 0));
  GPU(cuda.retain(&context, device));
  GPU(cuda.push(context));
  PetscFunctionReturn(0);
}

/* The array of a vector on the GPU. VecDuplicate passes it to the duplicate, which must get its
 * own. */
typedef struct {
  PetscObjectId owner;
  unsigned long long array;
} gpu_array;

static PetscErrorCode free_array(void *pointer) {
  PetscFunctionBegin;
  GPU(cuda.release(((gpu_array *)pointer)->array));
  TRY(PetscFree(pointer));
  PetscFunctionReturn(0);
}

#if !PETSC_VERSION_LT(3, 23, 0)
static PetscErrorCode free_array_at(void **pointer) {
  return free_array(*pointer);
}
#endif

/* Makes a vector one that PETSc keeps on the GPU. */
static PetscErrorCode move_to_gpu(Vec v) {
  PetscContainer container;
  gpu_array *kept;
  PetscInt size;
  PetscFunctionBegin;
  TRY(VecGetLocalSize(v, &size));
  TRY(PetscNew(&kept));
  TRY(PetscObjectGetId((PetscObject)v, &kept->owner));
  GPU(cuda.allocate(&kept->array, (size_t)PetscMax(size, 1) * sizeof(PetscScalar)));
  TRY(PetscContainerCreate(PETSC_COMM_SELF, &container));
  TRY(PetscContainerSetPointer(container, kept));
#if PETSC_VERSION_LT(3, 23, 0)
  TRY(PetscContainerSetUserDestroy(container, free_array));
#else
  TRY(PetscContainerSetCtxDestroy(container, free_array_at));
#endif
  TRY(PetscObjectCompose((PetscObject)v, ON_GPU, (PetscObject)container));
  TRY(PetscContainerDestroy(&container));
  PetscFunctionReturn(0);
}

/* Creates a vector of type "cuda"; replaces PETSc's function. */
static PetscErrorCode create_on_gpu(Vec v) {
  PetscFunctionBegin;
  TRY(VecSetType(v, VECSTANDARD));
  TRY(move_to_gpu(v));
  PetscFunctionReturn(0);
}

/* Returns the vector's array on the GPU and its bytes, or 0. A `caller` in PETSc, such as a
 * scatter, gets none: a PETSc without CUDA expects host arrays. */
static PetscErrorCode array_of(Vec v, const void *caller, unsigned long long *array,
                               size_t *bytes) {
  PetscContainer container;
  Dl_info place;
  PetscObjectId id;
  gpu_array *kept;
  PetscInt size;
  PetscFunctionBegin;
  *array = 0;
  TRY(VecGetLocalSize(v, &size));
  *bytes = (size_t)size * sizeof(PetscScalar);
  TRY(PetscObjectQuery((PetscObject)v, ON_GPU, (PetscObject *)&container));
  if (container && !(dladdr(caller, &place) && strstr(place.dli_fname, "libpetsc"))) {
    TRY(PetscContainerGetPointer(container, (void **)&kept));
    TRY(PetscObjectGetId((PetscObject)v, &id));
    if (kept->owner != id) {
      TRY(move_to_gpu(v));
      TRY(PetscObjectQuery((PetscObject)v, ON_GPU, (PetscObject *)&container));
      TRY(PetscContainerGetPointer(container, (void **)&kept));
    }
    *array = kept->array;
  }
  PetscFunctionReturn(0);
}

/* Opens the array for reading, writing or both. Without `read` its old elements are lost. */
static PetscErrorCode open_array(Vec v, const void *caller, PetscBool read, PetscBool written,
                                 PetscScalar **a, PetscMemType *type) {
  unsigned long long array;
  size_t bytes;
  PetscFunctionBegin;
  TRY(array_of(v, caller, &array, &bytes));
  TRY(written ? VecGetArray(v, a) : VecGetArrayRead(v, (const PetscScalar **)a));
  if (array) {
    GPU(cuda.upload(array, *a, bytes));
    if (!read) {
      GPU(cuda.fill(array, 0xff, bytes, NULL));
    }
    TRY(written ? VecRestoreArray(v, a) : VecRestoreArrayRead(v, (const PetscScalar **)a));
    *a = (PetscScalar *)(size_t)array;
  }
  if (type) {
    *type = array ? PETSC_MEMTYPE_CUDA : PETSC_MEMTYPE_HOST;
  }
  PetscFunctionReturn(0);
}

/* Returns the array after copying what was written. */
static PetscErrorCode close_array(Vec v, const void *caller, PetscBool written,
                                  PetscScalar **a) {
  unsigned long long array;
  size_t bytes;
  PetscFunctionBegin;
  TRY(array_of(v, caller, &array, &bytes));
  if (array && written) {
    TRY(VecGetArray(v, a));
    GPU(cuda.download(*a, array, bytes));
    writes++;
  }
  if (written) {
    TRY(VecRestoreArray(v, a));
  } else if (!array) {
    TRY(VecRestoreArrayRead(v, (const PetscScalar **)a));
  }
  *a = NULL;
  PetscFunctionReturn(0);
}

/* Replacements of PETSc's functions. */
#define CALLER __builtin_return_address(0)

PetscErrorCode VecGetArrayReadAndMemType(Vec v, const PetscScalar **a, PetscMemType *type) {
  return open_array(v, CALLER, PETSC_TRUE, PETSC_FALSE, (PetscScalar **)a, type);
}

PetscErrorCode VecRestoreArrayReadAndMemType(Vec v, const PetscScalar **a) {
  return close_array(v, CALLER, PETSC_FALSE, (PetscScalar **)a);
}

PetscErrorCode VecGetArrayAndMemType(Vec v, PetscScalar **a, PetscMemType *type) {
  return open_array(v, CALLER, PETSC_TRUE, PETSC_TRUE, a, type);
}

PetscErrorCode VecRestoreArrayAndMemType(Vec v, PetscScalar **a) {
  return close_array(v, CALLER, PETSC_TRUE, a);
}

PetscErrorCode VecGetArrayWriteAndMemType(Vec v, PetscScalar **a, PetscMemType *type) {
  return open_array(v, CALLER, PETSC_FALSE, PETSC_TRUE, a, type);
}

PetscErrorCode VecRestoreArrayWriteAndMemType(Vec v, PetscScalar **a) {
  return close_array(v, CALLER, PETSC_TRUE, a);
}

#if !defined(PETSC_HAVE_CUDA)
#if PETSC_VERSION_LT(3, 20, 0)
void *PetscDefaultCudaStream; /* CUDA's default stream */
#endif

static int starts; /* of PETSc's GPU */

/* Replaces the function of a PETSc without CUDA. It fails with the option -no_gpu. */
PetscErrorCode PetscDeviceInitialize(PetscDeviceType type) {
  PetscBool no_gpu = PETSC_FALSE;
  PetscFunctionBegin;
  (void)type;
  starts++;
  TRY(PetscOptionsGetBool(NULL, NULL, "-no_gpu", &no_gpu, NULL));
  PetscCheck(!no_gpu, PETSC_COMM_SELF, PETSC_ERR_GPU, "There is no GPU");
  PetscFunctionReturn(0);
}
#endif

/* ---- Products ------------------------------------------------------------------------------ */

#if defined(PETSC_USE_COMPLEX)
typedef long double _Complex wide;
#else
typedef long double wide;
#endif

/* Checks z against y + op(A) x, added in long double. `y` may be NULL. */
static PetscErrorCode check_product(Mat A, PetscBool transposed, Vec x, Vec y, Vec z) {
  const PetscScalar *x_array, *y_array = NULL, *z_array;
  PetscInt rows, cols, size, i, k;
  PetscReal *bound;
  wide *sum;
  PetscFunctionBegin;
  TRY(MatGetSize(A, &rows, &cols));
  size = transposed ? cols : rows;
  TRY(PetscCalloc2(size, &sum, size, &bound));
  TRY(VecGetArrayRead(x, &x_array));
  if (y) {
    TRY(VecGetArrayRead(y, &y_array));
  }
  for (i = 0; i < rows; i++) {
    const PetscScalar *values;
    const PetscInt *columns;
    PetscInt count;
    TRY(MatGetRow(A, i, &count, &columns, &values));
    for (k = 0; k < count; k++) {
      const PetscInt to = transposed ? columns[k] : i, from = transposed ? i : columns[k];
      sum[to] += (wide)values[k] * x_array[from];
      bound[to] += PetscAbsScalar(values[k]) * PetscAbsScalar(x_array[from]);
    }
    TRY(MatRestoreRow(A, i, &count, &columns, &values));
  }
  TRY(VecGetArrayRead(z, &z_array));
  for (i = 0; i < size; i++) {
    const wide expected = sum[i] + (y_array ? y_array[i] : 0);
    const PetscReal error = PetscAbsScalar((PetscScalar)(expected - z_array[i]));
    const PetscReal most = bound[i] + (y_array ? PetscAbsScalar(y_array[i]) : 0);
    PetscCheck(error <= 16 * PETSC_MACHINE_EPSILON * most, PETSC_COMM_SELF, PETSC_ERR_PLIB,
               "Element %" PetscInt_FMT " of a product is wrong by %g", i, (double)error);
  }
  TRY(VecRestoreArrayRead(z, &z_array));
  if (y) {
    TRY(VecRestoreArrayRead(y, &y_array));
  }
  TRY(VecRestoreArrayRead(x, &x_array));
  TRY(PetscFree2(sum, bound));
  PetscFunctionReturn(0);
}

static PetscErrorCode expect_writes(int expected) {
  PetscFunctionBegin;
  PetscCheck(writes == expected, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "%d arrays were written on the GPU, not %d", writes, expected);
  writes = 0;
  PetscFunctionReturn(0);
}

/* Multiplies by A in all four ways. `on_gpu`: z is a CUDA vector; x always is. */
static PetscErrorCode multiply(Mat A, PetscBool on_gpu) {
  PetscBool transposed;
  int way;
  PetscFunctionBegin;
  for (way = 0; way < 6; way++) {
    Vec x, y, z, before;
    transposed = way % 2 ? PETSC_TRUE : PETSC_FALSE;
    TRY(transposed ? MatCreateVecs(A, &z, &x) : MatCreateVecs(A, &x, &z));
    TRY(VecDuplicate(z, &y));
    TRY(VecDuplicate(z, &before));
    TRY(fill(x, 1));
    TRY(fill(y, 2));
    TRY(VecCopy(y, before));
    TRY(move_to_gpu(x));
    if (on_gpu) {
      TRY(move_to_gpu(y));
      TRY(move_to_gpu(z));
    }
    if (way < 2) {
      TRY(transposed ? MatMultTranspose(A, x, z) : MatMult(A, x, z));
    } else if (way < 4) {
      TRY(transposed ? MatMultTransposeAdd(A, x, y, z) : MatMultAdd(A, x, y, z));
    } else { /* z is y */
      TRY(transposed ? MatMultTransposeAdd(A, x, y, y) : MatMultAdd(A, x, y, y));
    }
    TRY(expect_writes(on_gpu ? 1 : 0));
    TRY(check_product(A, transposed, x, way < 2 ? NULL : before, way < 4 ? z : y));
    TRY(VecDestroy(&x));
    TRY(VecDestroy(&y));
    TRY(VecDestroy(&z));
    TRY(VecDestroy(&before));
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode set_entry(Mat A, PetscInt i, PetscInt j, PetscScalar value) {
  PetscFunctionBegin;
  TRY(MatSetValue(A, i, j, value, INSERT_VALUES));
  TRY(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  TRY(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

static PetscErrorCode products(void) {
  Mat A;
  PetscFunctionBegin;
  TRY(choose_kind(AIJMERBIT));
  TRY(make_matrix(230, 190, 17, 0, &A));
  TRY(MatSetVecType(A, VECSTANDARD));
  TRY(multiply(A, PETSC_TRUE));
  TRY(multiply(A, PETSC_FALSE));
  TRY(set_entry(A, 40, 40, 3)); /* a new value */
  TRY(multiply(A, PETSC_TRUE));
  TRY(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  TRY(set_entry(A, 40, 100, 5)); /* a new structure */
  TRY(multiply(A, PETSC_TRUE));
  TRY(MatDestroy(&A));
  PetscFunctionReturn(0);
}

/* ---- The vectors that PETSc makes for a matrix --------------------------------------------- */

static PetscErrorCode expect_type(Mat A, VecType expected) {
  PetscBool same;
  VecType type;
  PetscFunctionBegin;
  TRY(MatGetVecType(A, &type));
  TRY(PetscStrcmp(type, expected, &same));
  PetscCheck(same, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The vectors are of type %s, not %s", type,
             expected);
  PetscFunctionReturn(0);
}

static PetscErrorCode expect_block_types(Mat A, VecType expected) {
  Mat blocks[2];
  PetscFunctionBegin;
  TRY(MatMPIAIJGetSeqAIJ(A, &blocks[0], &blocks[1], NULL));
  TRY(expect_type(blocks[0], expected));
  TRY(expect_type(blocks[1], expected));
  PetscFunctionReturn(0);
}

/* Converts a copy of A to aij and back. `theirs` and `ours` are the expected vector types of
 * aij and of merbit's matrices. */
static PetscErrorCode convert(Mat A, VecType theirs, VecType ours) {
  Mat copy, other;
  PetscFunctionBegin;
  TRY(MatDuplicate(A, MAT_COPY_VALUES, &copy));
  TRY(expect_type(copy, ours));
  TRY(MatConvert(copy, MATAIJ, MAT_INITIAL_MATRIX, &other));
  TRY(expect_type(other, theirs));
  TRY(MatConvert(other, "aijmerbit", MAT_INPLACE_MATRIX, &other));
  TRY(expect_type(other, ours));
  TRY(MatDestroy(&other));
  TRY(MatDestroy(&copy));
  PetscFunctionReturn(0);
}

/* `ours` is the vector type of merbit's matrices. */
static PetscErrorCode sequential_vectors(VecType ours) {
  Mat A;
  PetscFunctionBegin;
  TRY(choose_kind(AIJMERBIT));
  TRY(make_matrix(230, 190, 17, 0, &A));
  TRY(expect_type(A, ours));
  TRY(convert(A, VECSTANDARD, ours));
  TRY(MatSetVecType(A, VECSEQ)); /* the program's choice is kept */
  TRY(convert(A, VECSEQ, VECSEQ));
  TRY(MatDestroy(&A));
  TRY(MatCreate(PETSC_COMM_SELF, &A));
  TRY(MatSetVecType(A, VECSEQ));
  TRY(MatSetType(A, "seqaijmerbit"));
  TRY(expect_type(A, VECSEQ));
  TRY(MatDestroy(&A));
  PetscFunctionReturn(0);
}

/* The assembly of a parallel matrix makes a vector for the elements of other processes, with
 * the vector type of the block that multiplies it, which is that of the matrix. */
static PetscErrorCode parallel_vectors(VecType ours) {
  const VecType types[] = {NULL, VECSEQ};
  Mat A;
  int k;
  PetscFunctionBegin;
  for (k = 0; k < 2; k++) {
    TRY(MatCreate(PETSC_COMM_WORLD, &A));
    TRY(MatSetSizes(A, 9, 9, 9, 9));
    TRY(MatSetType(A, "mpiaijmerbit"));
    TRY(expect_type(A, ours));
    TRY(MatMPIAIJSetPreallocation(A, 1, NULL, 1, NULL));
    if (types[k]) {
      TRY(MatSetVecType(A, types[k]));
    }
    TRY(set_entry(A, 2, 3, 1));
    TRY(expect_block_types(A, types[k] ? types[k] : ours));
    if (!types[k]) {
      TRY(MatConvert(A, MATMPIAIJ, MAT_INPLACE_MATRIX, &A));
      TRY(expect_type(A, VECSTANDARD));
      TRY(expect_block_types(A, VECSTANDARD));
      TRY(MatConvert(A, "mpiaijmerbit", MAT_INPLACE_MATRIX, &A)); /* too late for the halo's */
      TRY(expect_type(A, VECSTANDARD));
    }
    TRY(MatDestroy(&A));
  }
  PetscFunctionReturn(0);
}

/* ---- Preconditioners and solves -------------------------------------------------------------- */

/* Products on several processes, by the block of local columns and by the other block. */
static PetscErrorCode parallel_products(void) {
  PetscReal error, norm;
  Mat A, expected;
  Vec x, y, z;
  int k;
  PetscFunctionBegin;
  TRY(choose_kind(AIJMERBIT));
  TRY(make_matrix(230, 230, 17, 0, &A));
  TRY(choose_kind(AIJ));
  TRY(make_matrix(230, 230, 17, 0, &expected));
  for (k = 0; k < 2; k++) {
    TRY(MatCreateVecs(A, &x, &y));
    TRY(MatCreateVecs(expected, NULL, &z));
    TRY(fill(x, 1));
    TRY(k ? MatMultTranspose(A, x, y) : MatMult(A, x, y));
    TRY(expect_writes(2));
    TRY(k ? MatMultTranspose(expected, x, z) : MatMult(expected, x, z));
    TRY(VecNorm(z, NORM_2, &norm));
    TRY(VecAXPY(z, -1, y));
    TRY(VecNorm(z, NORM_2, &error));
    PetscCheck(error <= 16 * PETSC_MACHINE_EPSILON * norm, PETSC_COMM_SELF, PETSC_ERR_PLIB,
               "A product is wrong by %g of %g", (double)error, (double)norm);
    TRY(VecDestroy(&x));
    TRY(VecDestroy(&y));
    TRY(VecDestroy(&z));
  }
  TRY(MatDestroy(&A));
  TRY(MatDestroy(&expected));
  PetscFunctionReturn(0);
}

#if !defined(PETSC_USE_COMPLEX)
/* PETSc's BiCGSTAB with PETSc's Jacobi: each product is on the GPU. */
static PetscErrorCode iterate(void) {
  KSPConvergedReason reason;
  PetscInt iterations;
  PetscReal norm, residual;
  Vec b, x, r;
  KSP ksp;
  Mat A;
  PetscFunctionBegin;
  TRY(choose_kind(AIJMERBIT));
  TRY(make_matrix(230, 230, 17, 0, &A));
  TRY(MatCreateVecs(A, &x, &b));
  TRY(VecDuplicate(b, &r));
  TRY(fill(b, 3));
  TRY(PetscOptionsSetValue(NULL, "-b_ksp_type", "bcgs"));
  TRY(PetscOptionsSetValue(NULL, "-b_pc_type", "jacobi"));
  TRY(make_ksp(A, "b_", &ksp));
  writes = 0;
  TRY(KSPSolve(ksp, b, x));
  TRY(KSPGetConvergedReason(ksp, &reason));
  TRY(KSPGetIterationNumber(ksp, &iterations));
  PetscCheck(reason > 0 && iterations > 2, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "The solve ended with %d", (int)reason);
  TRY(expect_writes(2 * (int)iterations)); /* two products in an iteration */
  TRY(MatResidual(A, b, x, r));
  TRY(expect_writes(1));
  TRY(VecNorm(b, NORM_2, &norm));
  TRY(VecNorm(r, NORM_2, &residual));
  PetscCheck(residual <= 1e-4 * norm, PETSC_COMM_SELF, PETSC_ERR_PLIB, "||b - A x|| is %g",
             (double)residual);
  TRY(KSPDestroy(&ksp));
  TRY(VecDestroy(&b));
  TRY(VecDestroy(&x));
  TRY(VecDestroy(&r));
  TRY(MatDestroy(&A));
  PetscFunctionReturn(0);
}

/* Applies the PC of the KSP, or solves, with host vectors and with CUDA vectors, which must
 * give the same bits. */
static PetscErrorCode compare(KSP ksp, PetscBool solves) {
  PetscBool equal;
  Mat A;
  Vec b, x[2];
  PC pc;
  int k;
  PetscFunctionBegin;
  TRY(KSPGetOperators(ksp, &A, NULL));
  TRY(KSPGetPC(ksp, &pc));
  TRY(MatCreateVecs(A, &b, &x[0]));
  TRY(VecDuplicate(b, &x[1]));
  TRY(fill(b, 3));
  for (k = 0; k < 2; k++) {
    if (k == 1) {
      TRY(move_to_gpu(b));
      TRY(move_to_gpu(x[1]));
    }
    TRY(solves ? KSPSolve(ksp, b, x[k]) : PCApply(pc, b, x[k]));
    TRY(expect_writes(k));
  }
  TRY(VecEqual(x[0], x[1], &equal));
  PetscCheck(equal, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s of CUDA vectors has other bits",
             solves ? "A solve" : "M");
  if (solves) {
    KSPConvergedReason reason;
    TRY(KSPGetConvergedReason(ksp, &reason));
    PetscCheck(reason > 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The solve ended with %d",
               (int)reason);
  }
  TRY(VecDestroy(&b));
  TRY(VecDestroy(&x[0]));
  TRY(VecDestroy(&x[1]));
  PetscFunctionReturn(0);
}

static PetscErrorCode solvers(void) {
  KSP ksp;
  Mat A;
  PC pc;
  PetscFunctionBegin;
  TRY(choose_kind(AIJ));
  TRY(make_matrix(230, 230, 17, 0, &A));
  TRY(PetscOptionsSetValue(NULL, "-a_ksp_type", "merbit"));
  TRY(PetscOptionsSetValue(NULL, "-a_ksp_merbit_method", "bicgstab"));
  TRY(PetscOptionsSetValue(NULL, "-a_pc_type", "merbit"));
  TRY(PetscOptionsSetValue(NULL, "-a_pc_merbit_type", "jacobi"));
  TRY(make_ksp(A, "a_", &ksp));
  TRY(KSPSetUp(ksp));
  TRY(KSPGetPC(ksp, &pc));
  TRY(PCSetUp(pc));
  TRY(compare(ksp, PETSC_FALSE));
  TRY(compare(ksp, PETSC_TRUE));
  TRY(KSPDestroy(&ksp));
  TRY(MatDestroy(&A));
  PetscFunctionReturn(0);
}
#endif

/* With the option -host, PETSc makes host vectors for merbit's matrices. With -starts N, merbit
 * tries to start PETSc's GPU N times if PETSc has no CUDA. */
int main(int argc, char **argv) {
  PetscBool host = PETSC_FALSE, counted;
  PetscMPIInt size;
  PetscInt expected;
  TRY(PetscInitialize(&argc, &argv, NULL, NULL));
  TRY(open_gpu());
  TRY(VecRegister(VECCUDA, create_on_gpu));
  TRY(PetscOptionsGetBool(NULL, NULL, "-host", &host, NULL));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (size > 1) {
    TRY(parallel_products());
  } else {
    TRY(sequential_vectors(host ? VECSTANDARD : VECCUDA));
    TRY(parallel_vectors(host ? VECSTANDARD : VECCUDA));
  }
  if (size == 1 && !host) {
    TRY(products());
#if !defined(PETSC_USE_COMPLEX)
    TRY(iterate());
    TRY(solvers());
#endif
  }
  TRY(PetscOptionsGetInt(NULL, NULL, "-starts", &expected, &counted));
#if !defined(PETSC_HAVE_CUDA)
  PetscCheck(!counted || starts == expected, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "merbit started PETSc's GPU %d times", starts);
#endif
  TRY(PetscPrintf(PETSC_COMM_WORLD, "CUDA vectors: passed\n"));
  return PetscFinalize();
}
