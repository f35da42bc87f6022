/* Times of other programs, from a file (--rivals), for the table with cuSPARSE's. */
#ifndef BENCH_GIVEN_H
#define BENCH_GIVEN_H
#include "timing.h"

#define BENCH_GIVEN_MOST 16 /* the most rivals for a matrix, precision and kind */

typedef struct bench_given { /* one line of the file */
  char matrix[256];          /* as in the head of the matrix's table */
  char rival[48];
  int single; /* 1: f32 */
  bench_kind kind;
  double seconds;
  int line, used;
} bench_given;

typedef struct bench_given_list {
  const char *path; /* NULL: there is no file, and `count` is 0 */
  bench_given *lines;
  int count;
} bench_given_list;

/* Returns the next field of a line, up to a tab, or NULL if there is none or it is empty. */
static char *bench_given_field(char **rest) {
  char *field = *rest;
  const size_t length = field != NULL ? strcspn(field, "\t") : 0;
  if (length == 0) {
    return NULL;
  }
  *rest = field[length] == '\t' ? field + length + 1 : NULL;
  field[length] = '\0';
  return field;
}

/* Parses a line, which it modifies. If something is wrong, ends the program with FILE:LINE. */
static void bench_given_parse(const char *path, int number, char *line, bench_given *given) {
  char *rest = line, *end = NULL;
  const char *field[5];
  double us;
  int i;
  for (i = 0; i < 5; i++) {
    field[i] = bench_given_field(&rest);
    if (field[i] == NULL) {
      bench_die("%s:%d: give five fields, separated by tabs: matrix, f32 or f64, plain or "
                "general, rival, microseconds",
                path, number);
    }
  }
  us = strtod(field[4], &end);
  if (rest != NULL || *end != '\0' || !(us > 0 && us < 1e12)) {
    bench_die("%s:%d: the fifth and last field is \"%s\"; give microseconds, as 12.5", path,
              number, field[4]);
  }
  if (strcmp(field[1], "f32") != 0 && strcmp(field[1], "f64") != 0) {
    bench_die("%s:%d: the precision is \"%s\"; give f32 or f64", path, number, field[1]);
  }
  if (strcmp(field[2], "plain") != 0 && strcmp(field[2], "general") != 0) {
    bench_die("%s:%d: the kind is \"%s\"; give plain (A x) or general (alpha A x + beta y)",
              path, number, field[2]);
  }
  if (strlen(field[0]) >= sizeof given->matrix || strlen(field[3]) >= sizeof given->rival) {
    bench_die("%s:%d: a name is too long; give at most %zu bytes for the matrix, %zu for the "
              "rival",
              path, number, sizeof given->matrix - 1, sizeof given->rival - 1);
  }
  memset(given, 0, sizeof *given);
  (void)snprintf(given->matrix, sizeof given->matrix, "%s", field[0]);
  (void)snprintf(given->rival, sizeof given->rival, "%s", field[3]);
  given->single = strcmp(field[1], "f32") == 0;
  given->kind = strcmp(field[2], "plain") == 0 ? BENCH_PLAIN : BENCH_GENERAL;
  given->seconds = 1e-6 * us;
  given->line = number;
}

/* Reads the file at `path`, unless that is NULL. Skips empty lines and comments (#). */
static void bench_given_read(const char *path, bench_given_list *list) {
  char line[1024];
  int number = 0;
  FILE *file;
  memset(list, 0, sizeof *list);
  list->path = path;
  if (path == NULL) {
    return;
  }
  file = fopen(path, "r");
  if (file == NULL) {
    bench_die("--rivals %s: %s", path, strerror(errno));
  }
  while (fgets(line, sizeof line, file) != NULL) {
    const size_t length = strcspn(line, "\r\n");
    number++;
    if (length + 1 == sizeof line) {
      bench_die("%s:%d: the line is longer than %zu bytes", path, number, sizeof line - 2);
    }
    line[length] = '\0';
    if (length == 0 || line[0] == '#') {
      continue;
    }
    list->lines =
        (bench_given *)realloc(list->lines, ((size_t)list->count + 1) * sizeof *list->lines);
    if (list->lines == NULL) {
      bench_die("no memory for %s", path);
    }
    bench_given_parse(path, number, line, &list->lines[list->count++]);
  }
  (void)fclose(file);
}

/* Appends the given times of a problem to `count` measured cases, up to `most` in all. If
 * `general`, includes those of alpha A x + beta y. Returns the new number of cases. The caller
 * sets their limits. */
static int bench_given_add(bench_given_list *list, const bench_problem *p, int general,
                           bench_case *cases, int count, int most) {
  int i, round;
  for (i = 0; i < list->count; i++) {
    bench_given *g = &list->lines[i];
    bench_case *c = &cases[count];
    if (g->single != p->single || strcmp(g->matrix, p->m->name) != 0 ||
        (g->kind == BENCH_GENERAL && !general)) {
      continue;
    }
    if (count == most) {
      bench_die("%s:%d: more than %d rows for one table", list->path, g->line, most);
    }
    memset(c, 0, sizeof *c);
    (void)snprintf(c->name, sizeof c->name, "%s%s", g->rival,
                   g->kind == BENCH_GENERAL ? "-ab" : "");
    c->kind = g->kind;
    c->rival = c->given = c->good = 1;
    c->of = -1;
    c->rounds = BENCH_ROUNDS;
    for (round = 0; round < BENCH_ROUNDS; round++) {
      c->samples[round] = g->seconds;
    }
    c->bytes = bench_csr_bytes(p, g->kind);
    bench_evaluate(c);
    g->used = 1;
    count++;
  }
  return count;
}

/* Reports lines that belong to no table, and releases the list. */
static void bench_given_end(bench_given_list *list) {
  int i;
  for (i = 0; i < list->count; i++) {
    const bench_given *g = &list->lines[i];
    if (!g->used) {
      (void)printf("%s:%d: no table of this run is of %s in %s, %s\n", list->path, g->line,
                   g->matrix, g->single ? "f32" : "f64",
                   g->kind == BENCH_PLAIN ? "plain" : "general");
    }
  }
  free(list->lines);
}

#endif
