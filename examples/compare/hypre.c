/* Solves one system by hypre's Krylov methods with BoomerAMG, for preconditioners.py, which
 * builds and starts it:
 *
 *   mpirun -n 2 hypre MATRIX VECTORS cg|bicgstab|gmres [setting=number]...
 *
 * MATRIX is the binary CSR that `compare.py --help` describes, square, with values. VECTORS
 * holds b and room for x, float64 each; every process reads and writes its own rows. A setting
 * is one of BoomerAMG's, see `settings`. Prints the iterations and the seconds of set-up and
 * solve. */
#include <HYPRE.h>
#include <HYPRE_krylov.h>
#include <HYPRE_parcsr_ls.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOLERANCE 1e-8
#define MOST 3000       /* iterations */
#define RESTART 30      /* of GMRES */
#define HEADER_BYTES 40 /* of the binary CSR */

static const struct {
  const char *name;
  HYPRE_Int (*set)(HYPRE_Solver, HYPRE_Int);
} settings[] = {{"coarsening", HYPRE_BoomerAMGSetCoarsenType},
                {"aggressive", HYPRE_BoomerAMGSetAggNumLevels},
                {"functions", HYPRE_BoomerAMGSetNumFunctions},
                {"nodal", HYPRE_BoomerAMGSetNodal}};

/* Prints a sentence and ends all processes. */
static void fail(const char *what, const char *name) {
  fprintf(stderr, "hypre: %s: %s\n", name, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Reads or writes `bytes` of a file, from an offset on. */
static void transfer(const char *path, int writes, long offset, void *data, size_t bytes) {
  FILE *file = fopen(path, writes ? "r+b" : "rb");
  if (file == NULL || fseek(file, offset, SEEK_SET) != 0 ||
      (writes ? fwrite(data, 1, bytes, file) : fread(data, 1, bytes, file)) != bytes ||
      fclose(file) != 0) {
    fail(writes ? "cannot be written" : "cannot be read, or is too short", path);
  }
}

/* Allocates memory, even for 0 bytes; ends all processes if there is none. */
static void *allocated(size_t bytes) {
  void *data = malloc(bytes + 1);
  if (data == NULL) {
    fail("no memory", "the matrix");
  }
  return data;
}

/* Reads rows `first` to `last` - 1 of a file with this header into a matrix. */
static HYPRE_IJMatrix read_matrix(const char *path, const int64_t header[5], HYPRE_BigInt first,
                                  HYPRE_BigInt last) {
  const long columns_at = HEADER_BYTES + 4 * (long)(header[1] + 1);
  const long values_at = columns_at + 4 * (long)header[3];
  const HYPRE_Int count = (HYPRE_Int)(last - first);
  int32_t *row_ptr = allocated(4 * ((size_t)count + 1));
  HYPRE_Int *sizes = allocated(sizeof *sizes * (size_t)count);
  HYPRE_BigInt *rows = allocated(sizeof *rows * (size_t)count), *columns;
  HYPRE_IJMatrix a;
  double *values;
  int32_t *col_ind;
  size_t nnz, k;
  transfer(path, 0, HEADER_BYTES + 4 * (long)first, row_ptr, 4 * ((size_t)count + 1));
  nnz = (size_t)(row_ptr[count] - row_ptr[0]);
  col_ind = allocated(4 * nnz);
  columns = allocated(sizeof *columns * nnz);
  values = allocated(8 * nnz);
  transfer(path, 0, columns_at + 4 * (long)row_ptr[0], col_ind, 4 * nnz);
  transfer(path, 0, values_at + 8 * (long)row_ptr[0], values, 8 * nnz);
  for (k = 0; k < nnz; k++) {
    columns[k] = col_ind[k];
  }
  for (k = 0; k < (size_t)count; k++) {
    sizes[k] = row_ptr[k + 1] - row_ptr[k];
    rows[k] = first + (HYPRE_BigInt)k;
  }
  HYPRE_IJMatrixCreate(MPI_COMM_WORLD, first, last - 1, first, last - 1, &a);
  HYPRE_IJMatrixSetObjectType(a, HYPRE_PARCSR);
  HYPRE_IJMatrixSetRowSizes(a, sizes);
  HYPRE_IJMatrixInitialize(a);
  HYPRE_IJMatrixSetValues(a, count, sizes, rows, columns, values);
  HYPRE_IJMatrixAssemble(a);
  free(row_ptr);
  free(sizes);
  free(rows);
  free(col_ind);
  free(columns);
  free(values);
  return a;
}

/* Makes a vector of which this process owns elements `first` to `last` - 1. */
static HYPRE_IJVector make_vector(HYPRE_BigInt first, HYPRE_BigInt last, const double *values) {
  HYPRE_IJVector v;
  HYPRE_IJVectorCreate(MPI_COMM_WORLD, first, last - 1, &v);
  HYPRE_IJVectorSetObjectType(v, HYPRE_PARCSR);
  HYPRE_IJVectorInitialize(v);
  HYPRE_IJVectorSetValues(v, (HYPRE_Int)(last - first), NULL, values);
  HYPRE_IJVectorAssemble(v);
  return v;
}

/* Makes a BoomerAMG preconditioner of one cycle, with the settings given as NAME=NUMBER. */
static HYPRE_Solver make_amg(char **given, int count) {
  HYPRE_Solver amg;
  int i;
  HYPRE_BoomerAMGCreate(&amg);
  HYPRE_BoomerAMGSetTol(amg, 0);
  HYPRE_BoomerAMGSetMaxIter(amg, 1);
  for (i = 0; i < count; i++) {
    const size_t length = strcspn(given[i], "=");
    size_t k = 0;
    while (k < sizeof settings / sizeof settings[0] &&
           (strlen(settings[k].name) != length ||
            strncmp(settings[k].name, given[i], length) != 0)) {
      k++;
    }
    if (given[i][length] == '\0' || k == sizeof settings / sizeof settings[0]) {
      fail("no setting=number of BoomerAMG that hypre.c knows", given[i]);
    }
    settings[k].set(amg, atoi(given[i] + length + 1));
  }
  return amg;
}

/* ---- The three solvers, behind one set of functions ----------------------------------------- */

static HYPRE_PtrToSolverFcn apply = (HYPRE_PtrToSolverFcn)HYPRE_BoomerAMGSolve;
static HYPRE_PtrToSolverFcn setup = (HYPRE_PtrToSolverFcn)HYPRE_BoomerAMGSetup;

static HYPRE_Solver make_cg(HYPRE_Solver amg) {
  HYPRE_Solver solver;
  HYPRE_ParCSRPCGCreate(MPI_COMM_WORLD, &solver);
  HYPRE_PCGSetTwoNorm(solver, 1);
  HYPRE_PCGSetTol(solver, TOLERANCE);
  HYPRE_PCGSetMaxIter(solver, MOST);
  HYPRE_PCGSetPrecond(solver, apply, setup, amg);
  return solver;
}

static HYPRE_Solver make_bicgstab(HYPRE_Solver amg) {
  HYPRE_Solver solver;
  HYPRE_ParCSRBiCGSTABCreate(MPI_COMM_WORLD, &solver);
  HYPRE_BiCGSTABSetTol(solver, TOLERANCE);
  HYPRE_BiCGSTABSetMaxIter(solver, MOST);
  HYPRE_BiCGSTABSetPrecond(solver, apply, setup, amg);
  return solver;
}

static HYPRE_Solver make_gmres(HYPRE_Solver amg) {
  HYPRE_Solver solver;
  HYPRE_ParCSRGMRESCreate(MPI_COMM_WORLD, &solver);
  HYPRE_GMRESSetKDim(solver, RESTART);
  HYPRE_GMRESSetTol(solver, TOLERANCE);
  HYPRE_GMRESSetMaxIter(solver, MOST);
  HYPRE_GMRESSetPrecond(solver, apply, setup, amg);
  return solver;
}

static const struct {
  const char *name;
  HYPRE_Solver (*make)(HYPRE_Solver);
  HYPRE_Int (*setup)(HYPRE_Solver, HYPRE_ParCSRMatrix, HYPRE_ParVector, HYPRE_ParVector);
  HYPRE_Int (*solve)(HYPRE_Solver, HYPRE_ParCSRMatrix, HYPRE_ParVector, HYPRE_ParVector);
  HYPRE_Int (*iterations)(HYPRE_Solver, HYPRE_Int *);
} solvers[] = {
    {"cg", make_cg, HYPRE_ParCSRPCGSetup, HYPRE_ParCSRPCGSolve, HYPRE_PCGGetNumIterations},
    {"bicgstab", make_bicgstab, HYPRE_ParCSRBiCGSTABSetup, HYPRE_ParCSRBiCGSTABSolve,
     HYPRE_BiCGSTABGetNumIterations},
    {"gmres", make_gmres, HYPRE_ParCSRGMRESSetup, HYPRE_ParCSRGMRESSolve,
     HYPRE_GMRESGetNumIterations}};

int main(int argc, char **argv) {
  int rank, ranks, s = 0;
  int64_t header[5]; /* magic number, rows, columns, nonzeros, has_values */
  HYPRE_BigInt first, last;
  HYPRE_IJMatrix matrix;
  HYPRE_IJVector right, answer;
  HYPRE_ParCSRMatrix a;
  HYPRE_ParVector b, x;
  HYPRE_Solver amg, solver;
  HYPRE_Int iterations;
  double *values, start, middle, end;
  MPI_Init(&argc, &argv);
  HYPRE_Init();
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  while (argc > 3 && s < 3 && strcmp(argv[3], solvers[s].name) != 0) {
    s++;
  }
  if (argc < 4 || s == 3) {
    fail("MATRIX VECTORS cg|bicgstab|gmres [setting=number]...", "give");
  }
  transfer(argv[1], 0, 0, header, sizeof header);
  first = (HYPRE_BigInt)(header[1] * rank / ranks);
  last = (HYPRE_BigInt)(header[1] * (rank + 1) / ranks);
  matrix = read_matrix(argv[1], header, first, last);
  values = allocated(8 * (size_t)(last - first));
  transfer(argv[2], 0, 8 * (long)first, values, 8 * (size_t)(last - first));
  right = make_vector(first, last, values);
  memset(values, 0, 8 * (size_t)(last - first));
  answer = make_vector(first, last, values);
  HYPRE_IJMatrixGetObject(matrix, (void **)&a);
  HYPRE_IJVectorGetObject(right, (void **)&b);
  HYPRE_IJVectorGetObject(answer, (void **)&x);
  MPI_Barrier(MPI_COMM_WORLD);
  start = MPI_Wtime();
  amg = make_amg(argv + 4, argc - 4);
  solver = solvers[s].make(amg);
  solvers[s].setup(solver, a, b, x);
  MPI_Barrier(MPI_COMM_WORLD);
  middle = MPI_Wtime();
  solvers[s].solve(solver, a, b, x);
  MPI_Barrier(MPI_COMM_WORLD);
  end = MPI_Wtime();
  solvers[s].iterations(solver, &iterations);
  HYPRE_IJVectorGetValues(answer, (HYPRE_Int)(last - first), NULL, values);
  transfer(argv[2], 1, 8 * (long)(header[1] + first), values, 8 * (size_t)(last - first));
  if (rank == 0) {
    printf("%d %.9f %.9f\n", (int)iterations, middle - start, end - middle);
  }
  free(values);
  MPI_Finalize();
  return 0;
}
