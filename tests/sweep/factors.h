/* The features of the public interface as a table of factors, the manual's rules for combining
 * them, and a greedy generator of combinations that cover every pair of levels (Cohen, Dalal,
 * Fredman, Patton: The AETG system, IEEE Transactions on Software Engineering 23, 1997).
 * Include merbit.h first. */
#ifndef TEST_SWEEP_FACTORS_H
#define TEST_SWEEP_FACTORS_H
#include "support/matrices.h"
#include "support/unknown.h"

enum { MOST_LEVELS = 32 }; /* at least the number of methods that are not studies */

enum {
  METHOD,
  KIND,
  FORMAT,
  OFFSETS,
  INDICES,
  BASE,
  SYMMETRY,
  VALUES,
  SOURCE,
  MEMORY,
  VECTORS,
  SEMIRING,
  EPILOGUE,
  ORDER,
  OPERATION,
  SCALARS,
  SCALARS_AT,
  UPDATE,
  WORKSPACE,
  STREAM,
  DETERMINISTIC,
  THREADS,
  CALLS,
  NUMA,
  CHANGING,
  UNCHECKED,
  BLOCK_THREADS,
  X,
  SHAPE,
  FACTORS
};

typedef struct factor {
  const char *name;
  const char *levels[MOST_LEVELS]; /* the first is the default; NULL ends them */
} factor;

static const factor factors[FACTORS] = {
    {"method", {"AUTO"}}, /* and all others except studies, numbered as merbit_method */
    {"type", {"f64", "f32", "f32 in f64", "f16", "bf16", "c64", "c128"}},
    {"format", {"CSR", "COO", "BSR 2 x 3", "BSR 4 x 1 column-major"}},
    {"offsets", {"32", "64"}},
    {"indices", {"32", "64"}},
    {"base", {"0", "1"}},
    {"symmetry",
     {"none", "symmetric lower", "symmetric upper", "skew lower", "skew upper",
      "hermitian lower"}},
    {"values", {"any", "pattern", "one", "by column", "by row", "table", "eighths"}},
    {"source",
     {"arrays", "device arrays", "matrix", "blocks", "file", "stream", "transpose",
      "matrix of device arrays"}},
    {"vector memory", {"default", "HOST", "DEVICE"}},
    {"vectors",
     {"1", "2 column-major", "3 row-major", "4 row-major, gaps", "8 column-major, gaps"}},
    {"semiring", {"plus-times", "min-plus", "max-times", "or-and", "custom"}},
    {"epilogue", {"none", "v0 - ax", "dot", "function"}},
    {"reordering", {"none", "degree", "RCM"}},
    {"operation", {"N", "T", "H"}},
    {"scalars", {"none", "alpha", "both", "alpha 0", "beta 1", "beta 0"}},
    {"scalar memory", {"default", "DEVICE"}},
    {"update", {"none", "HOST", "DEVICE", "DEFAULT", "twice", "kept"}},
    {"workspace", {"plan's", "own"}},
    {"stream", {"NULL", "user's", "graph"}},
    {"deterministic", {"0", "1"}},
    {"threads", {"1", "2", "5", "5 bound"}},
    {"expected calls", {"0", "1", "8", "5000"}},
    {"numa", {"0", "1"}},
    {"changing values", {"0", "1"}},
    {"unchecked", {"0", "1"}},
    {"block threads", {"0", "64", "256"}},
    {"x", {"tame", "wild"}},
    {"shape",
     {"2 x 3", "0 x 5", "5 x 0", "1 x 1 five duplicates", "tridiagonal", "band of 27", "wide",
      "tall", "first rows empty", "one row, 447", "one column, duplicates", "long row amid",
      "power law, small", "descending columns", "duplicates in few columns", "448 empty rows"}},
};

/* Returns the number of levels of a factor. */
static int factor_levels(int f) {
  int count = 0;
  if (f == METHOD) {
    return (int)unknown_method();
  }
  while (count < MOST_LEVELS && factors[f].levels[count] != NULL) {
    count++;
  }
  return count;
}

/* Returns the name of a level. */
TEST_UNUSED static const char *factor_level(int f, int level) {
  return f == METHOD ? mbi_method_identifier((merbit_method)level) : factors[f].levels[level];
}

typedef struct combination { /* a level for each factor */
  int at[FACTORS];
} combination;

/* Writes the levels that are not defaults. */
TEST_UNUSED static const char *combination_text(const combination *c) {
  static char text[1024];
  size_t used = 0;
  int f;
  text[0] = '\0';
  for (f = 0; f < FACTORS; f++) {
    if (c->at[f] != 0 && used < sizeof text) {
      used +=
          (size_t)snprintf(text + used, sizeof text - used, "%s%s = %s", used > 0 ? "; " : "",
                           factors[f].name, factor_level(f, c->at[f]));
    }
  }
  return text;
}

/* ---- The manual's rules for combinations ------------------------------------------------- */

static int combination_has_device_arrays(const combination *c) {
  return c->at[SOURCE] == 1;
}

/* Returns whether the plan's view gives one triangle. */
static int combination_is_triangle(const combination *c) {
  const int source = c->at[SOURCE];
  return c->at[SYMMETRY] != 0 && (source <= 1 || source == 4 || source == 5);
}

/* Returns whether the plan's view consists of blocks. */
static int combination_is_blocks(const combination *c) {
  return c->at[SOURCE] == 3 || (c->at[SOURCE] <= 1 && c->at[FORMAT] >= 2);
}

/* Returns whether a plan of this method computes on CUDA if the context does. */
static int combination_on_cuda(const combination *c, int cuda) {
  return cuda && mbi_method_runs((merbit_method)c->at[METHOD], 1);
}

static int combination_method_taken(const combination *c, int on_cuda) {
  const int method = c->at[METHOD];
  const int plain = c->at[KIND] <= 1, many = c->at[VECTORS] != 0;
  const int takes = mbi_method_find((merbit_method)method)->takes;
  if (!on_cuda && !mbi_method_runs((merbit_method)method, 0)) {
    return 0;
  }
  if ((!plain && (takes & MBI_TAKES_TYPES) == 0) ||
      (c->at[SEMIRING] != 0 && (takes & MBI_TAKES_SEMIRINGS) == 0)) {
    return 0;
  }
  if (method == MERBIT_METHOD_SYMMETRIC && (!combination_is_triangle(c) || c->at[ORDER] != 0)) {
    return 0;
  }
  return many ? method == MERBIT_METHOD_AUTO || (method == MERBIT_METHOD_MANY && on_cuda) ||
                    (method == MERBIT_METHOD_MERGE && !on_cuda)
              : method != MERBIT_METHOD_MANY;
}

/* Returns whether the matrix can be made as the factor "source" says. */
static int combination_source_taken(const combination *c, int cuda) {
  const int source = c->at[SOURCE], kind = c->at[KIND];
  const int short_values = kind == 3 || kind == 4, pattern = c->at[VALUES] == 1;
  if (c->at[SYMMETRY] != 0 && c->at[FORMAT] >= 2) {
    return 0;
  }
  if (pattern && (c->at[SYMMETRY] == 3 || c->at[SYMMETRY] == 4)) {
    return 0; /* nothing to negate */
  }
  switch (source) {
  case 1:
  case 7:
    return cuda;
  case 3:
    return kind <= 2;
  case 4:
  case 5:
    return !short_values;
  default:
    return 1;
  }
}

/* Returns whether the interface accepts a combination; the context is on CUDA or on the CPU. */
static int combination_taken(const combination *c, int cuda) {
  const int on_cuda = combination_on_cuda(c, cuda), many = c->at[VECTORS] != 0;
  const int blocks = combination_is_blocks(c), semiring = c->at[SEMIRING] != 0;
  if (!combination_source_taken(c, cuda) || !combination_method_taken(c, on_cuda)) {
    return 0;
  }
  if (!on_cuda && (combination_has_device_arrays(c) || c->at[MEMORY] == 2 ||
                   c->at[SCALARS_AT] == 1 || c->at[UPDATE] == 2)) {
    return 0;
  }
  if (semiring && (c->at[KIND] > 1 || blocks || many || c->at[EPILOGUE] != 0)) {
    return 0;
  }
  if (many && (c->at[KIND] > 1 || c->at[EPILOGUE] != 0)) {
    return 0;
  }
  if (c->at[EPILOGUE] != 0 && (c->at[KIND] >= 5 || (on_cuda && c->at[MEMORY] == 1))) {
    return 0;
  }
  if (c->at[ORDER] != 0 &&
      (blocks || c->at[FORMAT] >= 2 || c->at[METHOD] == MERBIT_METHOD_BSR)) {
    return 0;
  }
  return 1;
}

/* ---- Pairs ------------------------------------------------------------------------------- */

typedef struct pairs {
  int cuda;
  uint64_t random;
  unsigned char seen[FACTORS][MOST_LEVELS][FACTORS][MOST_LEVELS];
  long left;       /* pairs that are neither covered nor impossible */
  long impossible; /* in no accepted combination */
} pairs;

static int pairs_new(const pairs *p, const combination *c, const int *fixed, int f) {
  int other, count = 0;
  for (other = 0; other < FACTORS; other++) {
    count += other != f && fixed[other] && p->seen[f][c->at[f]][other][c->at[other]] == 0;
  }
  return count;
}

static void pairs_mark(pairs *p, int f, int a, int g, int b, int mark) {
  p->left -= p->seen[f][a][g][b] == 0;
  p->seen[f][a][g][b] = p->seen[g][b][f][a] = (unsigned char)mark;
}

/* Begins a new cover: every pair is wanted. */
TEST_UNUSED static void pairs_begin(pairs *p, int cuda, uint64_t seed) {
  int f, g;
  memset(p, 0, sizeof *p);
  p->cuda = cuda;
  p->random = seed * UINT64_C(0x9e3779b97f4a7c15);
  for (f = 0; f < FACTORS; f++) {
    for (g = 0; g < f; g++) {
      p->left += factor_levels(f) * factor_levels(g);
    }
  }
}

/* Makes an accepted combination of defaults and the two fixed levels, changing one or two
 * others if necessary. */
static int pairs_repair(pairs *p, combination *c, int *fixed) {
  const combination wanted = *c;
  int pass, f, g, a, b;
  if (combination_taken(c, p->cuda)) {
    return 1;
  }
  for (pass = 0; pass < 2; pass++) {
    for (f = 0; f < FACTORS; f++) {
      const int levels = fixed[f] ? 0 : factor_levels(f);
      for (a = 1; a < levels; a++) {
        for (g = pass == 0 ? FACTORS - 1 : f + 1; g < FACTORS; g++) {
          const int others = pass == 0 || fixed[g] ? 1 : factor_levels(g);
          for (b = 0; b < others; b++) {
            *c = wanted;
            c->at[f] = a;
            if (pass == 1 && !fixed[g]) {
              c->at[g] = b;
            }
            if (combination_taken(c, p->cuda)) {
              fixed[f] = 1;
              fixed[g] |= pass == 1;
              return 1;
            }
          }
        }
      }
    }
  }
  *c = wanted;
  return 0;
}

/* Fills the factors that are not fixed, in random order, each with the level that covers the
 * most new pairs. */
static void pairs_fill(pairs *p, combination *c, int *fixed) {
  int order[FACTORS], i, level;
  for (i = 0; i < FACTORS; i++) {
    const int j = (int)test_below(&p->random, i + 1);
    order[i] = order[j];
    order[j] = i;
  }
  for (i = 0; i < FACTORS; i++) {
    const int f = order[i], levels = factor_levels(f),
              first = (int)test_below(&p->random, levels);
    int best = -1, chosen = c->at[f];
    for (level = 0; !fixed[f] && level < levels; level++) {
      int gain;
      c->at[f] = (first + level) % levels;
      gain = combination_taken(c, p->cuda) ? pairs_new(p, c, fixed, f) : -1;
      if (gain > best) {
        best = gain;
        chosen = c->at[f];
      }
    }
    c->at[f] = chosen;
    fixed[f] = 1;
  }
}

/* Finds the next combination with a wanted pair. Returns 0 if none is left, 1 for a combination
 * that must be accepted, and -1 for a pair that must be refused, with defaults otherwise. */
TEST_UNUSED static int pairs_next(pairs *p, combination *c) {
  int f, g, a, b, fixed[FACTORS];
  int64_t skip;
  if (p->left == 0) {
    return 0;
  }
  skip = test_below(&p->random, p->left);
  memset(c, 0, sizeof *c);
  memset(fixed, 0, sizeof fixed);
  for (f = 0; f < FACTORS; f++) {
    for (g = 0; g < f; g++) {
      const int levels = factor_levels(f), others = factor_levels(g);
      for (a = 0; a < levels; a++) {
        for (b = 0; b < others; b++) {
          if (p->seen[f][a][g][b] != 0 || skip-- > 0) {
            continue;
          }
          c->at[f] = a;
          c->at[g] = b;
          fixed[f] = fixed[g] = 1;
          if (!pairs_repair(p, c, fixed)) {
            pairs_mark(p, f, a, g, b, 2);
            p->impossible++;
            return -1;
          }
          pairs_fill(p, c, fixed);
          for (f = 0; f < FACTORS; f++) {
            for (g = 0; g < f; g++) {
              pairs_mark(p, f, c->at[f], g, c->at[g], 1);
            }
          }
          return 1;
        }
      }
    }
  }
  return 0;
}

#endif /* TEST_SWEEP_FACTORS_H */
