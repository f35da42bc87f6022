/* -pc_type merbit: merbit's preconditioners, z = M^-1 r, for PETSc's KSP and for -ksp_type
 * merbit. With a GPU M is on the GPU; host vectors are copied there and back. */
#include "merbit_petsc.h"
#include <petsc/private/pcimpl.h> /* a PC type fills the record of the PC */

typedef struct {
  merbit_preconditioner_desc desc; /* from the options */
  PetscBool in_solve;         /* a KSP of type merbit makes its own M from the description */
  merbit_petsc_recipe recipe; /* from which M was made */
  merbit_petsc_stamp stamp;
  /* M's own copy of A: M may have to stay unchanged when A changes
   * (PCSetReusePreconditioner). */
  PetscInt *row_ptr, *col_ind;
  PetscScalar *values;
  merbit_preconditioner *M; /* NULL before the first set-up or application */
  PetscBool on_gpu;         /* whether M is */
  merbit_buffer *r, *z;     /* on_gpu: copies of host vectors; NULL before the first ones */
} pc_merbit;

static const char *const names[] = {"amg", "chebyshev", "fsai", "jacobi", "bjacobi"};
static const merbit_preconditioner_kind kinds[] = {
    MERBIT_PRECONDITIONER_AMG, MERBIT_PRECONDITIONER_CHEBYSHEV, MERBIT_PRECONDITIONER_FSAI,
    MERBIT_PRECONDITIONER_JACOBI, MERBIT_PRECONDITIONER_BLOCK_JACOBI};
enum { KINDS = sizeof kinds / sizeof *kinds };

static PetscInt index_of(merbit_preconditioner_kind kind) {
  PetscInt k = 0;
  while (kinds[k] != kind) {
    k++;
  }
  return k;
}

static PetscErrorCode set_from_options(PC pc, merbit_petsc_options PetscOptionsObject) {
  merbit_preconditioner_desc *desc = &((pc_merbit *)pc->data)->desc;
  PetscInt kind = index_of(desc->kind), degree = desc->degree;
  PetscBool single = (PetscBool)desc->single;
  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "merbit's preconditioners");
  PetscCall(PetscOptionsEList("-pc_merbit_type", "Kind of preconditioner", "docs/petsc.md",
                              names, KINDS, names[kind], &kind, NULL));
  PetscCall(PetscOptionsRangeInt("-pc_merbit_degree", "Degree of chebyshev; 0: 4",
                                 "docs/petsc.md", degree, &degree, NULL, 0, 32));
  PetscCall(PetscOptionsBool("-pc_merbit_single", "Compute M in single precision",
                             "docs/petsc.md", single, &single, NULL));
  PetscOptionsHeadEnd();
  desc->kind = kinds[kind];
  desc->degree = (int)degree;
  desc->single = single;
  PetscFunctionReturn(0);
}

/* ---- What M is made from ------------------------------------------------------------------ */

/* Sets *recipe to the options and to what A tells about its unknowns and its null space. */
PetscErrorCode merbit_petsc_recipe_for(Mat A, const merbit_preconditioner_desc *desc,
                                       merbit_petsc_recipe *recipe) {
  MatNullSpace kernel, near;
  PetscBool constant = PETSC_FALSE;
  PetscInt size, others = 0;
  PetscFunctionBegin;
  PetscCall(PetscMemzero(recipe, sizeof *recipe));
  recipe->desc = *desc;
  recipe->desc.deterministic = merbit_petsc.deterministic;
  PetscCall(MatGetNullSpace(A, &kernel));
  if (kernel) {
    PetscCall(MatNullSpaceGetVecs(kernel, &constant, &others, NULL));
  }
  recipe->desc.singular = constant && others == 0;
  if (desc->kind == MERBIT_PRECONDITIONER_AMG ||
      desc->kind == MERBIT_PRECONDITIONER_BLOCK_JACOBI) {
    PetscCall(MatGetBlockSize(A, &size));
    PetscCheck(
        size <= 32, PETSC_COMM_SELF, PETSC_ERR_SUP,
        "merbit's preconditioners have blocks of up to 32 rows, but the block size of the "
        "matrix is %" PetscInt_FMT "; take one of single rows, such as jacobi",
        size);
    recipe->desc.block_size = size == 1 ? 0 : (int)size; /* 0: merbit's default */
  }
  PetscCall(MatGetNearNullSpace(A, &near));
  if (desc->kind == MERBIT_PRECONDITIONER_AMG && near) {
    PetscCall(PetscObjectGetId((PetscObject)near, &recipe->near_nullspace));
  }
  PetscFunctionReturn(0);
}

/* Copies the near null space of A, if the recipe has one, to *vectors, which the caller frees.
 */
PetscErrorCode merbit_petsc_recipe_open(Mat A, merbit_petsc_recipe *recipe, double **vectors) {
  MatNullSpace near;
  const Vec *vecs;
  PetscBool constant;
  PetscInt rows, size, count, i, k;
  double *column;
  PetscFunctionBegin;
  *vectors = NULL;
  if (!recipe->near_nullspace) {
    PetscFunctionReturn(0);
  }
  PetscCall(MatGetNearNullSpace(A, &near));
  PetscCall(MatNullSpaceGetVecs(near, &constant, &count, &vecs));
  PetscCall(MatGetSize(A, &rows, NULL));
  PetscCall(PetscMalloc1((size_t)(count + constant) * (size_t)rows, vectors));
  column = *vectors;
  for (i = 0; constant && i < rows; i++) {
    *column++ = 1;
  }
  for (k = 0; k < count; k++) {
    const PetscScalar *values;
    PetscCall(VecGetLocalSize(vecs[k], &size));
    PetscCheck(size == rows, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
               "A vector of the near null space has %" PetscInt_FMT " elements, but the matrix "
               "%" PetscInt_FMT " rows",
               size, rows);
    PetscCall(VecGetArrayRead(vecs[k], &values));
    for (i = 0; i < rows; i++) {
      *column++ = (double)PetscRealPart(values[i]);
    }
    PetscCall(VecRestoreArrayRead(vecs[k], &values));
  }
  recipe->desc.near_nullspace_count = (int)(count + constant);
  recipe->desc.near_nullspace = count + constant > 0 ? *vectors : NULL;
  PetscFunctionReturn(0);
}

/* Passes the options of the PC to a KSP of type merbit. The PC then makes no M of its own
 * unless it is applied. */
PetscErrorCode merbit_petsc_lend_pc(PC pc, merbit_preconditioner_desc *desc) {
  pc_merbit *p = (pc_merbit *)pc->data;
  PetscFunctionBegin;
  p->in_solve = PETSC_TRUE;
  *desc = p->desc;
  PetscFunctionReturn(0);
}

/* ---- The life of M ------------------------------------------------------------------------ */

static PetscErrorCode forget(pc_merbit *p) {
  PetscFunctionBegin;
  if (p->M) {
    PetscCall(merbit_petsc_wait());
  }
  merbit_preconditioner_destroy(p->M);
  merbit_buffer_destroy(p->r);
  merbit_buffer_destroy(p->z);
  p->M = NULL;
  p->r = p->z = NULL;
  PetscCall(PetscFree3(p->row_ptr, p->col_ind, p->values));
  PetscFunctionReturn(0);
}

/* Copies the arrays of a view, and makes `copy` the view of the copies. */
static PetscErrorCode copy_arrays(pc_merbit *p, const merbit_view *view, merbit_view *copy) {
  const size_t offsets = (size_t)view->rows + 1, nnz = (size_t)view->nnz;
  PetscFunctionBegin;
  PetscCall(PetscMalloc3(offsets, &p->row_ptr, nnz, &p->col_ind, nnz, &p->values));
  PetscCall(PetscArraycpy(p->row_ptr, (const PetscInt *)view->row_ptr, offsets));
  PetscCall(PetscArraycpy(p->col_ind, (const PetscInt *)view->col_ind, nnz));
  PetscCall(PetscArraycpy(p->values, (const PetscScalar *)view->values, nnz));
  *copy = *view;
  copy->row_ptr = p->row_ptr;
  copy->col_ind = p->col_ind;
  copy->values = p->values;
  PetscFunctionReturn(0);
}

/* Makes M of the matrix that the view shows. */
static PetscErrorCode make(pc_merbit *p, Mat A, const merbit_petsc_recipe *recipe,
                           const merbit_view *view) {
  merbit_preconditioner_info info;
  merbit_status status;
  merbit_view copy;
  double *vectors;
  PetscFunctionBegin;
  PetscCall(forget(p));
  PetscCall(copy_arrays(p, view, &copy));
  p->recipe = *recipe;
  PetscCall(merbit_petsc_recipe_open(A, &p->recipe, &vectors));
  status = merbit_preconditioner_create(merbit_petsc.solvers, &copy, &p->recipe.desc, &p->M);
  PetscCall(PetscFree(vectors));
  p->recipe = *recipe;
  MERBIT_PETSC_CALL(merbit_petsc.solvers, status);
  (void)merbit_preconditioner_get_info(p->M, &info);
  p->on_gpu = info.side == MERBIT_SIDE_CUDA ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(0);
}

/* Makes M fit the options, and the values and structure that A has now. */
static PetscErrorCode refresh(pc_merbit *p, Mat A, const merbit_petsc_recipe *recipe,
                              const merbit_view *view, merbit_petsc_change change) {
  PetscBool same;
  PetscFunctionBegin;
  PetscCall(PetscMemcmp(&p->recipe, recipe, sizeof *recipe, &same));
  if (!p->M || !same || change == CHANGED_STRUCTURE) {
    PetscCall(PetscLogEventBegin(merbit_petsc.plan, A, 0, 0, 0));
    PetscCall(make(p, A, recipe, view));
    PetscCall(PetscLogEventEnd(merbit_petsc.plan, A, 0, 0, 0));
  } else if (change == CHANGED_VALUES && view->nnz > 0) {
    PetscCall(PetscLogEventBegin(merbit_petsc.update, A, 0, 0, 0));
    PetscCall(merbit_petsc_wait());
    PetscCall(PetscArraycpy(p->values, (const PetscScalar *)view->values, (size_t)view->nnz));
    MERBIT_PETSC_CALL(merbit_petsc.solvers,
                      merbit_preconditioner_update_values(p->M, p->values, MERBIT_MEMORY_HOST));
    PetscCall(PetscLogEventEnd(merbit_petsc.update, A, 0, 0, 0));
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode set_up_now(PC pc) {
  pc_merbit *p = (pc_merbit *)pc->data;
  merbit_petsc_recipe recipe;
  merbit_petsc_change change;
  PetscErrorCode code;
  merbit_view view;
  PetscFunctionBegin;
  PetscCall(merbit_petsc_open_solvers());
  PetscCall(merbit_petsc_recipe_for(pc->pmat, &p->desc, &recipe));
  PetscCall(merbit_petsc_open_csr(pc->pmat, &p->stamp, &view, &change));
  code = refresh(p, pc->pmat, &recipe, &view, change);
  PetscCall(merbit_petsc_close_csr(pc->pmat, &view));
  if (code) {
    PetscCall(forget(p)); /* it may have some of the new values */
  }
  PetscCall(code);
  PetscFunctionReturn(0);
}

static PetscErrorCode set_up(PC pc) {
  const pc_merbit *p = (const pc_merbit *)pc->data;
  PetscFunctionBegin;
  PetscCall(merbit_petsc_check_matrix((PetscObject)pc, pc->pmat));
  if (p->M || !p->in_solve) {
    PetscCall(set_up_now(pc));
  }
  PetscFunctionReturn(0);
}

/* Makes the copies of host vectors that M on the GPU needs. */
static PetscErrorCode make_copies(pc_merbit *p, size_t bytes) {
  PetscFunctionBegin;
  if (!p->r) {
    MERBIT_PETSC_CALL(merbit_petsc.solvers,
                      merbit_buffer_create(merbit_petsc.solvers, bytes, &p->r));
  }
  if (!p->z) {
    MERBIT_PETSC_CALL(merbit_petsc.solvers,
                      merbit_buffer_create(merbit_petsc.solvers, bytes, &p->z));
  }
  PetscFunctionReturn(0);
}

/* Applies M on the GPU to host vectors. */
static merbit_status apply_to_copies(pc_merbit *p, const merbit_petsc_vectors *v,
                                     size_t bytes) {
  merbit_status status = merbit_buffer_upload(p->r, 0, v->from, bytes);
  if (status == MERBIT_OK) {
    status = merbit_preconditioner_apply(p->M, merbit_buffer_pointer(p->r),
                                         merbit_buffer_pointer(p->z), NULL);
  }
  return status == MERBIT_OK ? merbit_buffer_download(p->z, 0, v->to, bytes) : status;
}

static PetscErrorCode apply(PC pc, Vec r, Vec z) {
  pc_merbit *p = (pc_merbit *)pc->data;
  merbit_petsc_vectors v = {r, z, PETSC_FALSE, PETSC_FALSE, NULL, NULL, NULL};
  merbit_status status;
  PetscInt rows;
  size_t bytes;
  PetscFunctionBegin;
  if (!p->M) {
    PetscCall(set_up_now(pc));
  }
  PetscCall(VecGetLocalSize(r, &rows));
  bytes = (size_t)rows * sizeof(PetscScalar);
  if (p->on_gpu) {
    PetscCall(merbit_petsc_vectors_on_gpu(r, z, &v.on_gpu));
  }
  if (p->on_gpu && !v.on_gpu) {
    PetscCall(make_copies(p, bytes));
  }
  PetscCall(merbit_petsc_vectors_open(&v));
  status = p->on_gpu && !v.on_gpu ? apply_to_copies(p, &v, bytes)
                                  : merbit_preconditioner_apply(p->M, v.from, v.to, v.stream);
  PetscCall(merbit_petsc_vectors_close(&v));
  MERBIT_PETSC_CALL(merbit_petsc.solvers, status);
  PetscFunctionReturn(0);
}

static PetscErrorCode view(PC pc, PetscViewer viewer) {
  const pc_merbit *p = (const pc_merbit *)pc->data;
  char line[1024];
  PetscBool ascii;
  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (ascii && p->M) {
    merbit_preconditioner_describe(p->M, line, sizeof line);
    PetscCall(PetscViewerASCIIPrintf(viewer, "  merbit's %s\n", line));
  } else if (ascii) {
    PetscCall(PetscViewerASCIIPrintf(viewer, "  merbit's %s%s\n", names[index_of(p->desc.kind)],
                                     p->in_solve ? ", part of merbit's solve" : ""));
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode reset(PC pc) {
  PetscFunctionBegin;
  PetscCall(forget((pc_merbit *)pc->data));
  PetscFunctionReturn(0);
}

static PetscErrorCode destroy(PC pc) {
  PetscFunctionBegin;
  PetscCall(reset(pc));
  PetscCall(PetscFree(pc->data));
  PetscFunctionReturn(0);
}

/* Makes a PC of the type. */
PetscErrorCode merbit_petsc_create_pc(PC pc) {
  pc_merbit *p;
  PetscFunctionBegin;
  PetscCall(PetscNew(&p));
  p->desc.kind = MERBIT_PRECONDITIONER_AMG;
  pc->data = p;
  pc->ops->setfromoptions = set_from_options;
  pc->ops->setup = set_up;
  pc->ops->apply = apply;
  pc->ops->view = view;
  pc->ops->reset = reset;
  pc->ops->destroy = destroy;
  PetscFunctionReturn(0);
}
