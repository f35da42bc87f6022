// An NVRTC whose GPU is the CPU: it compiles a program with the host's C++ compiler and the
// shim into a shared object, which the fake libcuda loads. Equal programs are compiled once per
// build folder. CMake sets FAKE_COMPILER, FAKE_FLAGS, FAKE_FULL_FLAGS (appended with
// MERBIT_TEST_FULL), FAKE_TESTS (the folder tests/), FAKE_AHEAD (the folder of the compiled
// run.cpp and perhaps of fake/ahead.h) and FAKE_FOLDER (the folder of the shared objects).
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "fake.h"

namespace {
enum result {
  SUCCESS = 0,
  INVALID_INPUT = 3,
  INVALID_PROGRAM = 4,
  INVALID_OPTION = 5,
  COMPILATION = 6
};

struct program {
  std::string source;
  std::map<std::string, std::string> texts; // headers by name
  std::string log, image;
  bool ptx = false;
};

std::mutex lock;
fake_nvrtc state;
std::set<program *> programs;

const std::string flags =
    getenv("MERBIT_TEST_FULL") == nullptr ? FAKE_FLAGS : FAKE_FLAGS " " FAKE_FULL_FLAGS;

const char device_file[] = "jit/device.cuh"; // the shim replaces it

// Hashes each text after its length, eight bytes at a time: programs with their headers are
// hashed some 10000 times when tests fail every call.
uint64_t hash(uint64_t start, const std::string &text) {
  uint64_t word = text.size();
  for (size_t at = 0;; at += sizeof word) {
    start = (start ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    start ^= start >> 32;
    if (at >= text.size()) {
      return start;
    }
    word = 0;
    memcpy(&word, text.data() + at, std::min(sizeof word, text.size() - at));
  }
}

time_t changed(const std::string &path) {
  struct stat about;
  return stat(path.c_str(), &about) == 0 ? about.st_mtime : 0;
}

// Returns when the included files last changed; programs compiled before are out of date.
time_t shim_changed() {
  time_t newest = std::max({changed(FAKE_AHEAD "/run.o"), changed(FAKE_TESTS "/fake/ahead.h"),
                            changed(FAKE_TESTS "/fake/program.h")});
  for (const char *folder : {FAKE_TESTS "/simt", FAKE_TESTS "/simt/include/jit"}) {
    DIR *open = opendir(folder);
    while (const dirent *entry = open != nullptr ? readdir(open) : nullptr) {
      const std::string name = entry->d_name;
      if (name.find(".h") != std::string::npos || name.find(".cuh") != std::string::npos) {
        newest = std::max(newest, changed(std::string(folder) + "/" + name));
      }
    }
    if (open != nullptr) {
      closedir(open);
    }
  }
  return newest;
}

// Returns jit/device.cuh, which program.h includes, and those of `count` texts that the source,
// or a text found so, names in quotes: a program includes few of the hundred that merbit.h
// passes.
std::map<std::string, std::string>
included(const char *source, int count, const char *const *texts, const char *const *names) {
  std::unordered_map<std::string_view, const char *> given;
  for (int i = 0; i < count; i++) {
    given.emplace(names[i], texts[i]);
  }
  std::map<std::string, std::string> found;
  std::vector<std::string> unread = {source, std::string("\"") + device_file + "\""};
  while (!unread.empty()) {
    const std::string text = unread.back();
    unread.pop_back();
    for (size_t quote = text.find('"'), next; quote != std::string::npos; quote = next) {
      next = text.find('"', quote + 1);
      const std::string name = text.substr(quote + 1, next - quote - 1);
      const auto it = given.find(name);
      if (it != given.end() && found.emplace(name, it->second).second) {
        unread.push_back(it->second);
      }
    }
  }
  return found;
}

// Returns the names of kernels, after MBK_KERNEL, MBK_KERNEL_1 or MBK_KERNEL_2 and launch
// bounds, with their parts. The preprocessor may leave some of them out.
std::map<std::string, int> kernel_names(const program &p) {
  std::map<std::string, int> found;
  for (const auto &[file, text] : p.texts) {
    size_t at = 0;
    while ((at = text.find("MBK_KERNEL", at)) != std::string::npos) {
      at += strlen("MBK_KERNEL");
      const int part = text[at] == '_' && isdigit(text[at + 1]) ? text[at + 1] - '0' : 0;
      at += part > 0 ? strlen("_1") : 0;
      const size_t open = text.find('(', at);
      const size_t bounds =
          std::min(text.find("MBK_BOUNDS", at), text.find("MBK_RESIDENT", at));
      const size_t from = bounds < open ? text.find(')', bounds) + 1 : at;
      const size_t begin = text.find_first_not_of(" \n\t", from);
      const size_t end = text.find_first_of(" (\n", begin);
      const std::string name = text.substr(begin, end - begin);
      if (name.compare(0, 4, "mbk_") == 0) { // skip the macro's definition
        found[name] = part;
      }
    }
  }
  return found;
}

// Returns the program as C++. A kernel that is left out is replaced by the stand-in in the
// outer namespace.
std::string translate(const program &p) {
  std::string outer, table;
  for (const auto &[name, part] : kernel_names(p)) {
    outer += "[[maybe_unused]] static void " + name + "(fake_none) {}\n";
    table += "FAKE_KERNEL(" + name + ", " + std::to_string(part) + ")\n";
  }
  return "#include \"fake/ahead.h\"\n#define FAKE_INSIDE_PROGRAM\n#include "
         "\"fake/program.h\"\nnamespace outer {\n" +
         outer + "namespace inner {\n" + p.source +
         "#if MBK_STOPS || MBK_SCALARS_DEVICE // a flag in the place of alpha, or both\n"
         "#define FAKE_SCALARS_DEVICE true\n#else\n#define FAKE_SCALARS_DEVICE false\n#endif\n"
         "FAKE_PROGRAM(\n" +
         table + ")\n}\n}\n";
}

void write(const std::string &folder, const std::string &name, const std::string &text) {
  for (size_t slash = 0; (slash = name.find('/', slash + 1)) != std::string::npos;) {
    mkdir((folder + "/" + name.substr(0, slash)).c_str(), 0777);
  }
  std::ofstream(folder + "/" + name) << text;
}

// Builds the shared object of `p` at `path`. Any number of processes may do so: each works in
// its own folder and renames the result.
bool build(program &p, const std::string &path) {
  std::string folder = path + "-XXXXXX", include = " -I'" FAKE_AHEAD "' -I.";
  if (mkdtemp(&folder[0]) == nullptr) {
    p.log = "the fake cannot make " + folder + "\n";
    return false;
  }
  for (const auto &[file, text] : p.texts) {
    if (file == device_file) {
      include += " -I'" FAKE_TESTS "/simt/include'";
    } else {
      write(folder, file, text);
    }
  }
  write(folder, "program.cpp", translate(p));
  const std::string command = "cd '" + folder + "' && '" FAKE_COMPILER "' " + flags + include +
                              " -I'" FAKE_TESTS "' program.cpp '" FAKE_AHEAD
                              "/run.o' -o program.so >log 2>&1";
  const bool done = system(command.c_str()) == 0 &&
                    rename((folder + "/program.so").c_str(), path.c_str()) == 0;
  std::ifstream log(folder + "/log");
  p.log.assign(std::istreambuf_iterator<char>(log), {});
  std::error_code ignored;
  (void)std::filesystem::remove_all(folder, ignored);
  state.built++;
  return done;
}

bool known_option(const std::string &option) {
  return option == "--std=c++14" || option == "--no-source-include";
}

int compile(program &p, int count, const char *const *options) {
  const std::string sm = "--gpu-architecture=sm_", compute = "--gpu-architecture=compute_";
  const std::string define = "-DMBK_PROGRAM_PART=";
  std::string architecture, path, part = "-1"; // all parts
  uint64_t key = hash(hash(UINT64_C(0xcbf29ce484222325), p.source), FAKE_COMPILER " " + flags);
  char name[40];
  state.compiled++;
  state.options[0] = '\0';
  for (int i = 0; i < count; i++) {
    const std::string option = options[i];
    const size_t used = strlen(state.options);
    snprintf(state.options + used, sizeof state.options - used, " %s", options[i]);
    p.ptx = option.compare(0, compute.size(), compute) == 0;
    if (p.ptx || option.compare(0, sm.size(), sm) == 0) {
      architecture = (p.ptx ? "ptx " : "cubin ") + option.substr((p.ptx ? compute : sm).size());
    } else if (option.compare(0, define.size(), define) == 0) {
      part = option.substr(define.size()); // all parts share one shared object
    } else if (!known_option(option)) {
      p.log = "nvrtc: error: unrecognized option " + option + "\n";
      return INVALID_OPTION;
    }
  }
  for (const auto &[file, text] : p.texts) {
    key = hash(hash(key, file), text);
  }
  snprintf(name, sizeof name, "/%016llx.so", (unsigned long long)key);
  mkdir(FAKE_FOLDER, 0777);
  path = FAKE_FOLDER + std::string(name);
  static const time_t shim = shim_changed();
  if (changed(path) < shim && !build(p, path)) {
    return COMPILATION;
  }
  p.image = "fake " + architecture + " " + part + " " + path;
  return SUCCESS;
}

// One call: holds the lock and determines the result.
struct call {
  std::lock_guard<std::mutex> guard{lock};
  program *p;
  int result;

  call(const char *name, void *handle, bool needs_program = true)
      : p((program *)handle), result(fake_answer(&state.calls, name)) {
    if (result == 0 && needs_program && programs.count(p) == 0) {
      result = INVALID_PROGRAM;
    }
  }
};

int take_size(const call &c, const std::string &text, size_t *size) {
  *size = c.result == 0 ? text.size() + 1 : 0xbad;
  return c.result;
}

int take(const call &c, const std::string &text, char *target) {
  if (c.result == 0) {
    memcpy(target, text.c_str(), text.size() + 1);
  }
  return c.result;
}
} // namespace

extern "C" {
fake_nvrtc *fake_nvrtc_state() {
  return &state;
}

void fake_nvrtc_reset() {
  const std::lock_guard<std::mutex> guard(lock);
  for (program *p : programs) {
    delete p;
  }
  programs.clear();
  state = {};
  state.major = 13;
  state.architectures[0] = 75;
  state.architectures[1] = 90;
}

static const bool ready = (fake_nvrtc_reset(), true);

int nvrtcVersion(int *major, int *minor) {
  const call c(__func__, nullptr, false);
  *major = state.major;
  *minor = state.minor;
  return c.result;
}

const char *nvrtcGetErrorString(int result) {
  return result == COMPILATION ? "NVRTC_ERROR_COMPILATION" : "NVRTC_ERROR_FAKE";
}

int nvrtcGetNumSupportedArchs(int *count) {
  const call c(__func__, nullptr, false);
  for (*count = 0; *count < 4 && state.architectures[*count] != 0; ++*count) {
  }
  return c.result;
}

int nvrtcGetSupportedArchs(int *list) {
  const call c(__func__, nullptr, false);
  for (int i = 0; i < 4 && state.architectures[i] != 0; i++) {
    list[i] = state.architectures[i];
  }
  return c.result;
}

int nvrtcCreateProgram(void **handle, const char *source, const char *, int count,
                       const char *const *headers, const char *const *names) {
  const call c(__func__, nullptr, false);
  *handle = nullptr;
  if (c.result != 0) {
    return c.result;
  }
  program *p = new program;
  p->source = source;
  p->texts = included(source, count, headers, names);
  programs.insert(p);
  state.programs++;
  *handle = p;
  return SUCCESS;
}

int nvrtcCompileProgram(void *handle, int count, const char *const *options) {
  const call c(__func__, handle);
  return c.result != 0 ? c.result : compile(*c.p, count, options);
}

int nvrtcDestroyProgram(void **handle) { // does its work even if it fails
  const call c(__func__, *handle);
  if (programs.erase(c.p) != 0) {
    delete c.p;
    state.programs--;
  }
  *handle = nullptr;
  return c.result;
}

int nvrtcGetProgramLogSize(void *handle, size_t *size) {
  const call c(__func__, handle);
  return take_size(c, c.result == 0 ? c.p->log : "", size);
}

int nvrtcGetProgramLog(void *handle, char *log) {
  const call c(__func__, handle);
  return take(c, c.result == 0 ? c.p->log : "", log);
}

#ifndef FAKE_OLD // missing from NVRTC before 11.2
int nvrtcGetCUBINSize(void *handle, size_t *size) {
  const call c(__func__, handle);
  return take_size(c, c.result == 0 ? c.p->image : "", size);
}

int nvrtcGetCUBIN(void *handle, char *cubin) {
  const call c(__func__, handle);
  return take(c, c.result == 0 ? c.p->image : "", cubin);
}
#endif

int nvrtcGetPTXSize(void *handle, size_t *size) {
  const call c(__func__, handle);
  return take_size(c, c.result == 0 ? c.p->image : "", size);
}

int nvrtcGetPTX(void *handle, char *ptx) {
  const call c(__func__, handle);
  return take(c, c.result == 0 ? c.p->image : "", ptx);
}
}
