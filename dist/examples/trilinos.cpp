/* Solves a 3D Poisson problem by Belos's CG with merbit's products: mpirun -n 4 trilinos [side]
 *
 * The matrix is a Tpetra::Operator, whose product calls merbit_dist_spmv on the vectors' own
 * arrays. */
#define MERBIT_DIST_IMPLEMENTATION
#include "merbit_dist.h"

#include "over_mpi.h"
#include "poisson.h"

#include <BelosPseudoBlockCGSolMgr.hpp>
#include <BelosTpetraAdapter.hpp>
#include <Tpetra_Core.hpp>
#include <Tpetra_Operator.hpp>

using Vectors = Tpetra::MultiVector<double>;
using Operator = Tpetra::Operator<double>;
using Map = Tpetra::Map<>;

/* y = alpha A x + beta y for vectors of any number of columns. */
class Product : public Operator {
public:
  Product(merbit_dist *dist, Teuchos::RCP<const Map> rows) : dist(dist), rows(rows) {}
  Teuchos::RCP<const Map> getDomainMap() const override { return rows; }
  Teuchos::RCP<const Map> getRangeMap() const override { return rows; }
  void apply(const Vectors &x, Vectors &y, Teuchos::ETransp mode, double alpha,
             double beta) const override {
    TEUCHOS_TEST_FOR_EXCEPTION(mode != Teuchos::NO_TRANS, std::invalid_argument,
                               "this example has no transposed product");
    for (size_t j = 0; j < x.getNumVectors(); j++) {
      const merbit_status status = merbit_dist_spmv(dist, &alpha, x.getData(j).get(), &beta,
                                                    y.getDataNonConst(j).get(), nullptr);
      TEUCHOS_TEST_FOR_EXCEPTION(status != MERBIT_OK, std::runtime_error,
                                 merbit_status_text(status));
    }
  }

private:
  merbit_dist *dist;
  Teuchos::RCP<const Map> rows;
};

static void need(merbit_status status, merbit_context *context) {
  char sentence[MERBIT_MESSAGE_SIZE];
  if (status != MERBIT_OK) {
    (void)merbit_last_error(context, sentence, sizeof sentence);
    (void)fprintf(stderr, "%s\n", sentence);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

int main(int argc, char **argv) {
  Tpetra::ScopeGuard tpetra(&argc, &argv);
  const int64_t n = argc > 1 ? atoi(argv[1]) : 40;
  over_mpi user;
  merbit_exchange exchange = over_mpi_make(&user);
  const int64_t first = n * n * n * exchange.rank / exchange.ranks;
  const int64_t end = n * n * n * (exchange.rank + 1) / exchange.ranks;
  const merbit_view view = poisson_make(n, first, end);
  merbit_context_desc cpu = merbit_context_defaults();
  merbit_context *context = nullptr;
  merbit_dist *dist = nullptr;
  cpu.side = MERBIT_SIDE_CPU;
  cpu.threads = 1; /* for each rank */
  need(merbit_context_create(&cpu, &context, nullptr), context);
  need(merbit_dist_create(context, &exchange, &view, nullptr, &dist), context);
  bool converged;
  {
    const Teuchos::RCP<const Map> rows = Teuchos::rcp(
        new Map(n * n * n, static_cast<size_t>(end - first), 0, Tpetra::getDefaultComm()));
    const Teuchos::RCP<Vectors> x = Teuchos::rcp(new Vectors(rows, 1));
    const Teuchos::RCP<Vectors> b = Teuchos::rcp(new Vectors(rows, 1, false));
    b->putScalar(1);
    using Problem = Belos::LinearProblem<double, Vectors, Operator>;
    const Teuchos::RCP<Problem> problem =
        Teuchos::rcp(new Problem(Teuchos::rcp(new Product(dist, rows)), x, b));
    problem->setProblem();
    const Teuchos::RCP<Teuchos::ParameterList> options = Teuchos::parameterList();
    options->set("Convergence Tolerance", 1e-9).set("Maximum Iterations", 1000);
    Belos::PseudoBlockCGSolMgr<double, Vectors, Operator> cg(problem, options);
    converged = cg.solve() == Belos::Converged;
    if (exchange.rank == 0) {
      (void)printf("Trilinos on %d ranks: %d iterations, residual %.1e\n", exchange.ranks,
                   cg.getNumIters(), cg.achievedTol());
    }
  }
  merbit_dist_destroy(dist);
  merbit_context_destroy(context);
  poisson_free(&view);
  free(user.requests);
  return converged ? 0 : 1;
}
