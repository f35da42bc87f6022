/* PETSc's vectors as arrays for merbit: in GPU memory, where PETSc keeps CUDA vectors, or else
 * in host memory. */
#include "merbit_petsc.h"

/* Sets *stream to the CUstream that PETSc uses. NULL is CUDA's default stream. */
PetscErrorCode merbit_petsc_stream(void **stream) {
  PetscFunctionBegin;
  *stream = NULL;
#if defined(PETSC_HAVE_CUDA) && PETSC_VERSION_LT(3, 20, 0)
  *stream = PetscDefaultCudaStream;
#elif defined(PETSC_HAVE_CUDA)
  if (PetscDeviceInitialized(PETSC_DEVICE_CUDA)) {
    PetscDeviceContext context;
    void *handle;
    PetscCall(PetscDeviceContextGetCurrentContext(&context));
    PetscCall(PetscDeviceContextGetStreamHandle(context, &handle));
    *stream = *(void **)handle;
  }
#endif
  PetscFunctionReturn(0);
}

/* Waits for the work on PETSc's stream, with which other streams may not be ordered: merbit
 * changes values on another one. */
PetscErrorCode merbit_petsc_wait(void) {
  PetscFunctionBegin;
#if defined(PETSC_HAVE_CUDA) && !PETSC_VERSION_LT(3, 20, 0)
  if (PetscDeviceInitialized(PETSC_DEVICE_CUDA)) {
    PetscDeviceContext context;
    PetscCall(PetscDeviceContextGetCurrentContext(&context));
    PetscCall(PetscDeviceContextSynchronize(context));
  }
#endif
  PetscFunctionReturn(0);
}

/* Starts PETSc's GPU, as matrices of type aijcusparse do. Sets *started to whether that worked
 * and merbit uses it, too; a PETSc without CUDA starts none. */
static PetscErrorCode start_gpu(PetscBool *started) {
  merbit_context_info info;
  merbit_side side;
  PetscFunctionBegin;
  *started = PETSC_FALSE;
  PetscCall(merbit_petsc_side(&side));
#if defined(PETSC_HAVE_CUDA)
  if (side != MERBIT_SIDE_CPU && !merbit_petsc.no_gpu) {
    *started = PETSC_TRUE;
    if (!PetscDeviceInitialized(PETSC_DEVICE_CUDA)) {
      PetscErrorCode code;
      PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
      code = PetscDeviceInitialize(PETSC_DEVICE_CUDA);
      PetscCall(PetscPopErrorHandler());
      if (code) { /* there is no GPU, or -device_enable none */
        merbit_petsc.no_gpu = PETSC_TRUE;
        *started = PETSC_FALSE;
      }
    }
  }
#endif
  if (*started) {
    PetscCall(merbit_petsc_open_solvers());
    (void)merbit_context_get_info(merbit_petsc.solvers, &info);
    *started = info.side == MERBIT_SIDE_CUDA ? PETSC_TRUE : PETSC_FALSE;
  }
  PetscFunctionReturn(0);
}

/* Makes PETSc create CUDA vectors for A (MatCreateVecs) if their products are computed on a
 * GPU, unless A has another vector type than PETSc's default. */
PetscErrorCode merbit_petsc_take_vectors(Mat A) {
  PetscBool standard, started;
  VecType type;
  PetscFunctionBegin;
  PetscCall(MatGetVecType(A, &type));
  PetscCall(PetscStrcmp(type, VECSTANDARD, &standard));
  if (standard) {
    PetscCall(start_gpu(&started));
    if (started) {
      PetscCall(MatSetVecType(A, VECCUDA));
    }
  }
  PetscFunctionReturn(0);
}

/* Makes PETSc create its default vectors for A instead of CUDA vectors. */
PetscErrorCode merbit_petsc_return_vectors(Mat A) {
  PetscBool cuda;
  VecType type;
  PetscFunctionBegin;
  PetscCall(MatGetVecType(A, &type));
  PetscCall(PetscStrcmp(type, VECCUDA, &cuda));
  if (cuda) {
    PetscCall(MatSetVecType(A, VECSTANDARD));
  }
  PetscFunctionReturn(0);
}

/* Sets *on_gpu to whether PETSc keeps the vector in CUDA memory. */
static PetscErrorCode is_on_gpu(Vec vector, PetscBool *on_gpu) {
  const PetscScalar *array;
  PetscMemType type;
  PetscFunctionBegin;
  PetscCall(VecGetArrayReadAndMemType(vector, &array, &type));
  PetscCall(VecRestoreArrayReadAndMemType(vector, &array));
  *on_gpu = PetscMemTypeCUDA(type) ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(0);
}

/* Sets *on_gpu to whether both are CUDA vectors and merbit has a GPU. */
PetscErrorCode merbit_petsc_vectors_on_gpu(Vec in, Vec out, PetscBool *on_gpu) {
  merbit_context_info info;
  PetscFunctionBegin;
  PetscCall(is_on_gpu(in, on_gpu));
  if (*on_gpu) {
    PetscCall(is_on_gpu(out, on_gpu));
  }
  if (*on_gpu) {
    PetscCall(merbit_petsc_open_solvers());
    (void)merbit_context_get_info(merbit_petsc.solvers, &info);
    *on_gpu = info.side == MERBIT_SIDE_CUDA ? PETSC_TRUE : PETSC_FALSE;
  }
  PetscFunctionReturn(0);
}

/* Opens the arrays of v->in, v->out: in GPU memory if v->on_gpu is set, else in host memory. */
PetscErrorCode merbit_petsc_vectors_open(merbit_petsc_vectors *v) {
  PetscFunctionBegin;
  v->stream = NULL;
  if (v->on_gpu) {
    PetscCall(VecGetArrayReadAndMemType(v->in, &v->from, NULL));
    PetscCall(v->reads_out ? VecGetArrayAndMemType(v->out, &v->to, NULL)
                           : VecGetArrayWriteAndMemType(v->out, &v->to, NULL));
    PetscCall(merbit_petsc_stream(&v->stream));
  } else {
    PetscCall(VecGetArrayRead(v->in, &v->from));
    PetscCall(v->reads_out ? VecGetArray(v->out, &v->to) : VecGetArrayWrite(v->out, &v->to));
  }
  PetscFunctionReturn(0);
}

/* Returns the arrays. */
PetscErrorCode merbit_petsc_vectors_close(merbit_petsc_vectors *v) {
  PetscFunctionBegin;
  if (v->on_gpu) {
    PetscCall(v->reads_out ? VecRestoreArrayAndMemType(v->out, &v->to)
                           : VecRestoreArrayWriteAndMemType(v->out, &v->to));
    PetscCall(VecRestoreArrayReadAndMemType(v->in, &v->from));
  } else {
    PetscCall(v->reads_out ? VecRestoreArray(v->out, &v->to)
                           : VecRestoreArrayWrite(v->out, &v->to));
    PetscCall(VecRestoreArrayRead(v->in, &v->from));
  }
  PetscFunctionReturn(0);
}
