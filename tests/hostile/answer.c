/* Reads files with merbit: each path of a list from the path, from memory and by streams of odd
 * chunks. Prints every answer, for reference.py's to be compared with it:
 *
 *     SOURCE STATUS sentence
 *
 *     SOURCE MERBIT_OK rows cols nnz bytes_of_a_value
 *
 * (0: a pattern); the second is followed by row_ptr (int64), col_ind (int32) and the values.
 * Exits with 1 if the reader leaks, or leaves its out pointer set on failure. */
#include "support/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/cpu.h"

typedef struct text {
  char *data;
  size_t size, at, step;
} text;

static const size_t steps[] = {1, 7, 61, 4099};

static int64_t text_read(void *user, void *data, size_t size) {
  text *t = (text *)user;
  size = size < t->step ? size : t->step;
  size = size < t->size - t->at ? size : t->size - t->at;
  memcpy(data, t->data + t->at, size);
  t->at += size;
  return (int64_t)size;
}

static void quit(const char *path, const char *what) {
  (void)fprintf(stderr, "%s: %s\n", path, what);
  exit(1);
}

/* Returns a block of exactly the file's size, so that AddressSanitizer detects a read beyond
 * it. */
static text load(const char *path) {
  FILE *file = fopen(path, "rb");
  struct stat facts;
  text t = {NULL, 0, 0, 0};
  if (file == NULL || fstat(fileno(file), &facts) != 0) {
    quit(path, "cannot be opened");
  }
  t.size = (size_t)facts.st_size;
  t.data = (char *)malloc(t.size);
  if (fread(t.data, 1, t.size, file) != t.size) {
    quit(path, "cannot be read");
  }
  (void)fclose(file);
  return t;
}

static void print_matrix(const char *source, const merbit_matrix *matrix) {
  const merbit_view view = merbit_matrix_view(matrix);
  const size_t value = view.values == NULL ? 0 : view.value_type == MERBIT_F32 ? 4 : 8;
  int64_t row;
  (void)printf("%s MERBIT_OK %" PRId64 " %" PRId64 " %" PRId64 " %d\n", source, view.rows,
               view.cols, view.nnz, (int)value);
  for (row = 0; row <= view.rows; row++) {
    const int64_t start = mbi_index_at(view.row_ptr, view.offset_type, row);
    (void)fwrite(&start, sizeof start, 1, stdout);
  }
  (void)fwrite(view.col_ind, sizeof(int32_t), (size_t)view.nnz, stdout);
  if (value > 0) {
    (void)fwrite(view.values, value, (size_t)view.nnz, stdout);
  }
}

static void answer(merbit_context *context, const char *path, text *t, const char *source) {
  merbit_read_desc desc;
  merbit_matrix *matrix = (merbit_matrix *)(void *)context; /* must be overwritten */
  char sentence[MERBIT_MESSAGE_SIZE];
  merbit_status status;
  memset(&desc, 0, sizeof desc);
  desc.value_type = strcmp(source, "f32") == 0 ? MERBIT_F32 : MERBIT_F64;
  t->at = 0;
  if (strcmp(source, "path") == 0) {
    status = merbit_matrix_read_file(context, path, &desc, &matrix);
  } else if (strcmp(source, "stream") == 0) {
    status = merbit_matrix_read_stream(context, text_read, t, &desc, &matrix);
  } else {
    status = merbit_matrix_read_memory(context, t->data, t->size, &desc, &matrix);
  }
  if ((status == MERBIT_OK) != (matrix != NULL)) {
    quit(path, "the out pointer does not go with the status");
  }
  if (status == MERBIT_OK) {
    print_matrix(source, matrix);
    merbit_matrix_destroy(matrix);
  } else {
    (void)merbit_last_error(context, sentence, sizeof sentence);
    (void)printf("%s %s %s\n", source, merbit_status_name(status), sentence);
  }
}

int main(int argc, char **argv) {
  cpu_memory memory;
  merbit_context_desc desc = cpu_desc(&memory, 1);
  merbit_context *context;
  char path[4096];
  FILE *list = argc == 2 ? fopen(argv[1], "r") : NULL;
  if (list == NULL || merbit_context_create(&desc, &context, NULL) != MERBIT_OK) {
    quit("usage", "answer LIST");
  }
  while (fgets(path, sizeof path, list) != NULL) {
    const long live = memory.live;
    text t;
    size_t i;
    path[strcspn(path, "\n")] = '\0';
    t = load(path);
    /* Limits memory: the largest array is the row offsets: 64-bit, for 2^20 rows and 64 more
     * for each byte of text. The library keeps a block's size in 16 bytes before it. */
    memory.limit = 8 * ((1u << 20) + 64 * t.size + 1) + 16;
    answer(context, path, &t, "path");
    answer(context, path, &t, "memory");
    answer(context, path, &t, "f32");
    for (i = 0; i < sizeof steps / sizeof steps[0]; i++) {
      t.step = steps[i];
      answer(context, path, &t, "stream");
    }
    free(t.data);
    if (memory.live != live) {
      quit(path, "memory was leaked");
    }
  }
  (void)fclose(list);
  merbit_context_destroy(context);
  return fflush(stdout) == 0 && memory.live == 0 ? 0 : 1;
}
