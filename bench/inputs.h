/* INPUTs of the command line: generated matrices, raw .csr dumps or Matrix Market files. */
#ifndef BENCH_INPUTS_H
#define BENCH_INPUTS_H
#include "catalogue.h"
#include <sys/stat.h>
/* merbit.h is included by bench.c */

#define BENCH_CSR_MAGIC 0x4d425431

static void bench_read_exactly(FILE *file, const char *path, const char *what, void *data,
                               int64_t count, size_t size) {
  if (fread(data, size, (size_t)count, file) != (size_t)count) {
    bench_die("%s ends inside %s: %lld elements of %zu bytes were announced", path, what,
              (long long)count, size);
  }
}

/* Reads a dump: five little-endian int64 {0x4d425431, rows, cols, nnz, has_values}, then int32
 * row_ptr, int32 col_ind, and, if has_values, float64 values. Checks the sizes against the
 * length of the file. */
static int bench_read_dump(const char *path, bench_matrix *m) {
  FILE *file = fopen(path, "rb");
  int64_t head[5], size;
  if (file == NULL) {
    bench_die("%s cannot be opened: %s", path, strerror(errno));
  }
  bench_read_exactly(file, path, "its head", head, 5, sizeof head[0]);
  if (head[0] != BENCH_CSR_MAGIC) {
    bench_die("%s is no .csr dump: it begins with %llx, not %x", path,
              (unsigned long long)head[0], BENCH_CSR_MAGIC);
  }
  m->rows = head[1];
  m->cols = head[2];
  m->nnz = head[3];
  size = fseek(file, 0, SEEK_END) == 0 ? (int64_t)ftell(file) : 0;
  if (m->rows < 0 || m->cols < 0 || m->nnz < 0 || m->rows >= INT32_MAX || m->cols > INT32_MAX ||
      m->nnz > INT32_MAX ||
      size < 40 + 4 * (m->rows + 1 + m->nnz) + (head[4] ? 8 * m->nnz : 0)) {
    bench_die(
        "%s has %lld bytes, too few for %lld x %lld with %lld nonzeros, or these are too many",
        path, (long long)size, (long long)m->rows, (long long)m->cols, (long long)m->nnz);
  }
  (void)fseek(file, 40, SEEK_SET);
  m->row_ptr = (int32_t *)bench_allocate(m->rows + 1, sizeof *m->row_ptr);
  m->col_ind = (int32_t *)bench_allocate(m->nnz, sizeof *m->col_ind);
  bench_read_exactly(file, path, "row_ptr", m->row_ptr, m->rows + 1, sizeof *m->row_ptr);
  bench_read_exactly(file, path, "col_ind", m->col_ind, m->nnz, sizeof *m->col_ind);
  if (head[4]) {
    m->values = (double *)bench_allocate(m->nnz, sizeof *m->values);
    bench_read_exactly(file, path, "its values", m->values, m->nnz, sizeof *m->values);
  }
  (void)fclose(file);
  return head[4] != 0;
}

static int bench_read_market(merbit_context *context, const char *path, bench_matrix *m) {
  merbit_matrix *read = NULL;
  merbit_read_desc desc;
  merbit_view view;
  char message[MERBIT_MESSAGE_SIZE];
  struct stat status;
  double seconds = mbi_seconds();
  memset(&desc, 0, sizeof desc);
  desc.value_type = MERBIT_F64; /* complex values are refused */
  if (merbit_matrix_read_file(context, path, &desc, &read) != MERBIT_OK) {
    (void)merbit_last_error(context, message, sizeof message);
    bench_die("%s", message);
  }
  seconds = mbi_seconds() - seconds;
  if (stat(path, &status) == 0) {
    (void)printf("\n%s: %.1f MB read in %.3f s by one thread, %.0f MB/s\n", path,
                 1e-6 * (double)status.st_size, seconds,
                 1e-6 * (double)status.st_size / seconds);
  }
  view = merbit_matrix_view(read);
  if (view.offset_type != MERBIT_INDEX_32) {
    bench_die("%s has %lld nonzeros; this benchmark takes fewer than 2^31", path,
              (long long)view.nnz);
  }
  m->rows = view.rows;
  m->cols = view.cols;
  m->nnz = view.nnz;
  m->row_ptr = (int32_t *)bench_allocate(m->rows + 1, sizeof *m->row_ptr);
  m->col_ind = (int32_t *)bench_allocate(m->nnz, sizeof *m->col_ind);
  memcpy(m->row_ptr, view.row_ptr, (size_t)(m->rows + 1) * sizeof *m->row_ptr);
  memcpy(m->col_ind, view.col_ind, (size_t)m->nnz * sizeof *m->col_ind);
  if (view.values != NULL) {
    m->values = (double *)bench_allocate(m->nnz, sizeof *m->values);
    memcpy(m->values, view.values, (size_t)m->nnz * sizeof *m->values);
  }
  merbit_matrix_destroy(read);
  return view.values != NULL;
}

/* Loads a matrix. Patterns get random values, which every method reads as general ones. */
static void bench_load_general(merbit_context *context, const char *spec, bench_matrix *m) {
  const size_t length = strlen(spec);
  char message[MERBIT_MESSAGE_SIZE];
  merbit_view view;
  int has_values;
  if (strncmp(spec, "gen:", 4) == 0) {
    bench_generate(spec, m);
    return;
  }
  memset(m, 0, sizeof *m);
  has_values = length > 4 && strcmp(spec + length - 4, ".csr") == 0
                   ? bench_read_dump(spec, m)
                   : bench_read_market(context, spec, m);
  view = merbit_csr(m->rows, m->cols, m->nnz, m->row_ptr, m->col_ind, NULL);
  if (merbit_view_check(context, &view) != MERBIT_OK) {
    (void)merbit_last_error(context, message, sizeof message);
    bench_die("%s: %s", spec, message);
  }
  if (!has_values) {
    bench_fill_values(m, 1);
  }
  (void)snprintf(m->name, sizeof m->name, "%.200s%s", spec,
                 has_values ? "" : " (random values)");
}

/* Loads a matrix and replaces its values as `kind` says. */
static void bench_load(merbit_context *context, const char *spec, int kind, bench_matrix *m) {
  static const char *const names[BENCH_VALUES_KINDS] = {"",
                                                        ", values all 1",
                                                        ", values by row",
                                                        ", values by column",
                                                        ", 200 different values",
                                                        ", values exact in f16"};
  bench_load_general(context, spec, m);
  if (kind != BENCH_VALUES_GENERAL) {
    bench_make_values(m, kind);
    (void)snprintf(m->name, sizeof m->name, "%.200s%s", spec, names[kind]);
  }
}

#endif
