#include "core/context.h"
#include "jit/jit.h"
#include "matrix/matrix.h"
#include "spmv/shared/shared.h"
#include "spmv/stages/stages.h"
#include "spmv/plan/plan.h"
#include "spmv/choose/choose.h"

/* Stores values in a shorter form without loss: one for all, one per row or column, bytes that
 * index a table, halves, or doubles as floats. spmv/stages/value_sample.cu, value_check.cu and
 * value_groups.cu test for the forms and convert values on the GPU. */

#define MBI_VALUES_BLOCKS 1024
#define MBI_VALUES_SAMPLES 128 /* the most windows of 2,048 nonzeros in a sample */
#define MBI_VALUES_TABLE_BYTES (MBI_VALUES_MOST * sizeof(double))

typedef struct mbi_values_scratch { /* in GPU memory */
  uint64_t changes[2], keys[MBI_VALUES_KEYS];
  uint32_t against, distinct;
  unsigned char number[MBI_VALUES_KEYS];
} mbi_values_scratch;

#define MBI_VALUES_AT(search, field) ((search)->scratch + offsetof(mbi_values_scratch, field))

MBI_INTERNAL int64_t mbi_values_blocks(uint64_t count) {
  return count / 256 < MBI_VALUES_BLOCKS ? (int64_t)(count / 256 + 1) : MBI_VALUES_BLOCKS;
}

/* ---- Sizes ------------------------------------------------------------------------------- */

/* Returns the bytes of the array of values in a form. */
MBI_INTERNAL uint64_t mbi_values_bytes(const merbit_plan *plan, mbi_value_form form) {
  const mbi_device_csr *csr = &plan->device;
  const uint64_t size = mbi_type_size(plan->type);
  switch (form) {
  case MBI_VALUES_EQUAL:
    return size;
  case MBI_VALUES_SINGLE:
    return csr->nnz * sizeof(float);
  case MBI_VALUES_HALF:
    return csr->nnz * sizeof(uint16_t);
  case MBI_VALUES_TABLE:
    return csr->nnz;
  case MBI_VALUES_ROW:
    return csr->rows * size;
  case MBI_VALUES_COLUMN:
    return csr->cols * size;
  default:
    return csr->nnz * size;
  }
}

/* Returns the form among `forms` with which a product moves the fewest bytes, or general values
 * if none saves an eighth. */
static mbi_value_form mbi_values_shortest(const merbit_plan *plan, uint32_t forms) {
  static const mbi_value_form order[] = {MBI_VALUES_EQUAL, MBI_VALUES_COLUMN,
                                         MBI_VALUES_ROW,   MBI_VALUES_TABLE,
                                         MBI_VALUES_HALF,  MBI_VALUES_SINGLE};
  const uint64_t general = mbi_values_bytes(plan, MBI_VALUES_GENERAL);
  const uint64_t launch = (uint64_t)mbi_choose_launch_bytes(plan, MBI_VALUES_LAUNCH);
  mbi_value_form best = MBI_VALUES_GENERAL;
  uint64_t least = general - general / 8;
  size_t i;
  for (i = 0; i < sizeof order / sizeof order[0]; i++) {
    const uint64_t once = order[i] == MBI_VALUES_EQUAL ? 0 : mbi_values_bytes(plan, order[i]);
    /* A product reads the values of the columns and x, and writes their products. */
    const uint64_t bytes = order[i] == MBI_VALUES_COLUMN  ? 3 * once + launch
                           : order[i] == MBI_VALUES_TABLE ? once + MBI_VALUES_TABLE_BYTES
                                                          : once;
    if ((forms & MBI_FORM(order[i])) != 0 && bytes <= least) {
      best = order[i];
      least = bytes > 0 ? bytes - 1 : 0;
    }
  }
  return best;
}

/* ---- Search for forms -------------------------------------------------------------------- */

static merbit_status mbi_values_launch(merbit_plan *plan, mbi_csr_file file, const char *name,
                                       int64_t blocks, uint64_t shared, const void *arguments) {
  void *kernel = NULL;
  MBI_TRY(mbi_plan_csr_kernel(plan, file, name, &kernel));
  return mbi_device_launch(plan->context, kernel, name, blocks, 256, (unsigned)shared, NULL,
                           arguments);
}

static merbit_status mbi_values_answer(merbit_plan *plan, mbi_values_search *search) {
  return mbi_device_download(plan->context, &search->against, MBI_VALUES_AT(search, against),
                             sizeof search->against);
}

/* Starts a search: a sample of the values at `values` rules out forms. The caller runs
 * mbi_values_search_end afterwards, on failure too. */
MBI_INTERNAL merbit_status mbi_values_search_begin(merbit_plan *plan, mbi_devptr values,
                                                   mbi_values_search *search) {
  merbit_context *context = plan->context;
  mbi_device_csr *csr = &plan->device;
  const uint64_t windows = csr->nnz / MBI_VALUES_WINDOW + 1;
  mbi_devptr keys, distinct, against;
  mbk_forms_sample_arguments arguments;
  memset(search, 0, sizeof *search);
  search->values = values;
  MBI_TRY(mbi_plan_allocate(plan, sizeof(mbi_values_scratch), "a sample of the values",
                            &search->scratch));
  MBI_TRY(mbi_device_zero(context, search->scratch, sizeof(mbi_values_scratch), NULL));
  keys = MBI_VALUES_AT(search, keys);
  distinct = MBI_VALUES_AT(search, distinct);
  against = MBI_VALUES_AT(search, against);
  arguments.row_ptr = csr->row_ptr;
  arguments.col_ind = csr->col_ind;
  arguments.values = search->values;
  arguments.rows = csr->rows;
  arguments.nnz = csr->nnz;
  arguments.wide = plan->type == MERBIT_F64;
  arguments.keys = keys;
  arguments.distinct = distinct;
  arguments.against = against;
  MBI_TRY(
      mbi_values_launch(plan, MBI_CSR_VALUES, "mbk_forms_sample",
                        (int64_t)(windows < MBI_VALUES_SAMPLES ? windows : MBI_VALUES_SAMPLES),
                        MBI_VALUES_SAMPLE_SHARED, &arguments));
  return mbi_values_answer(plan, search);
}

MBI_INTERNAL void mbi_values_search_end(merbit_plan *plan, mbi_values_search *search) {
  mbi_plan_release(plan, search->scratch);
  mbi_plan_release(plan, search->columns);
}

/* Checks all values for a form that a single value can rule out. */
static merbit_status mbi_values_check(merbit_plan *plan, mbi_values_search *search,
                                      mbi_value_form form) {
  mbi_devptr against = MBI_VALUES_AT(search, against);
  mbk_forms_check_arguments arguments;
  arguments.values = search->values;
  arguments.nnz = plan->device.nnz;
  arguments.wide = plan->type == MERBIT_F64;
  arguments.asked = MBI_FORM(form);
  arguments.against = against;
  return mbi_values_launch(plan, MBI_CSR_VALUE_CHECK, "mbk_forms_check",
                           mbi_values_blocks(plan->device.nnz), 0, &arguments);
}

static merbit_status mbi_values_collect(merbit_plan *plan, mbi_values_search *search) {
  mbi_devptr keys = MBI_VALUES_AT(search, keys), distinct = MBI_VALUES_AT(search, distinct);
  mbi_devptr against = MBI_VALUES_AT(search, against);
  mbk_forms_collect_arguments arguments;
  arguments.values = search->values;
  arguments.nnz = plan->device.nnz;
  arguments.wide = plan->type == MERBIT_F64;
  arguments.keys = keys;
  arguments.distinct = distinct;
  arguments.against = against;
  return mbi_values_launch(plan, MBI_CSR_VALUE_GROUPS, "mbk_forms_collect",
                           mbi_values_blocks(plan->device.nnz),
                           MBI_VALUES_KEYS * sizeof(uint64_t), &arguments);
}

/* Checks whether the values of every row are equal, and updates search->against. */
static merbit_status mbi_values_check_rows(merbit_plan *plan, mbi_values_search *search) {
  const uint64_t rows = plan->device.rows, nnz = plan->device.nnz;
  uint64_t found[2] = {0, 0};
  mbi_devptr changes = MBI_VALUES_AT(search, changes);
  mbk_forms_changes_arguments arguments;
  arguments.row_ptr = plan->device.row_ptr;
  arguments.values = search->values;
  arguments.rows = plan->device.rows;
  arguments.nnz = plan->device.nnz;
  arguments.wide = plan->type == MERBIT_F64;
  arguments.changes = changes;
  MBI_TRY(mbi_values_launch(plan, MBI_CSR_VALUE_GROUPS, "mbk_forms_changes",
                            mbi_values_blocks(rows > nnz ? rows : nnz), 0, &arguments));
  MBI_TRY(mbi_device_download(plan->context, found, changes, sizeof found));
  search->against |= found[0] != found[1] ? MBI_FORM(MBI_VALUES_ROW) : 0;
  return MERBIT_OK;
}

/* Computes search->columns, and checks on the GPU whether each nonzero has the value of its
 * column. */
static merbit_status mbi_values_check_columns(merbit_plan *plan, mbi_values_search *search) {
  const uint64_t bytes = mbi_values_bytes(plan, MBI_VALUES_COLUMN);
  uint32_t wide = plan->type == MERBIT_F64;
  mbi_devptr against = MBI_VALUES_AT(search, against);
  mbk_forms_columns_arguments columns_arguments;
  mbk_forms_differ_arguments differ_arguments;
  MBI_TRY(mbi_plan_allocate(plan, bytes, "the values of columns", &search->columns));
  MBI_TRY(mbi_device_zero(plan->context, search->columns, (size_t)bytes, NULL));
  columns_arguments.col_ind = plan->device.col_ind;
  columns_arguments.values = search->values;
  columns_arguments.nnz = plan->device.nnz;
  columns_arguments.wide = wide;
  columns_arguments.by_column = search->columns;
  MBI_TRY(mbi_values_launch(plan, MBI_CSR_VALUE_GROUPS, "mbk_forms_columns",
                            mbi_values_blocks(plan->device.nnz), 0, &columns_arguments));
  differ_arguments.col_ind = plan->device.col_ind;
  differ_arguments.values = search->values;
  differ_arguments.nnz = plan->device.nnz;
  differ_arguments.wide = wide;
  differ_arguments.by_column = search->columns;
  differ_arguments.against = against;
  return mbi_values_launch(plan, MBI_CSR_VALUE_GROUPS, "mbk_forms_differ",
                           mbi_values_blocks(plan->device.nnz), 0, &differ_arguments);
}

/* Sets *have to 1 if the values have a form. Does not test a form that has been ruled out. */
MBI_INTERNAL merbit_status mbi_values_have(merbit_plan *plan, mbi_values_search *search,
                                           mbi_value_form form, int *have) {
  *have = 0;
  if ((search->against & MBI_FORM(form)) != 0) {
    return MERBIT_OK;
  }
  MBI_TRY(form == MBI_VALUES_ROW      ? mbi_values_check_rows(plan, search)
          : form == MBI_VALUES_COLUMN ? mbi_values_check_columns(plan, search)
          : form == MBI_VALUES_TABLE  ? mbi_values_collect(plan, search)
                                      : mbi_values_check(plan, search, form));
  if (form != MBI_VALUES_ROW) {
    MBI_TRY(mbi_values_answer(plan, search));
  }
  *have = (search->against & MBI_FORM(form)) == 0;
  return MERBIT_OK;
}

/* ---- Conversion -------------------------------------------------------------------------- */

/* Stores the table, sorted by the bits of the values, so that equal plans are equal. Also
 * stores, in the order of the search's keys, the index of each value in the table. */
static merbit_status mbi_values_store_table(merbit_plan *plan, mbi_values_search *search,
                                            mbi_devptr table) {
  merbit_context *context = plan->context;
  const uint64_t size = mbi_type_size(plan->type);
  uint64_t sorted[MBI_VALUES_MOST], at, count = 0, place;
  unsigned char values[MBI_VALUES_MOST * sizeof(double)];
  mbi_values_scratch scratch;
  MBI_TRY(mbi_device_download(context, &scratch, search->scratch, sizeof scratch));
  memset(values, 0, sizeof values);
  memset(scratch.number, 0, sizeof scratch.number);
  for (at = 0; at < MBI_VALUES_KEYS; at++) {
    const uint64_t bits = ~scratch.keys[at];
    if (scratch.keys[at] != 0 && count < MBI_VALUES_MOST) {
      for (place = count++; place > 0 && sorted[place - 1] > bits; place--) {
        sorted[place] = sorted[place - 1];
      }
      sorted[place] = bits;
    }
  }
  for (at = 0; at < MBI_VALUES_KEYS; at++) {
    for (place = 0; place < count && scratch.keys[at] != 0; place++) {
      scratch.number[at] =
          sorted[place] == ~scratch.keys[at] ? (unsigned char)place : scratch.number[at];
    }
  }
  for (place = 0; place < count; place++) {
    const uint32_t low = (uint32_t)sorted[place];
    memcpy(values + place * size,
           size == sizeof low ? (const void *)&low : (const void *)&sorted[place],
           (size_t)size);
  }
  MBI_TRY(mbi_device_upload(context, table, values, (size_t)(MBI_VALUES_MOST * size)));
  return mbi_device_upload(context, MBI_VALUES_AT(search, number), scratch.number,
                           sizeof scratch.number);
}

/* Stores the values in a form that they have, at `stored`, and the `table` that belongs to
 * it. */
MBI_INTERNAL merbit_status mbi_values_store(merbit_plan *plan, mbi_values_search *search,
                                            mbi_value_form form, mbi_devptr stored,
                                            mbi_devptr table) {
  merbit_context *context = plan->context;
  mbi_device_csr *csr = &plan->device;
  uint32_t wide = plan->type == MERBIT_F64;
  mbi_devptr keys = MBI_VALUES_AT(search, keys), number = MBI_VALUES_AT(search, number);
  mbk_forms_number_arguments number_arguments;
  mbk_forms_rows_arguments rows_arguments;
  mbk_forms_shorten_arguments shorten_arguments;
  if (form == MBI_VALUES_EQUAL || form == MBI_VALUES_COLUMN) {
    return mbi_device_copy(context, stored,
                           form == MBI_VALUES_EQUAL ? search->values : search->columns,
                           (size_t)mbi_values_bytes(plan, form));
  }
  if (form == MBI_VALUES_TABLE) {
    MBI_TRY(mbi_values_store_table(plan, search, table));
    number_arguments.values = search->values;
    number_arguments.nnz = csr->nnz;
    number_arguments.wide = wide;
    number_arguments.keys = keys;
    number_arguments.number = number;
    number_arguments.shorter = stored;
    MBI_TRY(mbi_values_launch(plan, MBI_CSR_VALUE_GROUPS, "mbk_forms_number",
                              mbi_values_blocks(csr->nnz),
                              MBI_VALUES_KEYS * (sizeof(uint64_t) + 1), &number_arguments));
  } else if (form == MBI_VALUES_ROW) {
    rows_arguments.row_ptr = csr->row_ptr;
    rows_arguments.values = search->values;
    rows_arguments.rows = csr->rows;
    rows_arguments.wide = wide;
    rows_arguments.by_row = stored;
    MBI_TRY(mbi_values_launch(plan, MBI_CSR_VALUE_GROUPS, "mbk_forms_rows",
                              mbi_values_blocks(csr->rows), 0, &rows_arguments));
  } else {
    shorten_arguments.values = search->values;
    shorten_arguments.nnz = csr->nnz;
    shorten_arguments.wide = wide;
    shorten_arguments.half = form == MBI_VALUES_HALF;
    shorten_arguments.shorter = stored;
    MBI_TRY(mbi_values_launch(plan, MBI_CSR_VALUE_CHECK, "mbk_forms_shorten",
                              mbi_values_blocks(csr->nnz), 0, &shorten_arguments));
  }
  return mbi_device_synchronize(context, NULL);
}

/* Replaces plan->device.values by the same values in `form`, in memory that the plan owns. */
static merbit_status mbi_values_take(merbit_plan *plan, mbi_values_search *search,
                                     mbi_value_form form) {
  mbi_device_csr *csr = &plan->device;
  const uint64_t size = mbi_type_size(plan->type), bytes = mbi_values_bytes(plan, form);
  const uint64_t table_bytes = form == MBI_VALUES_TABLE ? MBI_VALUES_MOST * size : 0;
  mbi_devptr stored = 0, table = 0;
  merbit_status status = MERBIT_OK;
  MBI_TRY(mbi_plan_allocate(plan, bytes, "shorter values", &stored));
  if (table_bytes > 0) {
    status = mbi_plan_allocate(plan, table_bytes, "a table of values", &table);
  }
  if (status == MERBIT_OK) {
    status = mbi_values_store(plan, search, form, stored, table);
  }
  if (status != MERBIT_OK) {
    mbi_plan_release(plan, stored);
    mbi_plan_release(plan, table);
    return status;
  }
  if (csr->owns_values) {
    mbi_plan_release(plan, csr->values);
    csr->bytes -= csr->nnz * size;
  }
  csr->values = stored;
  csr->table = table;
  csr->owns_values = 1;
  csr->bytes += bytes + table_bytes;
  csr->form = form;
  return MERBIT_OK;
}

/* Stores plan->device.values in the shortest of `forms` that they have. plan->nonempty must be
 * set. */
MBI_INTERNAL merbit_status mbi_values_specialise(merbit_plan *plan, uint32_t forms) {
  mbi_values_search search;
  mbi_value_form form = MBI_VALUES_GENERAL;
  int have = 0;
  merbit_status status = mbi_values_search_begin(plan, plan->device.values, &search);
  while (status == MERBIT_OK && !have) {
    forms &= ~search.against;
    form = mbi_values_shortest(plan, forms);
    if (form == MBI_VALUES_GENERAL) {
      break;
    }
    status = mbi_values_have(plan, &search, form, &have);
    forms &= ~MBI_FORM(form);
  }
  if (status == MERBIT_OK && have) {
    status = mbi_values_take(plan, &search, form);
  }
  mbi_values_search_end(plan, &search);
  return status;
}
