#include "core/context.h"

/* NUMA through the Linux kernel's system calls, without libnuma: which processor belongs to
 * which memory node, binding threads to processors, moving pages to nodes. macOS has no such
 * calls. */
#ifdef __linux__

#define MBI_NODE_ROOT "/sys/devices/system/node"
#define MBI_MOVED_AT_ONCE 1024 /* pages */
#define MBI_MPOL_MF_MOVE 2     /* <linux/mempolicy.h>: move only pages of this process */

static void mbi_text_of_file(const char *root, const char *name, char *text, size_t size) {
  char path[512];
  FILE *file;
  size_t length = 0;
  (void)snprintf(path, sizeof path, "%s/%s", root, name);
  file = fopen(path, "re");
  if (file != NULL) {
    length = fread(text, 1, size - 1, file);
    (void)fclose(file);
  }
  text[length] = '\0';
}

/* Reads the next range of a list in the kernel's format, such as "0-3,8,10-11". Returns 0 at
 * the end of the list. */
static int mbi_list_next(const char **text, long *first, long *last) {
  char *end;
  *first = *last = strtol(*text, &end, 10);
  if (end == *text || *first < 0) {
    return 0;
  }
  if (*end == '-') {
    *text = end + 1;
    *last = strtol(*text, &end, 10);
    if (end == *text) {
      return 0;
    }
  }
  *text = *end == ',' ? end + 1 : end;
  return *last >= *first;
}

static void mbi_numa_add(mbi_numa *numa, long cpu, long node) {
  if (numa->count < MBI_NUMA_CPUS && cpu < CPU_SETSIZE && node < INT16_MAX) {
    numa->cpu[numa->count] = (int16_t)cpu;
    numa->node[numa->count] = (int16_t)node;
    numa->count++;
  }
}

/* Lists the processors of `allowed` node by node. If `root` has no information, all processors
 * belong to node 0. */
MBI_INTERNAL void mbi_numa_read(const char *root, const cpu_set_t *allowed, mbi_numa *numa) {
  char nodes[1024], cpus[4096], name[64];
  const char *node_list = nodes;
  long node, last_node, cpu, last_cpu;
  memset(numa, 0, sizeof *numa);
  mbi_text_of_file(root, "online", nodes, sizeof nodes);
  while (mbi_list_next(&node_list, &node, &last_node)) {
    for (; node <= last_node; node++) {
      const char *cpu_list = cpus;
      const int before = numa->count;
      (void)snprintf(name, sizeof name, "node%ld/cpulist", node);
      mbi_text_of_file(root, name, cpus, sizeof cpus);
      while (mbi_list_next(&cpu_list, &cpu, &last_cpu)) {
        for (; cpu <= last_cpu && cpu < CPU_SETSIZE; cpu++) {
          if (CPU_ISSET((size_t)cpu, allowed)) {
            mbi_numa_add(numa, cpu, node);
          }
        }
      }
      numa->nodes += numa->count > before;
    }
  }
  for (cpu = 0; numa->nodes == 0 && cpu < CPU_SETSIZE; cpu++) {
    if (CPU_ISSET((size_t)cpu, allowed)) {
      mbi_numa_add(numa, cpu, 0);
    }
  }
  numa->nodes = numa->nodes > 0 ? numa->nodes : 1;
}

/* Lists the processors that this process may use now. */
MBI_INTERNAL void mbi_numa_here(mbi_numa *numa) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
    CPU_ZERO(&allowed);
  }
  mbi_numa_read(MBI_NODE_ROOT, &allowed, numa);
}

MBI_INTERNAL void mbi_processor_bind(int cpu) {
  cpu_set_t own;
  CPU_ZERO(&own);
  CPU_SET((size_t)cpu, &own);
  (void)sched_setaffinity(0, sizeof own, &own);
}

/* Sets *first and *end to the bounds of the pages of `page` bytes that lie entirely in an
 * array. */
MBI_INTERNAL void mbi_numa_pages(uintptr_t array, size_t bytes, uintptr_t page,
                                 uintptr_t *first, uintptr_t *end) {
  *first = (array + page - 1) / page * page;
  *end = (array + bytes) / page * page;
}

/* Moves the pages that lie entirely in an array to a memory node. Returns the number of pages
 * that are not there afterwards, or -1 if the system cannot move pages. */
MBI_INTERNAL int64_t mbi_numa_move(const void *array, size_t bytes, int node) {
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  uintptr_t at, end;
  void *pages[MBI_MOVED_AT_ONCE];
  int nodes[MBI_MOVED_AT_ONCE], where[MBI_MOVED_AT_ONCE];
  int64_t elsewhere = 0;
  mbi_numa_pages((uintptr_t)array, bytes, page, &at, &end);
  while (at < end) {
    unsigned long count = 0, i;
    for (; count < MBI_MOVED_AT_ONCE && at < end; count++, at += page) {
      pages[count] = (void *)at;
      nodes[count] = node;
      where[count] = -1;
    }
    if (syscall(SYS_move_pages, 0, count, pages, nodes, where, MBI_MPOL_MF_MOVE) < 0) {
      return -1;
    }
    for (i = 0; i < count; i++) {
      elsewhere += where[i] != node;
    }
  }
  return elsewhere;
}

#elif !defined(_WIN32)

/* Leaves threads unbound. */
MBI_INTERNAL void mbi_numa_here(mbi_numa *numa) {
  memset(numa, 0, sizeof *numa);
}

MBI_INTERNAL void mbi_processor_bind(int cpu) {
  (void)cpu;
}

MBI_INTERNAL int64_t mbi_numa_move(const void *array, size_t bytes, int node) {
  (void)array, (void)bytes, (void)node;
  return -1;
}

#endif
