/* The matrix types seqaijmerbit and mpiaijmerbit, together called aijmerbit: PETSc's seqaij and
 * mpiaij, except that merbit multiplies by their local blocks. */
#include "merbit_petsc.h"

/* Functions that PETSc composes with seqaij and mpiaij under names that contain the type; "%s"
 * stands for it. Derived types do not inherit them, so they are copied. */
static const char *const inherited[] = {"MatConvert_%s_hypre_C",
                                        "MatConvert_%s_is_C",
                                        "MatConvert_%s_scalapack_C",
                                        "MatConvert_%s_elemental_C",
                                        "MatConvert_%s_seqbaij_C",
                                        "MatConvert_%s_mpibaij_C",
                                        "MatConvert_%s_seqsbaij_C",
                                        "MatConvert_%s_mpisbaij_C",
                                        "MatConvert_%s_seqdense_C",
                                        "MatConvert_%s_mpidense_C",
                                        "MatConvert_%s_seqsell_C",
                                        "MatConvert_%s_mpisell_C",
                                        "MatProductSetFromOptions_%s_seqdense_C",
                                        "MatProductSetFromOptions_%s_mpidense_C",
                                        "MatProductSetFromOptions_%s_hypre_C"};

static PetscErrorCode from_seqaij(Mat A, MatType type, MatReuse reuse, Mat *M);
static PetscErrorCode to_seqaij(Mat A, MatType type, MatReuse reuse, Mat *M);
static PetscErrorCode from_mpiaij(Mat A, MatType type, MatReuse reuse, Mat *M);
static PetscErrorCode to_mpiaij(Mat A, MatType type, MatReuse reuse, Mat *M);

/* A type of PETSc's, merbit's type, and the conversions between them. */
typedef struct {
  const char *theirs, *ours;
  PetscErrorCode (*from)(Mat, MatType, MatReuse, Mat *), (*to)(Mat, MatType, MatReuse, Mat *);
} type_pair;

static const type_pair sequential = {MATSEQAIJ, MATSEQAIJMERBIT, from_seqaij, to_seqaij};
static const type_pair parallel = {MATMPIAIJ, MATMPIAIJMERBIT, from_mpiaij, to_mpiaij};

/* Gives A the name of merbit's type, and the functions that PETSc looks up by it. */
static PetscErrorCode take_name(Mat A, const type_pair *pair) {
  const PetscObject object = (PetscObject)A;
  char name[128];
  size_t k;
  PetscFunctionBegin;
  for (k = 0; k < sizeof inherited / sizeof *inherited; k++) {
    void (*function)(void);
    PetscCall(PetscSNPrintf(name, sizeof name, inherited[k], pair->theirs));
    PetscCall(PetscObjectQueryFunction(object, name, &function));
    if (function) {
      PetscCall(PetscSNPrintf(name, sizeof name, inherited[k], pair->ours));
      PetscCall(PetscObjectComposeFunction(object, name, function));
    }
  }
  PetscCall(PetscSNPrintf(name, sizeof name, "MatConvert_%s_%s_C", pair->theirs, pair->ours));
  PetscCall(PetscObjectComposeFunction(object, name, pair->from));
  PetscCall(PetscSNPrintf(name, sizeof name, "MatConvert_%s_%s_C", pair->ours, pair->theirs));
  PetscCall(PetscObjectComposeFunction(object, name, pair->to));
  PetscCall(PetscObjectChangeTypeName(object, pair->ours));
  PetscFunctionReturn(0);
}

/* Makes *M the matrix that a conversion of A is to change: a copy of A, or A itself. Sets *done
 * if nothing remains to be changed, because *M has the type and takes only A's values. */
static PetscErrorCode target(Mat A, MatReuse reuse, Mat *M, PetscBool *done) {
  PetscFunctionBegin;
  *done = reuse == MAT_REUSE_MATRIX ? PETSC_TRUE : PETSC_FALSE;
  if (reuse == MAT_INITIAL_MATRIX) {
    PetscCall(MatDuplicate(A, MAT_COPY_VALUES, M));
  } else if (reuse == MAT_REUSE_MATRIX) {
    PetscCall(MatCopy(A, *M, SAME_NONZERO_PATTERN));
  }
  PetscFunctionReturn(0);
}

/* ---- seqaijmerbit ------------------------------------------------------------------------ */

/* Converts A, a seqaij, to merbit's type. Its vectors keep their type. */
static PetscErrorCode take_block(Mat A) {
  PetscFunctionBegin;
  PetscCall(merbit_petsc_take_products(A));
  PetscCall(take_name(A, &sequential));
  PetscFunctionReturn(0);
}

/* Converts A back to a seqaij. */
static PetscErrorCode return_block(Mat A) {
  PetscFunctionBegin;
  PetscCall(merbit_petsc_return_products(A));
  PetscCall(PetscObjectChangeTypeName((PetscObject)A, MATSEQAIJ));
  PetscFunctionReturn(0);
}

static PetscErrorCode from_seqaij(Mat A, MatType type, MatReuse reuse, Mat *M) {
  PetscBool done;
  PetscFunctionBegin;
  (void)type;
  PetscCall(target(A, reuse, M, &done));
  if (!done) {
    PetscCall(take_block(*M));
    PetscCall(merbit_petsc_take_vectors(*M));
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode to_seqaij(Mat A, MatType type, MatReuse reuse, Mat *M) {
  PetscBool done;
  PetscFunctionBegin;
  (void)type;
  PetscCall(target(A, reuse, M, &done));
  if (!done) {
    PetscCall(return_block(*M));
    PetscCall(merbit_petsc_return_vectors(*M));
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode create_sequential(Mat A) {
  PetscFunctionBegin;
  PetscCall(MatSetType(A, MATSEQAIJ));
  PetscCall(from_seqaij(A, MATSEQAIJMERBIT, MAT_INPLACE_MATRIX, &A));
  PetscFunctionReturn(0);
}

/* ---- mpiaijmerbit ------------------------------------------------------------------------ */

/* Converts the local blocks of A: one has the columns of this process, the other those of other
 * processes. */
static PetscErrorCode change_blocks(Mat A, PetscErrorCode (*change)(Mat)) {
  Mat blocks[2] = {NULL, NULL};
  int k;
  PetscFunctionBegin;
  PetscCall(MatMPIAIJGetSeqAIJ(A, &blocks[0], &blocks[1], NULL));
  for (k = 0; k < 2; k++) {
    if (blocks[k]) {
      PetscCall(change(blocks[k]));
    }
  }
  PetscFunctionReturn(0);
}

/* The assembly of mpiaij, one function for all matrices. It makes new blocks. */
static PetscErrorCode (*assembly_end_of_mpiaij)(Mat, MatAssemblyType);

/* Gives the local blocks the type of A's vectors: PETSc's assembly makes a vector of that type
 * for the elements that other processes send. */
static PetscErrorCode pass_vector_type(Mat A) {
  Mat blocks[2] = {NULL, NULL};
  VecType type;
  int k;
  PetscFunctionBegin;
  PetscCall(MatGetVecType(A, &type));
  PetscCall(MatMPIAIJGetSeqAIJ(A, &blocks[0], &blocks[1], NULL));
  for (k = 0; k < 2; k++) {
    if (blocks[k]) {
      PetscCall(MatSetVecType(blocks[k], type));
    }
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode assembly_end(Mat A, MatAssemblyType mode) {
  PetscFunctionBegin;
  PetscCall(pass_vector_type(A));
  PetscCall(assembly_end_of_mpiaij(A, mode));
  PetscCall(change_blocks(A, take_block));
  PetscFunctionReturn(0);
}

static PetscErrorCode from_mpiaij(Mat A, MatType type, MatReuse reuse, Mat *M) {
  void (*function)(void);
  PetscBool done, assembled;
  PetscFunctionBegin;
  (void)type;
  PetscCall(target(A, reuse, M, &done));
  if (done) {
    PetscFunctionReturn(0);
  }
  PetscCall(MatGetOperation(*M, MATOP_ASSEMBLY_END, &function));
  if (function != (void (*)(void))assembly_end) {
    assembly_end_of_mpiaij = (PetscErrorCode(*)(Mat, MatAssemblyType))function;
    PetscCall(MatSetOperation(*M, MATOP_ASSEMBLY_END, (void (*)(void))assembly_end));
  }
  PetscCall(take_name(*M, &parallel));
  PetscCall(MatAssembled(*M, &assembled));
  if (assembled) { /* it has made its vector of the elements that other processes send */
    PetscCall(change_blocks(*M, take_block));
  } else {
    PetscCall(merbit_petsc_take_vectors(*M));
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode to_mpiaij(Mat A, MatType type, MatReuse reuse, Mat *M) {
  PetscBool done;
  PetscFunctionBegin;
  (void)type;
  PetscCall(target(A, reuse, M, &done));
  if (!done) {
    PetscCall(MatSetOperation(*M, MATOP_ASSEMBLY_END, (void (*)(void))assembly_end_of_mpiaij));
    PetscCall(PetscObjectChangeTypeName((PetscObject)*M, MATMPIAIJ));
    PetscCall(merbit_petsc_return_vectors(*M));
    PetscCall(pass_vector_type(*M));
    PetscCall(change_blocks(*M, return_block));
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode create_parallel(Mat A) {
  PetscFunctionBegin;
  PetscCall(MatSetType(A, MATMPIAIJ));
  PetscCall(from_mpiaij(A, MATMPIAIJMERBIT, MAT_INPLACE_MATRIX, &A));
  PetscFunctionReturn(0);
}

/* Registers the types: -mat_type aijmerbit, and -mat_seqaij_type seqaijmerbit, which sets the
 * sequential type of the local blocks of any mpiaij. */
PetscErrorCode merbit_petsc_register_types(void) {
  PetscFunctionBegin;
  PetscCall(MatRegisterRootName(MATAIJMERBIT, MATSEQAIJMERBIT, MATMPIAIJMERBIT));
  PetscCall(MatRegister(MATSEQAIJMERBIT, create_sequential));
  PetscCall(MatRegister(MATMPIAIJMERBIT, create_parallel));
  PetscCall(MatSeqAIJRegister(MATSEQAIJMERBIT, from_seqaij));
  PetscFunctionReturn(0);
}
