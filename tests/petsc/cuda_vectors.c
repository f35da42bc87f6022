/* Products, preconditioners and solves of CUDA vectors, which stay on the GPU. A PETSc without
 * CUDA does as well: this program replaces the functions by which merbit asks PETSc where an
 * array is, and keeps copies of some vectors in the memory of the GPU that libcuda gives. */
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

static PetscErrorCode free_array(void *array) {
  PetscFunctionBegin;
  GPU(cuda.release(*(unsigned long long *)array));
  TRY(PetscFree(array));
  PetscFunctionReturn(0);
}

#if !PETSC_VERSION_LT(3, 23, 0)
static PetscErrorCode free_array_at(void **array) {
  return free_array(*array);
}
#endif

/* Makes a vector one that PETSc keeps on the GPU. */
static PetscErrorCode move_to_gpu(Vec v) {
  PetscContainer container;
  unsigned long long *array;
  PetscInt size;
  PetscFunctionBegin;
  TRY(VecGetLocalSize(v, &size));
  TRY(PetscNew(&array));
  GPU(cuda.allocate(array, (size_t)size * sizeof(PetscScalar)));
  TRY(PetscContainerCreate(PETSC_COMM_SELF, &container));
  TRY(PetscContainerSetPointer(container, array));
#if PETSC_VERSION_LT(3, 23, 0)
  TRY(PetscContainerSetUserDestroy(container, free_array));
#else
  TRY(PetscContainerSetCtxDestroy(container, free_array_at));
#endif
  TRY(PetscObjectCompose((PetscObject)v, ON_GPU, (PetscObject)container));
  TRY(PetscContainerDestroy(&container));
  PetscFunctionReturn(0);
}

/* Returns the vector's array on the GPU and its bytes, or 0. */
static PetscErrorCode array_of(Vec v, unsigned long long *array, size_t *bytes) {
  PetscContainer container;
  unsigned long long *kept;
  PetscInt size;
  PetscFunctionBegin;
  *array = 0;
  TRY(PetscObjectQuery((PetscObject)v, ON_GPU, (PetscObject *)&container));
  TRY(VecGetLocalSize(v, &size));
  *bytes = (size_t)size * sizeof(PetscScalar);
  if (container) {
    TRY(PetscContainerGetPointer(container, (void **)&kept));
    *array = *kept;
  }
  PetscFunctionReturn(0);
}

/* In place of PETSc's. */
PetscErrorCode VecGetArrayReadAndMemType(Vec v, const PetscScalar **a, PetscMemType *type) {
  unsigned long long array;
  size_t bytes;
  PetscFunctionBegin;
  TRY(array_of(v, &array, &bytes));
  TRY(VecGetArrayRead(v, a));
  if (array) {
    GPU(cuda.upload(array, *a, bytes));
    TRY(VecRestoreArrayRead(v, a));
    *a = (const PetscScalar *)(size_t)array;
  }
  if (type) {
    *type = array ? PETSC_MEMTYPE_CUDA : PETSC_MEMTYPE_HOST;
  }
  PetscFunctionReturn(0);
}

PetscErrorCode VecRestoreArrayReadAndMemType(Vec v, const PetscScalar **a) {
  unsigned long long array;
  size_t bytes;
  PetscFunctionBegin;
  TRY(array_of(v, &array, &bytes));
  if (!array) {
    TRY(VecRestoreArrayRead(v, a));
  }
  *a = NULL;
  PetscFunctionReturn(0);
}

PetscErrorCode VecGetArrayAndMemType(Vec v, PetscScalar **a, PetscMemType *type) {
  unsigned long long array;
  size_t bytes;
  PetscFunctionBegin;
  TRY(array_of(v, &array, &bytes));
  TRY(VecGetArray(v, a));
  if (array) {
    GPU(cuda.upload(array, *a, bytes));
    TRY(VecRestoreArray(v, a));
    *a = (PetscScalar *)(size_t)array;
  }
  if (type) {
    *type = array ? PETSC_MEMTYPE_CUDA : PETSC_MEMTYPE_HOST;
  }
  PetscFunctionReturn(0);
}

PetscErrorCode VecRestoreArrayAndMemType(Vec v, PetscScalar **a) {
  unsigned long long array;
  size_t bytes;
  PetscFunctionBegin;
  TRY(array_of(v, &array, &bytes));
  if (array) {
    TRY(VecGetArray(v, a));
    GPU(cuda.download(*a, array, bytes));
    writes++;
  }
  TRY(VecRestoreArray(v, a));
  PetscFunctionReturn(0);
}

/* Opens the array to be written; its old elements are lost. */
PetscErrorCode VecGetArrayWriteAndMemType(Vec v, PetscScalar **a, PetscMemType *type) {
  unsigned long long array;
  size_t bytes;
  PetscFunctionBegin;
  TRY(VecGetArrayAndMemType(v, a, type));
  TRY(array_of(v, &array, &bytes));
  if (array) {
    GPU(cuda.fill(array, 0xff, bytes, NULL));
  }
  PetscFunctionReturn(0);
}

PetscErrorCode VecRestoreArrayWriteAndMemType(Vec v, PetscScalar **a) {
  return VecRestoreArrayAndMemType(v, a);
}

/* ---- Products ------------------------------------------------------------------------------ */

#if defined(PETSC_USE_COMPLEX)
typedef long double _Complex wide;
#else
typedef long double wide;
#endif

/* Checks z against y + op(A) x, summed up in long double. `y` may be NULL. */
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

/* Multiplies by A in all four ways; `on_gpu`: z is a CUDA vector, as x always is. */
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

/* The vector of the elements of other processes, which the assembly of a parallel matrix makes,
 * has the type of the matrix's vectors. */
static PetscErrorCode halo(void) {
  PetscBool same;
  VecType type;
  Mat A, halo_block;
  PetscFunctionBegin;
  TRY(MatCreate(PETSC_COMM_WORLD, &A));
  TRY(MatSetSizes(A, 9, 9, 9, 9));
  TRY(MatSetType(A, "mpiaijmerbit"));
  TRY(MatMPIAIJSetPreallocation(A, 1, NULL, 1, NULL));
  TRY(MatSetVecType(A, VECSEQ));
  TRY(set_entry(A, 2, 3, 1));
  TRY(MatMPIAIJGetSeqAIJ(A, NULL, &halo_block, NULL));
  TRY(MatGetVecType(halo_block, &type));
  TRY(PetscStrcmp(type, VECSEQ, &same));
  PetscCheck(same, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The halo is of type %s", type);
  TRY(MatDestroy(&A));
  PetscFunctionReturn(0);
}

/* ---- Preconditioners and solves -------------------------------------------------------------- */

#if !defined(PETSC_USE_COMPLEX)
/* Applies the PC of the KSP, or solves, with host vectors and with CUDA vectors, whose bits
 * must be equal. */
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

int main(int argc, char **argv) {
  TRY(PetscInitialize(&argc, &argv, NULL, NULL));
  TRY(open_gpu());
  TRY(products());
  TRY(halo());
#if !defined(PETSC_USE_COMPLEX)
  TRY(solvers());
#endif
  TRY(PetscPrintf(PETSC_COMM_WORLD, "CUDA vectors: passed\n"));
  return PetscFinalize();
}
