/* The four products of seqaijmerbit: y = A x, z = y + A x, and both with the transpose of A.
 * The first product with a structure makes a plan. New values update it, a new structure
 * replaces it. CUDA vectors are multiplied on the GPU, by a plan of their own. */
#include "merbit_petsc.h"
#include <petsctime.h>

#define MERBIT_KEY "merbit_products" /* the name under which a matrix holds its products */

/* After this many products with the same values a matrix is worth a tuned plan, which takes as
 * long as about 12 products to make. Until then the plan reads PETSc's arrays directly. */
#define PRODUCTS_TO_TUNE 24
#define PRODUCTS_EXPECTED 1000
/* The first products of a plan on the CPU are a trial: after TRIAL_WARM products by merbit,
 * TRIAL_TIMED by PETSc and as many by merbit are timed. If the fastest product of the plan is
 * slower than PETSc's, the plan is dropped. */
#define TRIAL_WARM 3
#define TRIAL_TIMED 4

enum { BY_PETSC, BY_MERBIT };
enum { IN_HOST_MEMORY, IN_GPU_MEMORY, PLACES }; /* where the vectors are */

/* The products by one of the two operations, with vectors in one place. */
typedef struct {
  merbit_plan *plan; /* NULL: PETSc multiplies, because merbit cannot or is slower */
  merbit_petsc_stamp stamp;
  PetscBool tuned;           /* the plan is made for many products, or cannot be made */
  PetscInt trial;            /* number of products of the plan, up to the end of its trial */
  PetscLogDouble fastest[2]; /* seconds of the fastest product in the trial */
  PetscInt calls;            /* number of products since values or structure changed */
  PetscLogDouble flops;      /* of z = y + op(A) x */
  PetscInt rows;             /* number of non-empty rows */
  PetscInt *row_ptr;         /* most rows are empty: the offsets of the others; else NULL */
  PetscInt *row;             /* with row_ptr: their numbers */
  PetscScalar *sum;          /* with row_ptr: their products */
} multiplier;

enum { PLAIN, TRANSPOSED, OPERATIONS };
enum { MULT, MULT_ADD, MULT_TRANSPOSE, MULT_TRANSPOSE_ADD, PRODUCTS };

/* The products that a matrix holds. */
typedef struct {
  multiplier by[OPERATIONS][PLACES];
  void (*base[PRODUCTS])(void); /* PETSc's own products */
} products;

typedef PetscErrorCode (*mult_function)(Mat, Vec, Vec);
typedef PetscErrorCode (*mult_add_function)(Mat, Vec, Vec, Vec);

static const MatOperation operations[PRODUCTS] = {
    MATOP_MULT, MATOP_MULT_ADD, MATOP_MULT_TRANSPOSE, MATOP_MULT_TRANSPOSE_ADD};

static PetscErrorCode multiplier_reset(multiplier *m) {
  PetscFunctionBegin;
  if (m->plan) {
    PetscCall(merbit_petsc_wait());
  }
  merbit_plan_destroy(m->plan);
  PetscCall(PetscFree3(m->row, m->row_ptr, m->sum));
  PetscCall(PetscMemzero(m, sizeof *m));
  PetscFunctionReturn(0);
}

static PetscErrorCode products_destroy(void *pointer) {
  products *p = (products *)pointer;
  int k;
  PetscFunctionBegin;
  for (k = 0; k < OPERATIONS * PLACES; k++) {
    PetscCall(multiplier_reset(&p->by[k / PLACES][k % PLACES]));
  }
  PetscCall(PetscFree(p));
  PetscFunctionReturn(0);
}

#if !PETSC_VERSION_LT(3, 23, 0)
static PetscErrorCode products_destroy_at(void **pointer) {
  return products_destroy(*pointer);
}
#endif

static PetscErrorCode products_of(Mat A, products **p) {
  PetscContainer container;
  PetscFunctionBegin;
  PetscCall(PetscObjectQuery((PetscObject)A, MERBIT_KEY, (PetscObject *)&container));
  *p = NULL;
  if (container) {
    PetscCall(PetscContainerGetPointer(container, (void **)p));
  }
  PetscFunctionReturn(0);
}

/* ---- Plans ------------------------------------------------------------------------------- */

/* Replaces the view by one of its non-empty rows if most rows are empty, as they are in the
 * off-diagonal block of an mpiaij. */
static PetscErrorCode multiplier_keep_rows(multiplier *m, merbit_view *view) {
  const PetscInt *row_ptr = (const PetscInt *)view->row_ptr;
  PetscInt i, k = 0;
  PetscFunctionBegin;
  PetscCall(PetscMalloc3(m->rows, &m->row, m->rows + 1, &m->row_ptr, m->rows, &m->sum));
  for (i = 0; i < (PetscInt)view->rows; i++) {
    if (row_ptr[i + 1] > row_ptr[i]) {
      m->row[k] = i;
      m->row_ptr[k++] = row_ptr[i];
    }
  }
  m->row_ptr[k] = (PetscInt)view->nnz;
  view->rows = m->rows;
  view->row_ptr = m->row_ptr;
  PetscFunctionReturn(0);
}

/* Prints a sentence about the products of A, for -merbit_view. */
static PetscErrorCode multiplier_report(int operation, const char *sentence) {
  PetscMPIInt rank;
  PetscFunctionBegin;
  if (merbit_petsc.view) {
    PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "merbit [%d] %s: %s\n", rank,
                          operation == PLAIN ? "MatMult" : "MatMultTranspose", sentence));
  }
  PetscFunctionReturn(0);
}

/* Returns the context for vectors in `place`. */
static merbit_context *context_of(int place) {
  return place == IN_GPU_MEMORY ? merbit_petsc.solvers : merbit_petsc.products;
}

/* Makes the plan of m anew, for many products if it is to be tuned. */
static PetscErrorCode multiplier_make(Mat A, multiplier *m, int operation, int place,
                                      PetscBool tuned, merbit_view view) {
  const PetscInt *row_ptr = (const PetscInt *)view.row_ptr;
  const merbit_petsc_stamp stamp = m->stamp;
  char line[1024], reason[MERBIT_MESSAGE_SIZE];
  merbit_plan_desc desc;
  merbit_status status;
  PetscInt i;
  PetscFunctionBegin;
  if (place == IN_HOST_MEMORY) {
    PetscCall(merbit_petsc_open_products());
  }
  PetscCall(multiplier_reset(m));
  m->stamp = stamp;
  m->fastest[BY_PETSC] = m->fastest[BY_MERBIT] = PETSC_INFINITY;
  m->flops = 2.0 * (PetscLogDouble)view.nnz;
  for (i = 0; i < (PetscInt)view.rows; i++) {
    m->rows += row_ptr[i + 1] > row_ptr[i];
  }
  if (place == IN_HOST_MEMORY && operation == PLAIN && m->rows < (PetscInt)view.rows / 2) {
    PetscCall(multiplier_keep_rows(m, &view));
  }
  PetscCall(PetscMemzero(&desc, sizeof desc));
  desc.vector_memory = place == IN_GPU_MEMORY ? MERBIT_MEMORY_DEVICE : MERBIT_MEMORY_HOST;
  desc.operation = operation == PLAIN ? MERBIT_OPERATION_N : MERBIT_OPERATION_T;
  desc.expected_calls = tuned ? PRODUCTS_EXPECTED : 1;
  desc.unchecked = 1; /* PETSc has checked the arrays */
  desc.deterministic = merbit_petsc.deterministic;
  status = merbit_plan_create(context_of(place), &view, &desc, &m->plan);
  m->tuned = PetscNot(!tuned && m->plan);
  if (status == MERBIT_OK) {
    merbit_plan_describe(m->plan, line, sizeof line);
  } else {
    (void)merbit_last_error(context_of(place), reason, sizeof reason);
    PetscCall(PetscSNPrintf(line, sizeof line, "PETSc multiplies; merbit cannot: %s", reason));
    PetscCall(PetscInfo(A, "%s\n", line));
  }
  PetscCall(multiplier_report(operation, line));
  PetscFunctionReturn(0);
}

/* Makes the plan of m fit the values and the structure that A has now. */
static PetscErrorCode multiplier_refresh(Mat A, multiplier *m, int operation, int place) {
  PetscObjectState values, structure;
  merbit_petsc_change change;
  merbit_status status;
  merbit_view view;
  PetscFunctionBegin;
  if (m->tuned && !m->plan) { /* PETSc multiplies until something changes */
    PetscCall(PetscObjectStateGet((PetscObject)A, &values));
    PetscCall(MatGetNonzeroState(A, &structure));
    if (values == m->stamp.values && structure == m->stamp.structure) {
      PetscFunctionReturn(0);
    }
  }
  PetscCall(merbit_petsc_open_csr(A, &m->stamp, &view, &change));
  if (change != CHANGED_NOTHING) {
    m->calls = 0;
  }
  if (change == CHANGED_STRUCTURE || (m->calls >= PRODUCTS_TO_TUNE && !m->tuned)) {
    /* A transposed plan, and one on the GPU, costs more than tuning: it is made once, for many
     * products. */
    const PetscBool tuned =
        PetscNot(operation == PLAIN && place == IN_HOST_MEMORY && change == CHANGED_STRUCTURE);
    PetscCall(PetscLogEventBegin(merbit_petsc.plan, A, 0, 0, 0));
    PetscCall(multiplier_make(A, m, operation, place, tuned, view));
    PetscCall(PetscLogEventEnd(merbit_petsc.plan, A, 0, 0, 0));
  } else if (change == CHANGED_VALUES && m->plan && view.nnz > 0) {
    PetscCall(PetscLogEventBegin(merbit_petsc.update, A, 0, 0, 0));
    PetscCall(merbit_petsc_wait());
    status = merbit_plan_update_values(m->plan, view.values, MERBIT_MEMORY_HOST);
    PetscCall(PetscLogEventEnd(merbit_petsc.update, A, 0, 0, 0));
    if (status != MERBIT_OK) { /* the plan may have some of the new values */
      PetscCall(merbit_petsc_close_csr(A, &view));
      PetscCall(multiplier_reset(m));
      MERBIT_PETSC_CALL(context_of(place), status);
    }
  }
  m->calls++;
  PetscCall(merbit_petsc_close_csr(A, &view));
  PetscFunctionReturn(0);
}

/* ---- Products ---------------------------------------------------------------------------- */

/* Computes z = op(A) x if y is NULL, else z = y + op(A) x; z may be y. */
static PetscErrorCode multiplier_multiply(multiplier *m, int place, Vec x, Vec y, Vec z) {
  const PetscScalar one = 1;
  merbit_petsc_vectors v;
  merbit_status status;
  PetscInt i;
  PetscFunctionBegin;
  if (y && y != z) {
    PetscCall(VecCopy(y, z));
  } else if (!y && m->row_ptr) {
    PetscCall(VecZeroEntries(z));
  }
  v.in = x;
  v.out = z;
  v.reads_out = y || m->row_ptr ? PETSC_TRUE : PETSC_FALSE;
  v.on_gpu = place == IN_GPU_MEMORY ? PETSC_TRUE : PETSC_FALSE;
  PetscCall(merbit_petsc_vectors_open(&v));
  if (m->row_ptr) {
    status = merbit_spmv(m->plan, NULL, NULL, v.from, NULL, m->sum, NULL);
    for (i = 0; status == MERBIT_OK && i < m->rows; i++) {
      v.to[m->row[i]] += m->sum[i];
    }
  } else {
    status = merbit_spmv(m->plan, NULL, NULL, v.from, y ? &one : NULL, v.to, v.stream);
  }
  PetscCall(merbit_petsc_vectors_close(&v));
  MERBIT_PETSC_CALL(context_of(place), status);
  PetscCall(PetscLogFlops(m->flops - (y ? 0 : (PetscLogDouble)m->rows)));
  PetscFunctionReturn(0);
}

/* Returns whether the next product is one of the trial. */
static int multiplier_in_trial(const multiplier *m, int place) {
  return m->plan && place == IN_HOST_MEMORY && !merbit_petsc.deterministic &&
         m->trial < TRIAL_WARM + 2 * TRIAL_TIMED;
}

/* Returns which side computes the next product. */
static int multiplier_side(const multiplier *m, int in_trial) {
  const PetscInt timed = m->trial - TRIAL_WARM;
  return !m->plan || (in_trial && timed >= 0 && timed < TRIAL_TIMED) ? BY_PETSC : BY_MERBIT;
}

/* Counts a product of the trial. At its end, drops the plan if it is the slower one. */
static PetscErrorCode multiplier_judge(multiplier *m, int operation, int side,
                                       PetscLogDouble seconds) {
  char sentence[128];
  PetscFunctionBegin;
  if (m->trial++ >= TRIAL_WARM) {
    m->fastest[side] = PetscMin(m->fastest[side], seconds);
  }
  if (m->trial == TRIAL_WARM + 2 * TRIAL_TIMED &&
      m->fastest[BY_MERBIT] > m->fastest[BY_PETSC]) {
    merbit_plan_destroy(m->plan);
    m->plan = NULL;
    PetscCall(PetscSNPrintf(sentence, sizeof sentence,
                            "PETSc multiplies; it takes %.2f us, merbit %.2f us",
                            1e6 * m->fastest[BY_PETSC], 1e6 * m->fastest[BY_MERBIT]));
    PetscCall(multiplier_report(operation, sentence));
  }
  PetscFunctionReturn(0);
}

/* Computes z = op(A) x or z = y + op(A) x, by merbit or by PETSc. */
static PetscErrorCode multiply(Mat A, int product, Vec x, Vec y, Vec z) {
  const int operation = product < MULT_TRANSPOSE ? PLAIN : TRANSPOSED;
  PetscLogDouble begin = 0, end;
  products *p;
  multiplier *m;
  int side, in_trial, place;
  PetscBool on_gpu;
  PetscFunctionBegin;
  PetscCall(products_of(A, &p));
  PetscCheck(p, PETSC_COMM_SELF, PETSC_ERR_PLIB, "This %s has lost its products",
             MATSEQAIJMERBIT);
  PetscCall(merbit_petsc_vectors_on_gpu(x, z, &on_gpu));
  place = on_gpu ? IN_GPU_MEMORY : IN_HOST_MEMORY;
  m = &p->by[operation][place];
  PetscCall(multiplier_refresh(A, m, operation, place));
  in_trial = multiplier_in_trial(m, place);
  side = multiplier_side(m, in_trial);
  if (in_trial) {
    PetscCall(PetscTime(&begin));
  }
  if (side == BY_MERBIT) {
    PetscCall(PetscLogEventBegin(merbit_petsc.multiply, A, x, z, 0));
    PetscCall(multiplier_multiply(m, place, x, y, z));
    PetscCall(PetscLogEventEnd(merbit_petsc.multiply, A, x, z, 0));
  } else if (y) {
    PetscCall(((mult_add_function)p->base[product])(A, x, y, z));
  } else {
    PetscCall(((mult_function)p->base[product])(A, x, z));
  }
  if (in_trial) {
    PetscCall(PetscTime(&end));
    PetscCall(multiplier_judge(m, operation, side, end - begin));
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode mult(Mat A, Vec x, Vec z) {
  return multiply(A, MULT, x, NULL, z);
}

static PetscErrorCode mult_add(Mat A, Vec x, Vec y, Vec z) {
  return multiply(A, MULT_ADD, x, y, z);
}

static PetscErrorCode mult_transpose(Mat A, Vec x, Vec z) {
  return multiply(A, MULT_TRANSPOSE, x, NULL, z);
}

static PetscErrorCode mult_transpose_add(Mat A, Vec x, Vec y, Vec z) {
  return multiply(A, MULT_TRANSPOSE_ADD, x, y, z);
}

/* Makes merbit multiply by A, a matrix of PETSc's type seqaij or of one derived from it. */
PetscErrorCode merbit_petsc_take_products(Mat A) {
  static void (*const ours[PRODUCTS])(void) = {(void (*)(void))mult, (void (*)(void))mult_add,
                                               (void (*)(void))mult_transpose,
                                               (void (*)(void))mult_transpose_add};
  PetscContainer container;
  products *p;
  int k;
  PetscFunctionBegin;
  PetscCall(products_of(A, &p));
  if (p) {
    PetscFunctionReturn(0);
  }
  PetscCall(PetscNew(&p));
  PetscCall(PetscContainerCreate(PETSC_COMM_SELF, &container));
  PetscCall(PetscContainerSetPointer(container, p));
#if PETSC_VERSION_LT(3, 23, 0)
  PetscCall(PetscContainerSetUserDestroy(container, products_destroy));
#else
  PetscCall(PetscContainerSetCtxDestroy(container, products_destroy_at));
#endif
  PetscCall(PetscObjectCompose((PetscObject)A, MERBIT_KEY, (PetscObject)container));
  PetscCall(PetscContainerDestroy(&container));
  for (k = 0; k < PRODUCTS; k++) {
    PetscCall(MatGetOperation(A, operations[k], &p->base[k]));
    PetscCall(MatSetOperation(A, operations[k], ours[k]));
  }
  PetscFunctionReturn(0);
}

/* Makes PETSc multiply by A again, and destroys the plans. */
PetscErrorCode merbit_petsc_return_products(Mat A) {
  products *p;
  int k;
  PetscFunctionBegin;
  PetscCall(products_of(A, &p));
  for (k = 0; p && k < PRODUCTS; k++) {
    PetscCall(MatSetOperation(A, operations[k], p->base[k]));
  }
  PetscCall(PetscObjectCompose((PetscObject)A, MERBIT_KEY, NULL));
  PetscFunctionReturn(0);
}
