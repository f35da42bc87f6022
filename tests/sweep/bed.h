/* Shared by the sweeps: findings, contexts, the test interface of the fake driver if it is
 * used, and arrays where a plan computes. Include merbit.h and cmocka.h first. */
#ifndef TEST_SWEEP_BED_H
#define TEST_SWEEP_BED_H
#include <setjmp.h>
#include "fake/fake.h"
#include "support/cpu.h"
#include "support/effort.h"
#include "support/gpu.h"

static struct {
  int cuda;            /* whether contexts are on CUDA */
  fake_cuda *driver;   /* the fake driver's state; NULL on a GPU and on the CPU */
  void (*reset)(void); /* resets it */
  char what[1200];     /* the case being tried */
  long findings;
  jmp_buf out;       /* where to continue after a finding */
  cpu_memory memory; /* of the current context */
} sweep;

/* Prints a finding and leaves the current case. */
TEST_UNUSED __attribute__((noreturn, format(printf, 1, 2))) static void
sweep_fail(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  (void)fprintf(stderr, "finding: ");
  (void)vfprintf(stderr, format, arguments);
  (void)fprintf(stderr, "\n  with %s\n", sweep.what);
  va_end(arguments);
  sweep.findings++;
  longjmp(sweep.out, 1);
}

/* Returns the message of a failure on a context. */
static const char *sweep_sentence(merbit_context *context) {
  static char sentence[MERBIT_MESSAGE_SIZE];
  (void)merbit_last_error(context, sentence, sizeof sentence);
  return sentence;
}

static void sweep_done(merbit_context *context, merbit_status status, const char *call) {
  if (status != MERBIT_OK) {
    sweep_fail("%s: %s: %s", call, merbit_status_name(status), sweep_sentence(context));
  }
}

/* Expects that a refusal has a status for invalid or unsupported arguments, and a message. */
static void sweep_refused(merbit_context *context, merbit_status status, const char *call) {
  const char *sentence = sweep_sentence(context);
  if ((status != MERBIT_INVALID_ARGUMENT && status != MERBIT_NOT_SUPPORTED &&
       status != MERBIT_NO_DEVICE && status != MERBIT_INVALID_MATRIX) ||
      strlen(sentence) < 20) {
    sweep_fail("%s was refused with %s: \"%s\"", call, merbit_status_name(status), sentence);
  }
}

/* Begins a new case, whatever the last finding left. */
static void sweep_begin(const char *what) {
  (void)snprintf(sweep.what, sizeof sweep.what, "%s", what);
  memset(&sweep.memory, 0, sizeof sweep.memory);
  if (sweep.reset != NULL) {
    sweep.reset();
  }
}

/* Adds a step to the description of the case. */
TEST_UNUSED static void sweep_note(const char *step) {
  const size_t used = strlen(sweep.what);
  (void)snprintf(sweep.what + used, sizeof sweep.what - used, "; %s", step);
}

static void sweep_idle(void *argument, int task) {
  (void)argument;
  (void)task;
}

/* Opens a context whose host memory is counted, including its threads'. */
static merbit_context *sweep_context(int threads, int bind) {
  merbit_context_desc desc = cpu_desc(NULL, threads);
  merbit_context *context;
  merbit_error error;
  desc.allocator.allocate = cpu_allocate;
  desc.allocator.release = cpu_release;
  desc.allocator.user = &sweep.memory;
  desc.bind_threads = bind;
  desc.side = sweep.cuda ? MERBIT_SIDE_CUDA : MERBIT_SIDE_CPU;
  desc.cache_dir = gpu_cache();
  if (merbit_context_create(&desc, &context, &error) != MERBIT_OK) {
    sweep_fail("no context: %s", error.message);
  }
  mbi_parallel(context, threads, sweep_idle, NULL);
  return context;
}

/* Destroys the context; then nothing may be left in host memory or in the fake driver. */
static void sweep_close(merbit_context *context) {
  merbit_context_destroy(context);
  if (sweep.memory.live != 0) {
    sweep_fail("%ld blocks of host memory are left", sweep.memory.live);
  }
  if (sweep.driver != NULL) {
    const fake_cuda *d = sweep.driver;
    char left[200];
    if (d->faults != 0) {
      sweep_fail("%ld faults; the first: %s", d->faults, d->fault);
    }
    if (fake_left(d, left)) {
      sweep_fail("%s", left);
    }
  }
}

/* Opens the test interface of the fake driver, by the soname of the real one. */
static void sweep_open(int cuda) {
  void *symbol, *library = cuda ? dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL) : NULL;
  fake_cuda_getter get;
  sweep.cuda = cuda;
  symbol = library != NULL ? dlsym(library, "fake_cuda_state") : NULL;
  if (symbol != NULL) {
    memcpy(&get, &symbol, sizeof symbol);
    sweep.driver = get();
    symbol = dlsym(library, "fake_cuda_reset");
    memcpy(&sweep.reset, &symbol, sizeof symbol);
  }
}

/* ---- Arrays ------------------------------------------------------------------------------ */

enum { MOST_PLACES = 32 };

typedef struct place { /* an array where it is needed */
  merbit_buffer *buffer;
  void *at;
  size_t bytes;
} place;

static struct {
  merbit_context *context;
  place all[MOST_PLACES];
  int count;
} places;

/* Copies an array to the device, or to host memory without slack. `from` NULL: bytes of
 * 0x5a. */
static void *place_put(int device, const void *from, size_t bytes) {
  place *p = &places.all[places.count++];
  void *host = malloc(bytes > 0 ? bytes : 1);
  if (host == NULL || places.count > MOST_PLACES) {
    abort();
  }
  if (from != NULL) {
    memcpy(host, from, bytes);
  } else {
    memset(host, 0x5a, bytes);
  }
  p->buffer = NULL;
  p->bytes = bytes;
  p->at = host;
  if (device) {
    sweep_done(places.context, merbit_buffer_create(places.context, bytes, &p->buffer),
               "merbit_buffer_create");
    sweep_done(places.context, merbit_buffer_upload(p->buffer, 0, host, bytes),
               "merbit_buffer_upload");
    p->at = merbit_buffer_pointer(p->buffer);
    free(host);
  }
  return p->at;
}

/* Copies an array back to the host. */
static void place_get(const void *at, void *to) {
  int i = 0;
  while (places.all[i].at != at) {
    i++;
  }
  if (places.all[i].buffer != NULL) {
    sweep_done(places.context,
               merbit_buffer_download(places.all[i].buffer, 0, to, places.all[i].bytes),
               "merbit_buffer_download");
  } else {
    memcpy(to, at, places.all[i].bytes);
  }
}

/* Releases all except the first `keep`. */
static void place_release(int keep) {
  while (places.count > keep) {
    place *p = &places.all[--places.count];
    if (p->buffer != NULL) {
      merbit_buffer_destroy(p->buffer);
    } else {
      free(p->at);
    }
  }
}

#endif /* TEST_SWEEP_BED_H */
