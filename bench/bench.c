/* The benchmark: all products of merbit and of cuSPARSE, in one process on the same arrays. See
 * bench --help. It is built with the merbit.h that includes the methods for comparison; no CUDA
 * is needed:
 *   python3 gen/generate.py --study
 *   cc -O3 -fopenmp -Ibuild/study bench/bench.c -o bench -lm -ldl */
#define MERBIT_IMPLEMENTATION
#include "merbit.h"

#include "cpu.h"
#include "directory.h"
#include "gpu.h"
#include "inputs.h"
#include "options.h"
#include "preconditioners.h"
#include "solve_tasks.h"
#include "startup.h"

/* Writes the head of a run: what was measured, where, when, and with which command. */
static void bench_describe_run(merbit_context *context, const char *command, bench_json *json) {
  merbit_context_info info;
  char date[64] = "";
  time_t now = time(NULL);
  struct tm utc;
  (void)merbit_context_get_info(context, &info);
  if (gmtime_r(&now, &utc) != NULL) {
    (void)strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
  }
  (void)printf("merbit %s on %s, %d CPU threads", merbit_version(), info.device, info.threads);
  if (info.side == MERBIT_SIDE_CUDA) {
    (void)printf(", driver for CUDA %d.%d, NVRTC %d.%d", info.driver_version / 1000,
                 info.driver_version % 1000 / 10, info.nvrtc_version / 1000,
                 info.nvrtc_version % 1000 / 10);
  }
  (void)printf(", %s\n", date);
  if (info.reason[0] != '\0') {
    (void)printf("on the CPU, because %s\n", info.reason);
  }
  bench_json_text(json, "program", "bench");
  bench_json_text(json, "merbit", merbit_version());
  bench_json_text(json, "date", date);
  bench_json_text(json, "command", command);
  bench_json_text(json, "device", info.device);
  bench_json_integer(json, "cpu_threads", info.threads);
  bench_json_integer(json, "compute_capability", info.compute_capability);
  bench_json_integer(json, "driver", info.driver_version);
  bench_json_integer(json, "nvrtc_version", info.nvrtc_version);
  bench_json_text(json, "nvrtc", info.nvrtc);
}

/* ---- CPU --------------------------------------------------------------------------------- */

static int bench_run_cpu(merbit_context *context, const bench_options *o,
                         bench_given_list *given, bench_json *json) {
  bench_summary sum;
  merbit_context_info info;
  double read_rate;
  int i, single;
  memset(&sum, 0, sizeof sum);
  (void)merbit_context_get_info(context, &info);
  read_rate = bench_read_rate(info.threads);
  (void)printf("read bandwidth %.1f GB/s\n", 1e-9 * read_rate);
  bench_json_number(json, "read_bytes_per_second", read_rate);
  bench_json_open(json, "results", '[');
  for (i = 0; i < o->input_count; i++) {
    bench_matrix m;
    bench_problem p;
    bench_load(context, o->inputs[i], o->values, &m);
    for (single = 1; single >= 0; single--) {
      if (single ? o->single : o->full) {
        bench_problem_create(&p, &m, single);
        bench_cpu_problem(context, o, read_rate, &p, given, json, &sum);
        bench_problem_free(&p);
      }
    }
    bench_matrix_free(&m);
    bench_check_names("--methods", o->methods);
  }
  bench_json_close(json, ']');
  bench_report_summary(&sum, o->rivals != NULL ? "the best rival" : "the OpenMP loop over rows",
                       json);
  return sum.wrong + sum.wrong_rivals;
}

/* ---- GPU --------------------------------------------------------------------------------- */

static void bench_gpu_input(bench_lab *lab, const char *input, bench_summary *sum) {
  const bench_options *o = lab->options;
  const double start = mbi_seconds();
  bench_matrix m;
  bench_problem p;
  int single;
  bench_load(lab->gpu.context, input, o->values, &m);
  (void)printf("\n%s: made or read in %.1f s\n", m.name, mbi_seconds() - start);
  for (single = 1; single >= 0; single--) {
    if (single ? o->single : o->full) {
      bench_problem_create(&p, &m, single);
      bench_gpu_problem(lab, &p, sum);
      bench_problem_free(&p);
    }
  }
  bench_matrix_free(&m);
}

static void bench_lab_open(bench_lab *lab, merbit_context *context, const bench_options *o,
                           bench_given_list *given, bench_json *json) {
  merbit_context_desc desc;
  merbit_error error;
  memset(lab, 0, sizeof *lab);
  lab->options = o;
  lab->given = given;
  lab->json = json;
  bench_gpu_open(&lab->gpu, context);
  memset(&desc, 0, sizeof desc);
  desc.side = MERBIT_SIDE_CUDA;
  desc.cache_dir = lab->cold_directory = bench_directory();
  if (merbit_context_create(&desc, &lab->cold, &error) != MERBIT_OK) {
    bench_die("%s", error.message);
  }
  bench_cusparse_open(&lab->cusparse, &lab->gpu);
  bench_copy_measure(&lab->gpu, &lab->ceilings);
  if (o->solve == NULL) {
    bench_gather_measure(&lab->gpu, &lab->ceilings);
  }
}

static void bench_lab_describe(const bench_lab *lab) {
  bench_ceilings_report(&lab->ceilings, lab->json);
  bench_cusparse_describe(&lab->cusparse, lab->json);
}

static void bench_lab_close(bench_lab *lab) {
  bench_cusparse_close(&lab->cusparse);
  merbit_context_destroy(lab->cold);
  bench_gpu_close(&lab->gpu);
}

static int bench_run_gpu(merbit_context *context, const bench_options *o,
                         bench_given_list *given, bench_json *json) {
  bench_lab lab;
  bench_summary sum;
  int i, good;
  memset(&sum, 0, sizeof sum);
  bench_lab_open(&lab, context, o, given, json);
  bench_lab_describe(&lab);
  if (o->solve != NULL) {
    const int wrong = bench_solve_inputs(&lab);
    bench_lab_close(&lab);
    return wrong;
  }
  bench_json_open(json, "results", '[');
  for (i = 0; i < o->input_count; i++) {
    bench_gpu_input(&lab, o->inputs[i], &sum);
    bench_check_methods(o->methods);
  }
  bench_json_close(json, ']');
  good = bench_startup(&lab.gpu, json);
  bench_report_summary(&sum, o->rivals != NULL ? "the best rival" : "the best cuSPARSE", json);
  bench_lab_close(&lab);
  return sum.wrong + !good;
}

/* Returns 0 if all of merbit's results were correct, 1 if one was wrong or something failed. */
int main(int argc, char **argv) {
  merbit_context_desc desc;
  merbit_context *context = NULL;
  merbit_context_info info;
  merbit_error error;
  bench_options options;
  bench_given_list given;
  bench_json json;
  char *command = bench_command(argc, argv);
  int wrong, cuda;
  bench_parse(&options, argc, argv);
  (void)setenv("CUDA_CACHE_DISABLE", "1", 1); /* NVRTC has a cache of its own, which would hide
                                               * the time of compilations */
  if (options.startup != NULL) {
    free(command);
    return bench_startup_child(options.startup);
  }
  memset(&desc, 0, sizeof desc);
  desc.side = options.side;
  desc.threads = options.threads;
  desc.bind_threads = options.bind;
  desc.cache_dir = options.side == MERBIT_SIDE_CPU ? "" : bench_directory();
  if (merbit_context_create(&desc, &context, &error) != MERBIT_OK) {
    bench_die("%s", error.message);
  }
  if (options.write != NULL) {
    bench_write(context, &options);
    merbit_context_destroy(context);
    free(command);
    return 0;
  }
  (void)merbit_context_get_info(context, &info);
  cuda = info.side == MERBIT_SIDE_CUDA;
  if (options.input_count == 0 && options.preconditioner != NULL) {
    options.inputs = bench_precondition_usual;
    options.input_count =
        (int)(sizeof bench_precondition_usual / sizeof bench_precondition_usual[0]);
  } else if (options.input_count == 0 && options.solve != NULL) {
    options.inputs = bench_solve_inputs_usual;
    options.input_count =
        (int)(sizeof bench_solve_inputs_usual / sizeof bench_solve_inputs_usual[0]);
  } else if (options.input_count == 0) {
    options.inputs = cuda ? bench_gpu_inputs : bench_cpu_inputs;
    options.input_count = (int)(cuda ? sizeof bench_gpu_inputs / sizeof bench_gpu_inputs[0]
                                     : sizeof bench_cpu_inputs / sizeof bench_cpu_inputs[0]);
  }
  if (options.solve != NULL && options.preconditioner == NULL && !cuda) {
    bench_die("--solve needs a GPU: %s", info.reason);
  }
  bench_given_read(options.rivals, &given);
  bench_json_begin(&json, options.json);
  bench_describe_run(context, command, &json);
  wrong = options.preconditioner != NULL
              ? bench_precondition_inputs(context, cuda, &options, &json)
          : cuda ? bench_run_gpu(context, &options, &given, &json)
                 : bench_run_cpu(context, &options, &given, &json);
  bench_given_end(&given);
  bench_json_integer(&json, "wrong", wrong);
  bench_json_end(&json);
  merbit_context_destroy(context);
  free(command);
  return wrong != 0;
}
