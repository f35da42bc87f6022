/* The parts of a product, each timed alone: comparing them with the whole product shows how
 * much the overlap hides. They use the operator's own arrays and plans. */
#ifndef DIST_BENCH_PARTS_H
#define DIST_BENCH_PARTS_H
#include "bed.h"

/* The CUDA context is current while a bed is open: bench_gpu_open. */
static void parts_own(bed *b) {
  merbit_dist *d = b->dist;
  if (d->own_plan != NULL) {
    bed_check(b,
              merbit_spmv(d->own_plan, NULL, NULL, merbit_buffer_pointer(b->x), NULL,
                          merbit_buffer_pointer(b->y), bed_stream(b)),
              "the own product");
  }
}

static void parts_pack(bed *b) {
  merbit_dist *d = b->dist;
  bed_check(b,
            mbi_dist_move_all(d, merbit_buffer_pointer(b->x), d->packed, d->pack_at,
                              d->info.sent, MBI_DIST_GATHER, bed_stream(b)),
            "packing");
}

/* Does the exchange; through page-locked host memory that includes packing. */
static void parts_exchange(bed *b) {
  merbit_dist *d = b->dist;
  const merbit_exchange *e = &b->exchange;
  if (b->cuda && !e->device_messages) {
    bed_check(b, mbi_dist_send(d, merbit_buffer_pointer(b->x), bed_stream(b)), "sending");
    bed_check(b, mbi_dist_receive(d, bed_stream(b)), "receiving");
  } else if (e->start(e->user, d->sends, d->info.send_ranks, d->receives, d->info.receive_ranks,
                      bed_stream(b)) != 0 ||
             e->finish(e->user, bed_stream(b)) != 0) {
    bench_die("rank %d: the exchange failed: %s", e->rank,
              e->error != NULL ? e->error(e->user) : "no reason");
  }
}

static void parts_halo(bed *b) {
  merbit_dist *d = b->dist;
  if (d->boundary_plan != NULL) {
    bed_check(b,
              merbit_spmv(d->boundary_plan, NULL, NULL, d->halo_x, NULL, d->boundary_y,
                          bed_stream(b)),
              "the halo's product");
    bed_check(b,
              mbi_dist_move_all(d, d->boundary_y, merbit_buffer_pointer(b->y), d->boundary_at,
                                d->info.boundary_rows, MBI_DIST_ADD, bed_stream(b)),
              "adding the halo's part");
  }
}

/* Does the two sums of an iteration. */
static void parts_sum(bed *b) {
  const merbit_exchange *e = &b->exchange;
  if (e->sum(e->user, b->dist->scalars, 2, bed_stream(b)) != 0) {
    bench_die("rank %d: a sum failed: %s", e->rank,
              e->error != NULL ? e->error(e->user) : "no reason");
  }
}

#endif
