/* Times products y = A x with PETSc's matrix types, and writes a line of JSON for each.
 * bench.sh runs it on 1, 2 and 4 processes. Options: -types lists those to compare with aij
 * (aijmerbit, aijperm, aijsell, aijmkl; types that this PETSc lacks are left out), -size is the
 * number of rows of each matrix, -seconds the time for each, -json the file.
 *
 * The types multiply in turn, in rounds. A time is the median over rounds of the slowest
 * process. */
#include <petscksp.h>
#include <petsctime.h>
#include <stdlib.h>

#define MOST_TYPES 8
#define ROUNDS 15

/* A class of matrices over n^3 vertices. */
typedef struct {
  const char *name;
  PetscInt unknowns; /* rows per vertex, which form dense blocks */
  /* Writes the neighbours of a vertex; returns their number. */
  PetscInt (*row)(PetscInt vertex, PetscInt n, PetscInt *cols);
} shape;

#define MOST_COLUMNS 4096

/* Returns a hash of i that is the same on every machine. */
static unsigned hash(unsigned i) {
  i ^= i >> 16;
  i *= 0x7feb352du;
  i ^= i >> 15;
  i *= 0x846ca68bu;
  return i ^ i >> 16;
}

static PetscInt stencil(PetscInt vertex, PetscInt n, PetscInt most, PetscInt *cols) {
  const PetscInt x = vertex % n, y = vertex / n % n, z = vertex / (n * n);
  PetscInt i, j, k, count = 0;
  for (k = -1; k <= 1; k++) {
    for (j = -1; j <= 1; j++) {
      for (i = -1; i <= 1; i++) {
        if (labs((long)i) + labs((long)j) + labs((long)k) <= most && x + i >= 0 && x + i < n &&
            y + j >= 0 && y + j < n && z + k >= 0 && z + k < n) {
          cols[count++] = vertex + i + n * (j + n * k);
        }
      }
    }
  }
  return count;
}

static PetscInt stencil7(PetscInt vertex, PetscInt n, PetscInt *cols) {
  return stencil(vertex, n, 1, cols);
}

static PetscInt stencil27(PetscInt vertex, PetscInt n, PetscInt *cols) {
  return stencil(vertex, n, 3, cols);
}

/* Writes a row of a power law: 2 to 2,000 columns at random places; few rows have many. */
static PetscInt power_law(PetscInt vertex, PetscInt n, PetscInt *cols) {
  const unsigned vertices = (unsigned)(n * n * n);
  const double u = (hash((unsigned)vertex) + 1.0) / 4294967296.0;
  PetscInt k, count = (PetscInt)PetscMin(2000.0, 2.0 / PetscSqrtReal((PetscReal)u));
  count = PetscMin(count, (PetscInt)vertices);
  for (k = 0; k < count; k++) {
    cols[k] = (PetscInt)(hash((unsigned)vertex * 2003u + (unsigned)k) % vertices);
  }
  PetscCallAbort(PETSC_COMM_SELF, PetscSortRemoveDupsInt(&count, cols));
  return count;
}

static const shape shapes[] = {{"7-point", 1, stencil7},
                               {"27-point", 1, stencil27},
                               {"blocks of 3, 7-point", 3, stencil7},
                               {"power law", 1, power_law}};

/* Assembles a matrix of about `size` rows as an aij. */
static PetscErrorCode assemble(const shape *s, PetscInt size, Mat *A) {
  const PetscInt n =
      (PetscInt)(PetscPowReal((PetscReal)size / (PetscReal)s->unknowns, (PetscReal)1 / 3) +
                 0.5);
  const PetscInt rows = n * n * n * s->unknowns;
  PetscInt begin, end, i, j, k, count, *vertices, *cols;
  PetscScalar *values;
  PetscFunctionBeginUser;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, rows, rows));
  PetscCall(MatSetBlockSize(*A, s->unknowns));
  PetscCall(MatSetType(*A, MATAIJ));
  PetscCall(MatSeqAIJSetPreallocation(*A, 28 * s->unknowns, NULL));
  PetscCall(MatMPIAIJSetPreallocation(*A, 28 * s->unknowns, NULL, 14 * s->unknowns, NULL));
  PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(PetscMalloc3(MOST_COLUMNS, &vertices, MOST_COLUMNS, &cols, MOST_COLUMNS, &values));
  PetscCall(MatGetOwnershipRange(*A, &begin, &end));
  for (i = begin; i < end; i++) {
    count = s->row(i / s->unknowns, n, vertices);
    for (j = 0; j < count; j++) {
      for (k = 0; k < s->unknowns; k++) {
        const PetscInt at = j * s->unknowns + k;
        cols[at] = vertices[j] * s->unknowns + k;
        values[at] =
            (PetscScalar)(hash((unsigned)(i * 31 + cols[at])) % 1000) / (PetscScalar)500;
      }
    }
    PetscCall(MatSetValues(*A, 1, &i, count * s->unknowns, cols, values, INSERT_VALUES));
  }
  PetscCall(PetscFree3(vertices, cols, values));
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

/* Returns the seconds per product, over `calls` products of the slowest process. */
static PetscErrorCode time_products(Mat A, Vec x, Vec y, PetscInt calls, double *seconds) {
  PetscLogDouble begin, end;
  double mine;
  PetscInt k;
  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscCall(PetscTime(&begin));
  for (k = 0; k < calls; k++) {
    PetscCall(MatMult(A, x, y));
  }
  PetscCall(PetscTime(&end));
  mine = (end - begin) / (double)calls;
  PetscCallMPI(MPI_Allreduce(&mine, seconds, 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
  PetscFunctionReturn(0);
}

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Times the types on one matrix, and writes a line for each. The first type is the reference.
 */
static PetscErrorCode measure(const shape *s, PetscInt size, double time_s, char **types,
                              PetscInt count, PetscViewer json) {
  double times[MOST_TYPES][ROUNDS], once = 0;
  PetscMPIInt ranks;
  Mat given, A[MOST_TYPES];
  Vec x, y, expected;
  MatInfo info;
  PetscInt t, calls, rows;
  int round;
  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
  PetscCall(assemble(s, size, &given));
  PetscCall(MatGetInfo(given, MAT_GLOBAL_SUM, &info));
  PetscCall(MatGetSize(given, &rows, NULL));
  PetscCall(MatCreateVecs(given, &x, &y));
  PetscCall(VecDuplicate(y, &expected));
  PetscCall(VecSetRandom(x, NULL));
  PetscCall(MatMult(given, x, expected));
  for (t = 0; t < count; t++) {
    PetscReal norm, error;
    PetscCall(MatConvert(given, types[t], MAT_INITIAL_MATRIX, &A[t]));
    PetscCall(time_products(A[t], x, y, 40, &once)); /* a plan is final after 35 products */
    PetscCall(VecNorm(expected, NORM_INFINITY, &norm));
    PetscCall(VecAXPY(y, -1, expected));
    PetscCall(VecNorm(y, NORM_INFINITY, &error));
    PetscCheck(error <= 1e4 * PETSC_MACHINE_EPSILON * norm, PETSC_COMM_WORLD, PETSC_ERR_PLIB,
               "%s, %s: the product is off by %g of %g", s->name, types[t], (double)error,
               (double)norm);
  }
  PetscCall(MatDestroy(&given));
  calls = PetscMax(3, (PetscInt)(time_s / (once * (double)count * ROUNDS)));
  for (round = 0; round < ROUNDS; round++) {
    for (t = 0; t < count; t++) {
      PetscCall(time_products(A[t], x, y, calls, &times[t][round]));
    }
  }
  for (t = 0; t < count; t++) {
    qsort(times[t], ROUNDS, sizeof times[t][0], ascending);
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-22s %d ranks  %-10s %10.2f us  %5.2f\n", s->name,
                          ranks, types[t], 1e6 * times[t][ROUNDS / 2],
                          times[0][ROUNDS / 2] / times[t][ROUNDS / 2]));
    PetscCall(PetscViewerASCIIPrintf(
        json,
        "  {\"matrix\": \"%s\", \"ranks\": %d, \"rows\": %" PetscInt_FMT
        ", \"nonzeros\": %.0f, "
        "\"type\": \"%s\", \"us\": %.3f, \"ratio\": %.3f}\n",
        s->name, ranks, rows, info.nz_used, types[t], 1e6 * times[t][ROUNDS / 2],
        times[0][ROUNDS / 2] / times[t][ROUNDS / 2]));
    PetscCall(MatDestroy(&A[t]));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&expected));
  PetscFunctionReturn(0);
}

/* Reads the types to compare with aij, and leaves out those that this PETSc does not have. */
static PetscErrorCode get_types(char **types, PetscInt *count) {
  static const char *const usual[] = {"aijmerbit", "aijperm", "aijsell", "aijmkl"};
  PetscInt t, given = MOST_TYPES - 1;
  PetscBool set;
  PetscFunctionBeginUser;
  PetscCall(PetscStrallocpy(MATAIJ, &types[0]));
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, "-types", &types[1], &given, &set));
  for (t = 0; !set && t < 4; t++) {
    PetscCall(PetscStrallocpy(usual[t], &types[1 + t]));
  }
  *count = 1;
  for (t = 1; t <= (set ? given : 4); t++) {
    PetscErrorCode (*create)(Mat);
    char name[64];
    PetscCall(PetscSNPrintf(name, sizeof name, "seq%s", types[t]));
    PetscCall(PetscFunctionListFind(MatList, name, &create));
    if (create) {
      types[(*count)++] = types[t];
    } else {
      PetscCall(PetscFree(types[t]));
    }
  }
  PetscFunctionReturn(0);
}

int main(int argc, char **argv) {
  const size_t matrices = sizeof shapes / sizeof *shapes;
  char name[PETSC_MAX_PATH_LEN] = "bench.json", *types[MOST_TYPES];
  PetscReal seconds = 2;
  PetscInt size = 500000, count = 0, t;
  PetscViewer json;
  size_t k;
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-size", &size, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-seconds", &seconds, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-json", name, sizeof name, NULL));
  PetscCall(get_types(types, &count));
  PetscCall(PetscViewerASCIIOpen(PETSC_COMM_WORLD, name, &json));
  for (k = 0; k < matrices; k++) {
    PetscCall(measure(&shapes[k], size, (double)seconds, types, count, json));
  }
  PetscCall(PetscViewerDestroy(&json));
  for (t = 0; t < count; t++) {
    PetscCall(PetscFree(types[t]));
  }
  return PetscFinalize();
}
