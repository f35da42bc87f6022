/* Digests: numbers that summarise vectors and matrices, and on which two kinds of matrices must
 * agree. */
#ifndef TESTS_PETSC_DIGEST_H
#define TESTS_PETSC_DIGEST_H
#include "kinds.h"
#include <math.h>

#define MOST 128
#define TRY(call) PetscCall(call)

/* The result of an operation as numbers. */
typedef struct {
  PetscScalar value[MOST];
  int count;
} digest;

static PetscErrorCode add(digest *d, PetscScalar value) {
  PetscFunctionBegin;
  PetscCheck(d->count < MOST, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A digest is full");
  d->value[d->count++] = value;
  PetscFunctionReturn(0);
}

static PetscErrorCode add_vector(digest *d, Vec x) {
  PetscScalar dot;
  PetscReal norm;
  Vec w;
  PetscFunctionBegin;
  TRY(VecDuplicate(x, &w));
  TRY(fill(w, 77));
  TRY(VecDot(x, w, &dot));
  TRY(VecNorm(x, NORM_2, &norm));
  TRY(add(d, dot));
  TRY(add(d, norm));
  TRY(VecDestroy(&w));
  PetscFunctionReturn(0);
}

/* Adds A x, y + A x, y + A x in y, and the same with the transpose. */
static PetscErrorCode add_products(digest *d, Mat A) {
  Vec x, y, z, u;
  int transposed;
  PetscFunctionBegin;
  for (transposed = 0; transposed < 2; transposed++) {
    PetscErrorCode (*const mult)(Mat, Vec, Vec) = transposed ? MatMultTranspose : MatMult;
    PetscErrorCode (*const add_to)(Mat, Vec, Vec, Vec) =
        transposed ? MatMultTransposeAdd : MatMultAdd;
    TRY(MatCreateVecs(A, transposed ? &y : &x, transposed ? &x : &y));
    TRY(VecDuplicate(y, &z));
    TRY(VecDuplicate(y, &u));
    TRY(fill(x, 5));
    TRY(fill(u, 6));
    TRY(VecSet(y, (PetscScalar)NAN)); /* not read */
    TRY(mult(A, x, y));
    TRY(add_vector(d, y));
    TRY(add_to(A, x, u, z));
    TRY(add_vector(d, z));
    TRY(add_to(A, x, u, u));
    TRY(add_vector(d, u));
    TRY(VecDestroy(&x));
    TRY(VecDestroy(&y));
    TRY(VecDestroy(&z));
    TRY(VecDestroy(&u));
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode add_matrix(digest *d, Mat *A) {
  PetscBool has;
  PetscReal norm;
  Vec x, y;
  PetscFunctionBegin;
  TRY(MatHasOperation(*A, MATOP_NORM, &has));
  if (has) {
    TRY(MatNorm(*A, NORM_FROBENIUS, &norm));
    TRY(add(d, norm));
  }
  TRY(MatCreateVecs(*A, &x, &y));
  TRY(fill(x, 9));
  TRY(MatMult(*A, x, y));
  TRY(add_vector(d, y));
  TRY(VecDestroy(&x));
  TRY(VecDestroy(&y));
  TRY(MatDestroy(A));
  PetscFunctionReturn(0);
}

#endif
