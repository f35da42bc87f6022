/* More generated matrices, whose 16 x 16 blocks have every density: full and nearly full ones,
 * ones around the limits of CB-SpMV's formats, ones with duplicates. Include merbit.h and
 * cmocka.h first. */
#ifndef TEST_SUPPORT_STRETCHED_H
#define TEST_SUPPORT_STRETCHED_H
#include "support/matrices.h"

typedef struct stretched_spec {
  const char *name;
  int64_t rows, cols;
  int present;     /* percent of blocks that exist */
  int least, most; /* of the 256 places of an existing block */
  int again;       /* percent of entries that occur twice */
  int descending;  /* columns in descending order */
} stretched_spec;

static const stretched_spec stretched_specs[] = {
    {"full blocks", 48, 64, 100, 256, 256, 0, 0},
    {"full blocks, cut at the edges", 37, 53, 100, 256, 256, 0, 0},
    {"one full block", 16, 16, 100, 256, 256, 0, 0},
    {"nearly full blocks", 64, 100, 60, 240, 256, 0, 0},
    {"blocks of 120 to 136", 64, 200, 50, 120, 136, 0, 0},
    {"blocks of 26 to 38", 100, 300, 40, 26, 38, 0, 0},
    {"blocks of 1 to 256", 130, 260, 50, 1, 256, 0, 0},
    {"blocks of 1 to 256, descending", 130, 260, 50, 1, 256, 0, 1},
    {"blocks of 1 to 256, some twice", 130, 260, 50, 1, 256, 10, 0},
    {"full blocks, all twice", 40, 40, 100, 256, 256, 100, 0},
    {"sparse blocks", 400, 900, 30, 1, 12, 0, 0},
    {"sparse and full blocks", 300, 300, 30, 1, 256, 0, 0},
    {"a wide strip", 9, 9000, 70, 1, 100, 0, 0},
    {"wide strips of 1 to 30", 80, 1500, 80, 1, 30, 0, 0},
    {"wide strips of 30 to 130", 80, 1500, 80, 30, 130, 5, 0},
    {"wide strips of 130 to 256", 40, 1500, 80, 130, 256, 0, 0},
    {"wide strips of one entry", 50, 6000, 90, 1, 1, 0, 0},
    {"strips of any width", 200, 1200, 20, 1, 60, 2, 0},
    {"rows of 1000", 30, 1000, 100, 256, 256, 0, 1},
    {"rows of 300, all twice", 30, 150, 100, 256, 256, 100, 0},
    {"a wide strip of full blocks", 20, 4000, 90, 256, 256, 0, 0},
};

TEST_UNUSED static int stretched_count(void) {
  return (int)(sizeof stretched_specs / sizeof stretched_specs[0]);
}

/* Returns whether there is an entry, the same at every call. */
TEST_UNUSED static int stretched_entry(const stretched_spec *s, uint64_t seed, int64_t row,
                                       int64_t column, int *twice) {
  uint64_t state = seed * 7919 + (uint64_t)(row / 16 * 1000003 + column / 16), place;
  int64_t places, i;
  place = 0;
  for (i = 0; i < 4; i++) { /* far from the state of the neighbours */
    (void)test_random(&state);
  }
  places = test_below(&state, 100) < s->present
               ? s->least + test_below(&state, s->most - s->least + 1)
               : 0;
  place = test_random(&state) | 1; /* odd: permutes the places */
  place = ((uint64_t)(row % 16 * 16 + column % 16) * place + (place >> 20)) % 256;
  state = seed + (uint64_t)(row * 100003 + column);
  (void)test_random(&state);
  (void)test_random(&state);
  *twice = test_below(&state, 100) < s->again;
  return (int64_t)place < places;
}

TEST_UNUSED static void stretched_make(int index, uint64_t seed, test_matrix *m) {
  const stretched_spec *s = &stretched_specs[index];
  uint64_t state = seed + 77;
  int64_t row, j, pass, k = 0;
  memset(m, 0, sizeof *m);
  (void)snprintf(m->name, sizeof m->name, "%s", s->name);
  m->rows = s->rows;
  m->cols = s->cols;
  m->row_ptr = (int64_t *)test_allocate(m->rows + 1, sizeof *m->row_ptr);
  for (pass = 0; pass < 2; pass++) {
    for (row = 0, k = 0; row < m->rows; row++) {
      for (j = 0; j < m->cols; j++) {
        const int64_t column = s->descending ? m->cols - 1 - j : j;
        int twice, copies = stretched_entry(s, seed, row, column, &twice) ? 1 + twice : 0;
        for (; copies > 0; copies--, k++) {
          if (pass == 1) {
            m->col_ind[k] = (int32_t)column;
            m->values[k] = test_uniform(&state);
          }
        }
      }
      m->row_ptr[row + 1] = k;
    }
    if (pass == 0) {
      m->nnz = k;
      m->col_ind = (int32_t *)test_allocate(k, sizeof *m->col_ind);
      m->values = (double *)test_allocate(k, sizeof *m->values);
    }
  }
}

#endif /* TEST_SUPPORT_STRETCHED_H */
