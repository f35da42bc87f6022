/* The PETSc plugin: the function that PETSc calls when -dll_prepend loads it, and code that its
 * files share. PETSc derives the function's name from the file's, libmerbit_petsc.so. */
#define MERBIT_IMPLEMENTATION
#include "merbit_petsc.h"

#if !defined(PETSC_USE_REAL_DOUBLE) && !defined(PETSC_USE_REAL_SINGLE)
#error "merbit multiplies in double or single precision; build PETSc with one of these"
#endif

merbit_petsc_state merbit_petsc;

/* Raises merbit's error message as PETSc's error. */
PetscErrorCode merbit_petsc_error(int line, const char *function, const char *file,
                                  merbit_context *context, merbit_status status) {
  char sentence[MERBIT_MESSAGE_SIZE];
  const PetscErrorCode code = status == MERBIT_OUT_OF_MEMORY      ? PETSC_ERR_MEM
                              : status == MERBIT_NOT_SUPPORTED    ? PETSC_ERR_SUP
                              : status == MERBIT_INVALID_ARGUMENT ? PETSC_ERR_ARG_WRONG
                                                                  : PETSC_ERR_LIB;
  (void)merbit_last_error(context, sentence, sizeof sentence);
  return PetscError(PETSC_COMM_SELF, line, function, file, code, PETSC_ERROR_INITIAL,
                    "merbit: %s", sentence);
}

/* Sets *device to the number of PETSc's GPU if it uses one already, else to 0. */
static PetscErrorCode find_device(int *device) {
  PetscFunctionBegin;
  *device = 0;
#if defined(PETSC_HAVE_CUDA)
  if (PetscDeviceInitialized(PETSC_DEVICE_CUDA)) {
    PetscDeviceContext context;
    PetscDevice theirs;
    PetscInt number;
    PetscCall(PetscDeviceContextGetCurrentContext(&context));
    PetscCall(PetscDeviceContextGetDevice(context, &theirs));
    PetscCall(PetscDeviceGetDeviceId(theirs, &number));
    *device = (int)number;
  }
#endif
  PetscFunctionReturn(0);
}

/* Opens a context on `side`, with the number of threads that -merbit_threads gives. */
static PetscErrorCode open_context(merbit_side side, merbit_context **context) {
  merbit_context_desc desc;
  merbit_error error;
  PetscInt threads = 1; /* a process is one core's share of an MPI program */
  PetscFunctionBegin;
  if (*context) {
    PetscFunctionReturn(0);
  }
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-merbit_threads", &threads, NULL));
  PetscCheck(threads >= 0 && threads <= 1024, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "-merbit_threads %" PetscInt_FMT
             " is out of range; give 1 to 1024, or 0 for as many "
             "as the process may use",
             threads);
  PetscCall(PetscMemzero(&desc, sizeof desc));
  desc.side = side;
  desc.threads = (int)threads;
  if (side != MERBIT_SIDE_CPU) {
    PetscCall(find_device(&desc.device));
  }
  (void)merbit_context_create(&desc, context, &error);
  PetscCheck(*context, PETSC_COMM_SELF, PETSC_ERR_LIB, "merbit: %s", error.message);
  PetscFunctionReturn(0);
}

/* Opens the context of products, which run where PETSc's vectors are. */
PetscErrorCode merbit_petsc_open_products(void) {
  PetscFunctionBegin;
  PetscCall(open_context(MERBIT_SIDE_CPU, &merbit_petsc.products));
  PetscFunctionReturn(0);
}

/* Sets *side to the value of -merbit_side. */
PetscErrorCode merbit_petsc_side(merbit_side *side) {
  static const char *const sides[] = {"auto", "cpu", "cuda"}; /* merbit_side in its order */
  PetscInt number = MERBIT_SIDE_AUTO;
  PetscFunctionBegin;
  PetscCall(PetscOptionsGetEList(NULL, NULL, "-merbit_side", sides, 3, &number, NULL));
  *side = (merbit_side)number;
  PetscFunctionReturn(0);
}

/* Opens the context of solvers: the GPU if there is one, or the side of -merbit_side. */
PetscErrorCode merbit_petsc_open_solvers(void) {
  merbit_side side;
  PetscFunctionBegin;
  PetscCall(merbit_petsc_side(&side));
  PetscCall(open_context(side, &merbit_petsc.solvers));
  PetscFunctionReturn(0);
}

/* ---- The arrays of a matrix -------------------------------------------------------------- */

/* Describes A, a seqaij or derived from it, by a view of PETSc's own arrays. Reports what has
 * changed since `stamp`, and renews the stamp. Call merbit_petsc_close_csr when the values have
 * been read. */
PetscErrorCode merbit_petsc_open_csr(Mat A, merbit_petsc_stamp *stamp, merbit_view *view,
                                     merbit_petsc_change *change) {
  const merbit_petsc_stamp old = *stamp;
  const PetscScalar *values;
  PetscInt rows, cols;
  PetscBool done;
  PetscFunctionBegin;
  PetscCall(PetscObjectGetId((PetscObject)A, &stamp->matrix));
  PetscCall(PetscObjectStateGet((PetscObject)A, &stamp->values));
  PetscCall(MatGetNonzeroState(A, &stamp->structure));
  PetscCall(MatGetLocalSize(A, NULL, &cols));
  PetscCall(MatGetRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &rows, &stamp->row_ptr, &stamp->col_ind,
                        &done));
  PetscCall(MatSeqAIJGetArrayRead(A, &values));
  *view = merbit_csr(rows, cols, stamp->row_ptr[rows], stamp->row_ptr, stamp->col_ind, values);
  view->offset_type = view->index_type =
      sizeof(PetscInt) == 8 ? MERBIT_INDEX_64 : MERBIT_INDEX_32;
#if defined(PETSC_USE_COMPLEX)
  view->value_type = sizeof(PetscReal) == 8 ? MERBIT_C128 : MERBIT_C64;
#else
  view->value_type = sizeof(PetscReal) == 8 ? MERBIT_F64 : MERBIT_F32;
#endif
  *change = old.matrix != stamp->matrix || old.structure != stamp->structure ||
                    old.row_ptr != stamp->row_ptr || old.col_ind != stamp->col_ind
                ? CHANGED_STRUCTURE
            : old.values != stamp->values ? CHANGED_VALUES
                                          : CHANGED_NOTHING;
  PetscFunctionReturn(0);
}

/* Returns the view's arrays to A. */
PetscErrorCode merbit_petsc_close_csr(Mat A, merbit_view *view) {
  const PetscScalar *values = (const PetscScalar *)view->values;
  const PetscInt *row_ptr = NULL, *col_ind = NULL;
  PetscInt rows;
  PetscBool done;
  PetscFunctionBegin;
  PetscCall(MatSeqAIJRestoreArrayRead(A, &values));
  PetscCall(MatRestoreRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &rows, &row_ptr, &col_ind, &done));
  PetscFunctionReturn(0);
}

/* Refuses a matrix that the KSP or PC `object` cannot solve with. */
PetscErrorCode merbit_petsc_check_matrix(PetscObject object, Mat A) {
  const char *type;
  PetscMPIInt size;
  PetscInt rows, cols;
  PetscBool fits;
  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &size));
  PetscCheck(
      size == 1, PetscObjectComm(object), PETSC_ERR_SUP,
      "merbit solves and preconditions within one process, but the matrix is spread over %d; "
      "use it for the local blocks: -ksp_type cg -pc_type bjacobi -sub_pc_type merbit",
      size);
  PetscCall(MatGetType(A, &type));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATSEQAIJ, &fits));
  PetscCheck(fits, PetscObjectComm(object), PETSC_ERR_SUP,
             "merbit solves with matrices of type " MATSEQAIJ " and those derived from it, but "
             "this one is %s; use -mat_type aij",
             type);
  PetscCall(MatGetSize(A, &rows, &cols));
  PetscCheck(rows == cols, PetscObjectComm(object), PETSC_ERR_ARG_SIZ,
             "merbit solves with square matrices, but this one has %" PetscInt_FMT " rows and "
             "%" PetscInt_FMT " columns",
             rows, cols);
  PetscFunctionReturn(0);
}

/* ---- Loading ----------------------------------------------------------------------------- */

static PetscErrorCode finalize(void) {
  PetscFunctionBegin;
  merbit_context_destroy(merbit_petsc.products);
  merbit_context_destroy(merbit_petsc.solvers);
  merbit_petsc.products = merbit_petsc.solvers = NULL;
  merbit_petsc.no_gpu = PETSC_FALSE;
  PetscFunctionReturn(0);
}

/* Refuses a PETSc whose version or types differ from those that the plugin was built for. */
static PetscErrorCode check_build(void) {
  PetscDataType type; /* PETSC_SCALAR would be the plugin's own */
  PetscInt major, minor;
  PetscBool found;
  size_t scalar, integer;
  PetscFunctionBegin;
  PetscCall(PetscGetVersionNumber(&major, &minor, NULL, NULL));
  PetscCall(PetscDataTypeFromString("scalar", &type, &found));
  PetscCall(PetscDataTypeGetSize(type, &scalar));
  PetscCall(PetscDataTypeGetSize(PETSC_INT, &integer));
  PetscCheck((int)major == PETSC_VERSION_MAJOR && (int)minor == PETSC_VERSION_MINOR &&
                 scalar == sizeof(PetscScalar) && integer == sizeof(PetscInt),
             PETSC_COMM_SELF, PETSC_ERR_SUP,
             "libmerbit_petsc.so is for PETSc %d.%d with scalars of %d bytes and indices of %d "
             "bytes, but this is PETSc %d.%d with %d and %d; build it for this one (make "
             "PETSC=FILE.pc)",
             PETSC_VERSION_MAJOR, PETSC_VERSION_MINOR, (int)sizeof(PetscScalar),
             (int)sizeof(PetscInt), (int)major, (int)minor, (int)scalar, (int)integer);
  PetscFunctionReturn(0);
}

PETSC_EXTERN PetscErrorCode PetscDLLibraryRegister_merbit_petsc(void) {
  PetscClassId class_id;
  PetscFunctionBegin;
  PetscCall(check_build());
  PetscCall(PetscRegisterFinalize(finalize));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-merbit_view", &merbit_petsc.view, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-merbit_deterministic",
                                &merbit_petsc.deterministic, NULL));
  PetscCall(PetscClassIdRegister("merbit", &class_id));
  PetscCall(PetscLogEventRegister("MerbitPlan", class_id, &merbit_petsc.plan));
  PetscCall(PetscLogEventRegister("MerbitUpdate", class_id, &merbit_petsc.update));
  PetscCall(PetscLogEventRegister("MerbitMult", class_id, &merbit_petsc.multiply));
  PetscCall(PetscLogEventRegister("MerbitSolve", class_id, &merbit_petsc.solve));
  PetscCall(merbit_petsc_register_types());
  PetscCall(KSPRegister("merbit", merbit_petsc_create_ksp));
  PetscCall(PCRegister("merbit", merbit_petsc_create_pc));
  PetscFunctionReturn(0);
}
