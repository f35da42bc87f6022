/* One combination from the matrix to the last product, each result compared with a naive one.
 * Include merbit.h and cmocka.h first. */
#ifndef TEST_SWEEP_RUN_H
#define TEST_SWEEP_RUN_H
#include "sweep/product.h"

/* Permutes x or y into the plan's order, or y back, with the library if there is one vector. */
static void *run_reorder(run *r, void *at, size_t bytes, int back, void *to) {
  void *moved;
  if (r->order == NULL || r->vectors > 1) {
    return at;
  }
  moved = back ? to : place_put(r->device, NULL, bytes);
  sweep_done(r->p.context,
             back ? merbit_plan_restore(r->plan, at, moved, NULL)
                  : merbit_plan_reorder(r->plan, at, moved, NULL),
             "merbit_plan_reorder");
  return moved;
}

/* Updates values as the factor "update" says. Returns whether they were accepted. */
static int run_update(run *r, int taken) {
  problem *p = &r->p;
  const int how = p->c->at[UPDATE], keep = places.count;
  const size_t bytes = (size_t)mbi_view_values(&p->host) * typed_size(p->kind.values);
  const int device = how == 2 ? r->cuda : how == 3 && p->view.memory == MERBIT_MEMORY_DEVICE;
  merbit_view other = p->host;
  void *values = products_exact((int64_t)bytes, 1), *from;
  merbit_plan_info info;
  long without = 0; /* the driver's bytes without the plan's */
  long host;        /* the allocator's */
  merbit_status status;
  problem_values(p, how == 5 ? p->c->at[VALUES] : 0, values);
  from = place_put(device, values, bytes);
  sweep_done(p->context, merbit_plan_get_info(r->plan, &info), "merbit_plan_get_info");
  host = sweep.memory.bytes - (long)info.host_bytes - r->host_slack;
  if (sweep.driver != NULL) {
    without = sweep.driver->bytes - (long)(info.device_bytes + (int64_t)r->slack);
  }
  status = merbit_plan_update_values(r->plan, from,
                                     how == 2   ? MERBIT_MEMORY_DEVICE
                                     : how == 3 ? MERBIT_MEMORY_DEFAULT
                                                : MERBIT_MEMORY_HOST);
  if (status == MERBIT_OK) {
    run_count(r, without, host, 1);
    if (sweep.driver != NULL && r->cuda && sweep.driver->unwaited > 0) {
      sweep_fail("new values were not waited for");
    }
  }
  if (!device) {
    memset(from, 0xff, bytes); /* they were copied */
  } else if (status == MERBIT_OK && !r->late) {
    place *last = &places.all[places.count - 1];
    void *spoilt = products_exact((int64_t)bytes, 1);
    memset(spoilt, 0xff, bytes);
    sweep_done(p->context, merbit_buffer_upload(last->buffer, 0, spoilt, bytes),
               "merbit_buffer_upload");
    free(spoilt);
  }
  place_release(r->late ? places.count : keep);
  if (p->host.values == NULL) {
    if (status != MERBIT_INVALID_ARGUMENT) {
      sweep_fail("values for a pattern: %s", merbit_status_name(status));
    }
    sweep_refused(p->context, status, "values for a pattern");
  } else if (status != MERBIT_OK) {
    if (taken) {
      sweep_done(p->context, status, "merbit_plan_update_values");
    }
    sweep_refused(p->context, status, "merbit_plan_update_values");
  } else {
    other.values = values;
    entries_free(&p->e);
    entries_of_view(&other, &p->e);
    free(r->latest);
    r->latest = values;
    values = NULL;
  }
  free(values);
  return status == MERBIT_OK;
}

/* Waits for the default stream's work on vectors in the plan's order. */
static void run_settle(run *r) {
  if (r->cuda) {
    sweep_done(r->p.context, mbi_device_enter(r->p.context), "the context");
    sweep_done(r->p.context, mbi_device_synchronize(r->p.context, NULL), "the default stream");
    mbi_device_leave(r->p.context);
  }
}

/* Computes one product, and checks it unless it is refused. Returns whether it was accepted. */
static int run_product(run *r, int taken) {
  const size_t size = typed_size(r->p.kind.sums);
  const int keep = places.count, device_scalars = r->p.c->at[SCALARS_AT] && r->cuda;
  const int64_t *order = r->order;
  int64_t rows, cols;
  size_t x_bytes, y_bytes, i;
  char *packed_x, *packed_y;
  double extra[4];
  void *at[7], *plain_x, *plain_y;
  merbit_status status;
  product q;
  run_operation(r);
  rows = r->op.rows;
  cols = r->op.cols;
  r->ldx = (r->by_rows ? r->vectors : cols) + r->gap;
  r->ldy = (r->by_rows ? r->vectors : rows) + r->gap + r->gap / 2;
  x_bytes = (size_t)run_extent(r, cols, r->ldx) * size;
  y_bytes = (size_t)run_extent(r, rows, r->ldy) * size;
  packed_x = (char *)test_allocate((int64_t)x_bytes, 1);
  packed_y = (char *)test_allocate((int64_t)y_bytes, 1);
  product_scalars(r, &q);
  product_fill(r, &q);
  memset(packed_x, 0x5a, x_bytes);
  memset(packed_y, 0x5a, y_bytes);
  r->order = r->vectors > 1 ? r->order : NULL; /* the library permutes a single vector */
  run_move(r, cols, r->ldx, q.x, packed_x, 1);
  run_move(r, rows, r->ldy, q.y0, packed_y, 1);
  plain_x = place_put(r->device, packed_x, x_bytes);
  plain_y = place_put(r->device, packed_y, y_bytes);
  r->order = (int64_t *)(uintptr_t)order;
  at[0] = run_reorder(r, plain_x, x_bytes, 0, NULL);
  at[1] = run_reorder(r, plain_y, y_bytes, 0, NULL);
  at[2] = q.given & 1 ? place_put(device_scalars, q.alpha, size) : NULL;
  at[3] = q.given & 2 ? place_put(device_scalars, q.beta, size) : NULL;
  at[4] = at[5] = at[6] = NULL;
  if (r->p.c->at[EPILOGUE] != 0) {
    const int32_t skip = q.skip > 0;
    extra[0] = q.s0;
    extra[1] = q.sums[0];
    extra[2] = q.sums[1];
    extra[3] = 0;
    memcpy(&extra[3], &skip, sizeof skip);
    at[4] = run_reorder(r, place_put(r->device, q.v0, (size_t)rows * size), (size_t)rows * size,
                        0, NULL);
    at[5] = run_reorder(r, place_put(r->device, q.v1, (size_t)rows * size), (size_t)rows * size,
                        0, NULL);
    at[6] = place_put(r->device, extra, sizeof extra);
  }
  run_settle(r);
  if (r->late) { /* only the call itself waits between new values and their product */
    (void)run_update(r, taken);
    r->late = 0;
    run_operation(r);
  }
  status = product_on_stream(r, &q, at);
  if (status == MERBIT_OK) {
    (void)run_reorder(r, at[1], y_bytes, 1, plain_y);
    place_get(plain_y, packed_y);
    r->order = r->vectors > 1 ? r->order : NULL;
    run_move(r, rows, r->ldy, q.y, packed_y, 0);
    r->order = (int64_t *)(uintptr_t)order;
    if (r->p.c->at[EPILOGUE] != 0) {
      place_get(at[6], extra);
      q.sums[0] = extra[1];
      q.sums[1] = extra[2];
    }
    for (i = 0; r->gap > 0 && i < y_bytes; i++) {
      const int64_t within = (int64_t)(i / size) % r->ldy;
      if (within >= (r->by_rows ? r->vectors : rows) && packed_y[i] != 0x5a) {
        sweep_fail("a gap of Y was written");
      }
    }
    product_check(r, &q);
    if (r->kept != NULL) {
      memcpy(r->kept, q.y, (size_t)(rows * r->vectors) * size);
    }
  } else if (taken) {
    sweep_done(r->p.context, status, "the product");
  } else {
    sweep_refused(r->p.context, status, "the product");
  }
  free(packed_x);
  free(packed_y);
  free(q.x);
  free(q.y0);
  free(q.y);
  free(q.v0);
  free(q.v1);
  place_release(keep);
  return status == MERBIT_OK;
}

/* ---- A combination ----------------------------------------------------------------------- */

static int run_products(run *r, int taken) {
  int times = 0;
  if (!run_product(r, taken) || !run_product(r, taken)) {
    return 0;
  }
  if (r->p.c->at[UPDATE] != 0) {
    for (times = 0; times < 1 + (r->p.c->at[UPDATE] == 4); times++) {
      r->late = taken && r->p.c->at[STREAM] == 1;
      if (!r->late && !run_update(r, taken)) {
        return taken; /* a pattern */
      }
      if (!run_product(r, taken)) {
        return 0;
      }
    }
  }
  return run_product(r, taken);
}

/* Runs a combination; `taken` 0: part of it must be refused. */
TEST_UNUSED static void run_combination(const combination *c, uint64_t seed, int taken) {
  static const int threads[] = {1, 2, 5, 5};
  run r;
  merbit_status status;
  char line[1024];
  int went;
  long before, host;
  memset(&r, 0, sizeof r);
  r.p.c = c;
  r.p.random = seed;
  r.p.context = places.context = sweep_context(threads[c->at[THREADS]], c->at[THREADS] == 3);
  r.cuda = combination_on_cuda(c, sweep.cuda);
  r.device = r.cuda && c->at[MEMORY] != 1;
  places.count = 0;
  went = problem_make(&r.p, taken);
  if (went) {
    run_desc(&r);
    before = sweep.driver != NULL ? sweep.driver->bytes : 0;
    host = sweep.memory.bytes;
    run_forecast(&r);
    status = merbit_plan_create(r.p.context, &r.p.view, &r.desc, &r.plan);
    went = status == MERBIT_OK;
    if ((r.plan != NULL) != went) {
      sweep_fail("merbit_plan_create: %s with plan %p", merbit_status_name(status),
                 (void *)r.plan);
    }
    if (!went && taken) {
      sweep_done(r.p.context, status, "merbit_plan_create");
    } else if (!went) {
      sweep_refused(r.p.context, status, "merbit_plan_create");
    }
  }
  if (went) {
    memset(&r.epilogue, 0xff, sizeof r.epilogue); /* no longer read */
    memset(&r.operators, 0xff, sizeof r.operators);
    run_count(&r, before, host, 0);
    run_forecast_holds(&r, before);
    if (merbit_plan_describe(r.plan, line, sizeof line) < 20) {
      sweep_fail("the plan says \"%s\"", line);
    }
    if (c->at[WORKSPACE]) {
      sweep_done(r.p.context, merbit_workspace_create(r.plan, &r.workspace),
                 "merbit_workspace_create");
    }
    if (c->at[ORDER] != 0) {
      r.order = (int64_t *)test_allocate(r.p.e.rows, sizeof *r.order);
      sweep_done(r.p.context, merbit_plan_get_order(r.plan, r.order, r.p.e.rows),
                 "merbit_plan_get_order");
    }
    went = run_products(&r, taken);
  }
  if (!taken && went) {
    sweep_fail("nothing was refused");
  }
  if (c->at[WORKSPACE]) { /* in any order */
    merbit_plan_destroy(r.plan);
    merbit_workspace_destroy(r.workspace);
  } else {
    merbit_plan_destroy(r.plan);
  }
  free(r.order);
  free(r.latest);
  problem_free(&r.p);
  place_release(0);
  sweep_close(r.p.context);
}

#endif /* TEST_SWEEP_RUN_H */
