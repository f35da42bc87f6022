/* A JSON writer. */
#ifndef BENCH_JSON_H
#define BENCH_JSON_H
#include "matrix.h"
#include <errno.h>
#include <math.h>

#define BENCH_JSON_DEPTH 16

typedef struct bench_json {
  FILE *file; /* NULL: nothing is written */
  const char *path;
  int depth;
  int filled[BENCH_JSON_DEPTH];
} bench_json;

static void bench_json_text_raw(FILE *file, const char *text) {
  (void)fputc('"', file);
  for (; *text != '\0'; text++) {
    const unsigned char c = (unsigned char)*text;
    if (c == '"' || c == '\\') {
      (void)fprintf(file, "\\%c", c);
    } else if (c < 32) {
      (void)fprintf(file, "\\u%04x", c);
    } else {
      (void)fputc(c, file);
    }
  }
  (void)fputc('"', file);
}

/* Writes the comma, indentation and name of the next item. Returns 0 if nothing is written. */
static int bench_json_next(bench_json *json, const char *name) {
  if (json->file == NULL) {
    return 0;
  }
  if (json->depth > 0) {
    (void)fprintf(json->file, "%s\n%*s", json->filled[json->depth] ? "," : "", 2 * json->depth,
                  "");
  }
  json->filled[json->depth] = 1;
  if (name != NULL) {
    bench_json_text_raw(json->file, name);
    (void)fputs(": ", json->file);
  }
  return 1;
}

static void bench_json_open(bench_json *json, const char *name, char bracket) {
  if (bench_json_next(json, name)) {
    (void)fputc(bracket, json->file);
    json->filled[++json->depth] = 0;
  }
}

static void bench_json_close(bench_json *json, char bracket) {
  if (json->file != NULL) {
    json->depth--;
    (void)fprintf(json->file, "\n%*s%c", 2 * json->depth, "", bracket);
  }
}

static void bench_json_text(bench_json *json, const char *name, const char *text) {
  if (bench_json_next(json, name)) {
    bench_json_text_raw(json->file, text);
  }
}

/* Writes a number. JSON has neither NaN nor infinity, so these become null. */
static void bench_json_number(bench_json *json, const char *name, double number) {
  if (bench_json_next(json, name)) {
    (void)fprintf(json->file, isfinite(number) ? "%.9g" : "null", number);
  }
}

static void bench_json_integer(bench_json *json, const char *name, int64_t number) {
  if (bench_json_next(json, name)) {
    (void)fprintf(json->file, "%lld", (long long)number);
  }
}

static void bench_json_begin(bench_json *json, const char *path) {
  memset(json, 0, sizeof *json);
  json->path = path;
  if (path != NULL) {
    json->file = fopen(path, "w");
    if (json->file == NULL) {
      bench_die("%s cannot be written: %s", path, strerror(errno));
    }
  }
  bench_json_open(json, NULL, '{');
}

static void bench_json_end(bench_json *json) {
  bench_json_close(json, '}');
  if (json->file != NULL) {
    (void)fputc('\n', json->file);
    if (ferror(json->file) || fclose(json->file) != 0) {
      bench_die("%s could not be written to its end: %s", json->path, strerror(errno));
    }
  }
}

/* Returns the command line as one string, which the caller frees. */
BENCH_UNUSED static char *bench_command(int argc, char **argv) {
  size_t length = 1;
  char *text;
  int i;
  for (i = 0; i < argc; i++) {
    length += strlen(argv[i]) + 1;
  }
  text = (char *)bench_allocate((int64_t)length, 1);
  text[0] = '\0';
  for (i = 0; i < argc; i++) {
    (void)strcat(strcat(text, i > 0 ? " " : ""), argv[i]);
  }
  return text;
}

#endif
