/* Reads and writes values under a locale: decimals LOCALE TYPE IN.mtx OUT.mtx VALUES
 *
 * Reads IN, writes its values as stored in memory to VALUES, and the matrix to OUT. Prints the
 * locale's decimal separator; exits with 77 if the locale does not exist. */
#include "support/internal.h"

#include <locale.h>

static int quit(merbit_context *context, const char *what) {
  char sentence[MERBIT_MESSAGE_SIZE] = "";
  (void)merbit_last_error(context, sentence, sizeof sentence);
  (void)fprintf(stderr, "%s: %s\n", what, sentence);
  return 1;
}

int main(int argc, char **argv) {
  merbit_context_desc desc;
  merbit_read_desc read;
  merbit_context *context = NULL;
  merbit_matrix *matrix = NULL;
  merbit_view view;
  FILE *file;
  size_t size;
  if (argc != 6) {
    return quit(NULL, "decimals LOCALE TYPE IN OUT VALUES");
  }
  if (setlocale(LC_ALL, argv[1]) == NULL) {
    return 77;
  }
  memset(&desc, 0, sizeof desc);
  memset(&read, 0, sizeof read);
  desc.side = MERBIT_SIDE_CPU;
  desc.threads = 1;
  read.value_type = strcmp(argv[2], "f32") == 0 ? MERBIT_F32 : MERBIT_F64;
  if (merbit_context_create(&desc, &context, NULL) != MERBIT_OK ||
      merbit_matrix_read_file(context, argv[3], &read, &matrix) != MERBIT_OK) {
    return quit(context, "reading");
  }
  view = merbit_matrix_view(matrix);
  if (merbit_matrix_write_file(context, &view, argv[4]) != MERBIT_OK) {
    return quit(context, "writing");
  }
  size = read.value_type == MERBIT_F32 ? 4 : 8;
  file = fopen(argv[5], "wb");
  if (file == NULL || fwrite(view.values, size, (size_t)view.nnz, file) != (size_t)view.nnz ||
      fclose(file) != 0) {
    return quit(context, "the values' file");
  }
  (void)printf("%s\n", localeconv()->decimal_point);
  merbit_matrix_destroy(matrix);
  merbit_context_destroy(context);
  return 0;
}
