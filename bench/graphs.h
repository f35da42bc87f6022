/* Graphs of strings and of web pages. */
#ifndef BENCH_GRAPHS_H
#define BENCH_GRAPHS_H
#include "builders.h"
#include <math.h>

/* ---- kmer -------------------------------------------------------------------------------- */

/* Symmetric, like the de Bruijn graphs of genomes: nnz / 2.076 vertices in paths of 500 on
 * average (the edge to the next vertex is missing once in 500). Repeats join paths: the
 * vertices are paired at random, and 8% of the pairs are edges. Degrees 0 to 3, mean 2.076.
 * Labels are permuted at random, as by sorting or hashing k-mers. */
#define KMER_BREAK (1.0 / 500)
#define KMER_JOIN 0.08

typedef struct kmer {
  int64_t vertices;
  int bits;
  uint64_t labels, breaks, pairs, joins;
} kmer;

static int kmer_row(const void *parameters, int64_t row, int32_t *columns) {
  const kmer *k = (const kmer *)parameters;
  const int64_t place = bench_unpermute_below(k->labels, k->bits, k->vertices, row);
  const uint64_t pair = bench_permute(k->pairs, k->bits, (uint64_t)place);
  int64_t others[3];
  int count = 0, i;
  if (place > 0 && bench_uniform(k->breaks, (uint64_t)place) >= KMER_BREAK) {
    others[count++] = place - 1;
  }
  if (place + 1 < k->vertices && bench_uniform(k->breaks, (uint64_t)place + 1) >= KMER_BREAK) {
    others[count++] = place + 1;
  }
  if (bench_uniform(k->joins, pair / 2) < KMER_JOIN) {
    others[count] = (int64_t)bench_unpermute(k->pairs, k->bits, pair ^ 1);
    count += others[count] < k->vertices;
  }
  for (i = 0; i < count; i++) {
    columns[i] = (int32_t)bench_permute_below(k->labels, k->bits, k->vertices, others[i]);
  }
  return count;
}

static void bench_generate_kmer(bench_matrix *m, int64_t nnz, uint64_t seed) {
  kmer k;
  double mean = 2.0 - 2.0 * KMER_BREAK + KMER_JOIN;
  k.vertices = (int64_t)((double)nnz / mean + 0.5);
  k.vertices = k.vertices > 1 ? k.vertices : 2;
  k.bits = bench_bits(k.vertices);
  /* Partners beyond the last vertex do not exist. */
  mean -= KMER_JOIN * (1.0 - (double)k.vertices / (double)((int64_t)1 << k.bits));
  k.vertices = (int64_t)((double)nnz / mean + 0.5);
  k.vertices = k.vertices > 1 ? k.vertices : 2;
  k.bits = bench_bits(k.vertices);
  k.labels = bench_key(seed, 13);
  k.breaks = bench_key(seed, 14);
  k.pairs = bench_key(seed, 15);
  k.joins = bench_key(seed, 16);
  m->rows = m->cols = k.vertices;
  bench_build_rows(m, kmer_row, &k);
}

/* ---- web --------------------------------------------------------------------------------- */

/* Directed, nnz / 17.9 pages (8.0M for 143.5M nonzeros) in the order of their addresses, host
 * by host. The sizes of hosts are Pareto distributed with exponent 1.1, from 16 pages to a
 * fiftieth of all. A tenth of the pages have no links; the others' numbers of links are Pareto
 * distributed with exponent 1.75, up to BENCH_ROW_MOST. 30% of the links lead to pages at most
 * 32 away, 55% to pages of the same host with preference for its first ones (place u^3), and
 * 15% to other hosts with preference for popular ones (rank u^4 in a random order) and for
 * their first pages. Duplicates are dropped; the least number of links makes up for them. */
#define WEB_MEAN 17.9

typedef struct web {
  int64_t pages, hosts;
  int page_bits, host_bits;
  int32_t *start;   /* first page of each host, and the end */
  int32_t *host_of; /* host of each page */
  double least;     /* fewest links of a page that has any */
  uint64_t ranks, popular, links;
} web;

static int64_t web_host_size(const web *w, uint64_t key, int64_t host) {
  const double u = 1.0 - bench_uniform(key, (uint64_t)host);
  const double most = w->pages / 50 > 16 ? (double)w->pages / 50 : 16;
  const double size = 16.0 * pow(u, -1.0 / 1.1);
  return (int64_t)(size < most ? size : most);
}

static void web_hosts(web *w, uint64_t key) {
  int64_t page = 0;
  w->hosts = 0;
  w->start = (int32_t *)bench_allocate(w->pages / 16 + 2, sizeof *w->start);
  w->host_of = (int32_t *)bench_allocate(w->pages, sizeof *w->host_of);
  while (page < w->pages) {
    int64_t end = page + web_host_size(w, key, w->hosts);
    end = end < w->pages ? end : w->pages;
    w->start[w->hosts] = (int32_t)page;
    for (; page < end; page++) {
      w->host_of[page] = (int32_t)w->hosts;
    }
    w->hosts++;
  }
  w->start[w->hosts] = (int32_t)w->pages;
}

/* Returns a page of a host, with preference for its first ones. */
static int64_t web_page(const web *w, int64_t host, double u) {
  const int64_t size = w->start[host + 1] - w->start[host];
  return w->start[host] + (int64_t)(u * u * u * (double)size);
}

static int web_row(const void *parameters, int64_t row, int32_t *columns) {
  const web *w = (const web *)parameters;
  const int64_t host = w->host_of[row], first = w->start[host], end = w->start[host + 1];
  /* The pages divide [0, 1) evenly, so that each number of links has its exact frequency. */
  const double u = ((double)bench_permute_below(w->ranks, w->page_bits, w->pages, row) + 0.5) /
                   (double)w->pages;
  const double wish = u < 0.1 ? 0 : w->least * pow((1.0 - u) / 0.9, -1.0 / 1.75);
  const int count = (int)(wish < BENCH_ROW_MOST ? wish + 0.5 : BENCH_ROW_MOST);
  int i;
  for (i = 0; i < count; i++) {
    const uint64_t at = ((uint64_t)row * BENCH_ROW_MOST + (uint64_t)i) * 3;
    const double kind = bench_uniform(w->links, at), v = bench_uniform(w->links, at + 1);
    int64_t page;
    if (kind < 0.30) {
      page = row - 32 + (int64_t)(65.0 * v);
      page = page < first ? first : page >= end ? end - 1 : page;
    } else if (kind < 0.85) {
      page = web_page(w, host, v);
    } else {
      const int64_t rank = (int64_t)(v * v * v * v * (double)w->hosts);
      page = web_page(w, bench_permute_below(w->popular, w->host_bits, w->hosts, rank),
                      bench_uniform(w->links, at + 2));
    }
    columns[i] = (int32_t)page;
  }
  return count;
}

/* Chooses all parameters. The caller frees w->start and w->host_of. */
static void web_size(bench_matrix *m, web *w, int64_t nnz, uint64_t seed) {
  const double rows = (double)nnz / WEB_MEAN;
  int round;
  w->pages = rows > 1 ? (int64_t)(rows + 0.5) : 1;
  w->page_bits = bench_bits(w->pages);
  web_hosts(w, bench_key(seed, 17));
  w->host_bits = bench_bits(w->hosts);
  w->ranks = bench_key(seed, 18);
  w->popular = bench_key(seed, 19);
  w->links = bench_key(seed, 23);
  w->least = 10;
  m->rows = m->cols = w->pages;
  for (round = 0; round < 6; round++) {
    const double mean = bench_mean_length(m, web_row, w);
    w->least *= (double)nnz / (double)w->pages / (mean > 1 ? mean : 1);
    w->least = w->least > 100 ? 100 : w->least;
  }
}

static void bench_generate_web(bench_matrix *m, int64_t nnz, uint64_t seed) {
  web w;
  web_size(m, &w, nnz, seed);
  bench_build_rows(m, web_row, &w);
  free(w.start);
  free(w.host_of);
}

#endif
