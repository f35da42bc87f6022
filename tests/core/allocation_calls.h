/* The calls of test_allocation.c. `prepare` and the checks of the result have enough memory;
 * the call itself does not. A call without an out pointer clears world.out. Include merbit.h
 * and cmocka.h first. */
#ifndef TEST_CORE_ALLOCATION_CALLS_H
#define TEST_CORE_ALLOCATION_CALLS_H
#include "core/allocation_plans.h"

static merbit_status names(world *w) {
  (void)w;
  assert_string_equal(merbit_version(), MERBIT_VERSION_STRING);
  assert_string_equal(merbit_status_name(MERBIT_TOO_LARGE), "MERBIT_TOO_LARGE");
  assert_true(strlen(merbit_status_text(MERBIT_TOO_LARGE)) > 9);
  assert_string_equal(merbit_stop_name(MERBIT_STOP_CAP), "MERBIT_STOP_CAP");
  return MERBIT_OK;
}

/* Functions of numbers and structs that need no context. */
static merbit_status plain_values(world *w) {
  (void)w;
  assert_int_equal(merbit_context_defaults().side, MERBIT_SIDE_AUTO);
  assert_int_equal(merbit_bsr_defaults().block_rows, 0);
  assert_int_equal(merbit_read_defaults().keep_half, 0);
  assert_int_equal(merbit_plan_defaults().vectors, 0);
  assert_int_equal(merbit_pagerank_defaults().max_iterations, 0);
  assert_int_equal(merbit_solver_defaults().restart, 0);
  assert_int_equal(merbit_preconditioner_defaults().degree, 0);
  assert_int_equal(merbit_eigen_defaults().count, 0);
  assert_int_equal(merbit_coo(2, 3, 0, NULL, NULL, NULL).format, MERBIT_COO);
  assert_true(merbit_f32_from_f16(merbit_f16_from_f32(1.5f)) == 1.5f);
  assert_true(merbit_f32_from_bf16(merbit_bf16_from_f32(1.5f)) == 1.5f);
  return MERBIT_OK;
}

/* The CPU has no cubins. jit/test_cache_pack.c tests the allocations of both calls. */
static merbit_status no_cubins(world *w) {
  merbit_context_desc desc = merbit_context_defaults();
  desc.cache_dir = "";
  assert_int_equal(merbit_cache_export(w->context, "unused"), MERBIT_NO_DEVICE);
  assert_int_equal(merbit_cache_import(&desc, "unused", NULL), MERBIT_NOT_SUPPORTED);
  return MERBIT_OK;
}

static void without_context(world *w) {
  merbit_context_destroy(w->context);
  w->context = NULL;
}

static merbit_status context_create(world *w) {
  merbit_context_desc desc = cpu_desc(NULL, 2);
  desc.allocator.allocate = cpu_allocate;
  desc.allocator.release = cpu_release;
  desc.allocator.user = &w->memory;
  return merbit_context_create(&desc, (merbit_context **)&w->out, &w->error);
}

static merbit_status context_create_auto(world *w) {
  merbit_context_desc desc = cpu_desc(NULL, 2);
  desc.side = MERBIT_SIDE_AUTO;
  desc.nvrtc_path = "/nonexistent/libnvrtc.so"; /* so that a GPU does not help */
  desc.allocator.allocate = cpu_allocate;
  desc.allocator.release = cpu_release;
  desc.allocator.user = &w->memory;
  return merbit_context_create(&desc, (merbit_context **)&w->out, &w->error);
}

static void context_made(world *w) {
  merbit_context_destroy((merbit_context *)w->out);
}

static merbit_status context_destroy(world *w) {
  without_context(w);
  return MERBIT_OK;
}

static merbit_status context_tells(world *w) {
  merbit_context_info info;
  char sentence[MERBIT_MESSAGE_SIZE];
  assert_int_equal(merbit_last_error(w->context, sentence, sizeof sentence), MERBIT_OK);
  return merbit_context_get_info(w->context, &info);
}

static void with_buffer(world *w) {
  assert_int_equal(merbit_buffer_create(w->context, 3, &w->buffer), MERBIT_OK);
  assert_int_equal(merbit_buffer_upload(w->buffer, 0, "abc", 3), MERBIT_OK);
}

static merbit_status buffer_create(world *w) {
  return merbit_buffer_create(w->context, 77, (merbit_buffer **)&w->out);
}

static void buffer_made(world *w) {
  memset(merbit_buffer_pointer((merbit_buffer *)w->out), 1, 77);
  merbit_buffer_destroy((merbit_buffer *)w->out);
}

static merbit_status buffer_use(world *w) {
  char back[3];
  assert_int_equal(merbit_buffer_upload(w->buffer, 1, "x", 1), MERBIT_OK);
  assert_int_equal(merbit_buffer_download(w->buffer, 0, back, 3), MERBIT_OK);
  assert_memory_equal(back, "axc", 3);
  assert_memory_equal(merbit_buffer_pointer(w->buffer), "axc", 3);
  merbit_buffer_destroy(w->buffer);
  w->buffer = NULL;
  return MERBIT_OK;
}

static merbit_status view_check(world *w) {
  return merbit_view_check(w->context, &w->view);
}

static merbit_status matrix_create(world *w) {
  return merbit_matrix_create(w->context, &w->view, (merbit_matrix **)&w->out);
}

static merbit_status matrix_transpose(world *w) {
  return merbit_matrix_transpose(w->context, &w->view, (merbit_matrix **)&w->out);
}

static merbit_status matrix_create_bsr(world *w) {
  merbit_bsr_desc desc;
  memset(&desc, 0, sizeof desc);
  desc.block_rows = 3;
  desc.block_cols = 2;
  return merbit_matrix_create_bsr(w->context, &w->view, &desc, (merbit_matrix **)&w->out);
}

static merbit_status view_find_blocks(world *w) {
  merbit_block_info info;
  const merbit_status status = merbit_view_find_blocks(w->context, &w->view, NULL, &info);
  assert_int_equal(info.block_rows, status == MERBIT_OK);
  w->out = NULL;
  return status;
}

static void matrix_made(world *w) {
  world_expect_matrix(w, (merbit_matrix *)w->out, 0);
  merbit_matrix_destroy((merbit_matrix *)w->out);
}

static void transpose_made(world *w) {
  world_expect_matrix(w, (merbit_matrix *)w->out, 1);
  merbit_matrix_destroy((merbit_matrix *)w->out);
}

static void with_matrix(world *w) {
  assert_int_equal(merbit_matrix_create(w->context, &w->view, &w->matrix), MERBIT_OK);
}

static merbit_status matrix_use(world *w) {
  assert_int_equal(merbit_matrix_view(w->matrix).rows, w->f->n);
  merbit_matrix_destroy(w->matrix);
  w->matrix = NULL;
  return MERBIT_OK;
}

static void with_file(world *w) {
  world_file(w, w->f->text, w->f->text_size);
}

static merbit_status read_file(world *w) {
  return merbit_matrix_read_file(w->context, w->path, NULL, (merbit_matrix **)&w->out);
}

static merbit_status read_memory(world *w) {
  return merbit_matrix_read_memory(w->context, w->f->text, w->f->text_size, NULL,
                                   (merbit_matrix **)&w->out);
}

typedef struct source {
  const fixture *f;
  size_t done;
} source;

static int64_t in_pieces(void *user, void *data, size_t size) {
  source *s = (source *)user;
  size_t piece = s->f->text_size - s->done;
  piece = piece > 100 ? 100 : piece;
  piece = piece > size ? size : piece;
  memcpy(data, s->f->text + s->done, piece);
  s->done += piece;
  return (int64_t)piece;
}

static merbit_status read_stream(world *w) {
  source s = {w->f, 0};
  return merbit_matrix_read_stream(w->context, in_pieces, &s, NULL, (merbit_matrix **)&w->out);
}

static void with_old_file(world *w) {
  world_file(w, "old", 3);
}

static merbit_status write_file(world *w) {
  w->out = NULL;
  return merbit_matrix_write_file(w->context, &w->view, w->path);
}

static void read_back(const world *w, char **text, size_t *size) {
  FILE *file = fopen(w->path, "rb");
  assert_non_null(file);
  *text = (char *)test_allocate(1 << 20, 1);
  *size = fread(*text, 1, 1 << 20, file);
  assert_int_equal(fclose(file), 0);
}

static void old_file_stands(world *w) {
  char *text;
  size_t size;
  read_back(w, &text, &size);
  assert_int_equal(size, 3);
  assert_memory_equal(text, "old", 3);
  free(text);
}

static void file_written(world *w) {
  char *text;
  size_t size;
  read_back(w, &text, &size);
  world_expect_text(w, text, size);
  free(text);
}

static int take(void *user, const void *data, size_t size) {
  world *w = (world *)user;
  w->sink = (char *)realloc(w->sink, w->sink_size + size + 1);
  assert_non_null(w->sink);
  memcpy(w->sink + w->sink_size, data, size);
  w->sink_size += size;
  return 0;
}

static merbit_status write_stream(world *w) {
  w->out = NULL;
  w->sink_size = 0;
  return merbit_matrix_write_stream(w->context, &w->view, take, w);
}

static void stream_written(world *w) {
  world_expect_text(w, w->sink, w->sink_size);
}

static merbit_status workspace_create(world *w) {
  return merbit_workspace_create(w->plan, (merbit_workspace **)&w->out);
}

static void workspace_made(world *w) {
  world_expect_product(w, w->plan, (merbit_workspace *)w->out, 0, 1);
  merbit_workspace_destroy((merbit_workspace *)w->out);
}

static void with_workspace(world *w) {
  with_plan(w);
  assert_int_equal(merbit_workspace_create(w->plan, &w->workspace), MERBIT_OK);
}

static merbit_status plan_use(world *w) {
  merbit_plan_info info;
  char line[200];
  assert_int_equal(merbit_plan_get_info(w->plan, &info), MERBIT_OK);
  assert_true(merbit_plan_describe(w->plan, line, sizeof line) > 9);
  world_expect_product(w, w->plan, w->workspace, 0, 1);
  merbit_workspace_destroy(w->workspace);
  merbit_plan_destroy(w->plan);
  w->workspace = NULL;
  w->plan = NULL;
  return MERBIT_OK;
}

static merbit_status plan_forecast(world *w) {
  merbit_plan_memory m;
  return merbit_plan_forecast(w->context, &w->view, NULL, &m);
}

static merbit_status spmv(world *w) {
  world_expect_product(w, w->plan, NULL, 0, 1);
  return MERBIT_OK;
}

static merbit_status pagerank(world *w) {
  w->out = NULL;
  memset(&w->result, 0xff, sizeof w->result);
  return merbit_pagerank(w->context, &w->view, NULL, w->ranks, &w->result);
}

static void with_ranks(world *w) {
  w->ranks = (double *)test_allocate(w->f->n, 8);
}

/* Makes a pattern without duplicates, for which values are made. */
static void with_distinct_edges(world *w) {
  with_ranks(w);
  with_matrix(w);
  w->view = merbit_matrix_view(w->matrix);
  w->view.values = NULL;
}

static void no_result(world *w) {
  assert_int_equal(w->result.iterations, 0);
}

static void ranks_right(world *w) { /* Expects the ranks of a context with enough memory. */
  double *right = (double *)test_allocate(w->f->n, 8);
  merbit_context *context = cpu_open(NULL, 2);
  assert_int_equal(merbit_pagerank(context, &w->view, NULL, right, NULL), MERBIT_OK);
  assert_memory_equal(w->ranks, right, (size_t)w->f->n * 8);
  assert_true(w->result.iterations > 3);
  merbit_context_destroy(context);
  free(right);
}

/* A plan that did without a form rounds its sums differently. If an iteration changes ranks by
 * d, they are off by at most 0.85 / 0.15 d; both changed by 1e-10 or less. */
static void ranks_near(world *w) {
  double *right = (double *)test_allocate(w->f->n, 8), apart = 0;
  merbit_context *context = cpu_open(NULL, 2);
  int64_t i;
  assert_int_equal(merbit_pagerank(context, &w->view, NULL, right, NULL), MERBIT_OK);
  for (i = 0; i < w->f->n; i++) {
    apart += fabs(w->ranks[i] - right[i]);
  }
  assert_true(apart <= 2 * 0.85 / 0.15 * 1e-10);
  assert_int_equal(w->result.stop, MERBIT_STOP_CONVERGED);
  merbit_context_destroy(context);
  free(right);
}

#endif /* TEST_CORE_ALLOCATION_CALLS_H */
