// Finds the fields of a kernel's struct of arguments by reflection, so that no second list is
// needed. An object of the struct is made from probes; each probe is converted to the type of
// its field and records where the field is. The struct may not have constructors; it may hold
// pointers, numbers, and structs and arrays of these.
#ifndef SIMT_FIELDS_H
#define SIMT_FIELDS_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <type_traits>
#include <utility>

template <class T> struct mbk_parameters; // in include/jit/device.cuh
struct mbk_scalar; // alpha or beta: counts as one field with one size per kernel

enum { SIMT_FIELDS_MAX = 32, SIMT_POINTERS_MAX = 32 };

struct simt_field {
  size_t at, bytes;
  bool scalar; // a mbk_scalar
};

struct simt_fields {
  size_t bytes = 0;
  unsigned count = 0, pointers = 0;
  simt_field field[SIMT_FIELDS_MAX] = {};    // fields of the struct itself
  size_t pointer[SIMT_POINTERS_MAX] = {};    // offsets, including those in inner structs
  unsigned field_of[SIMT_POINTERS_MAX] = {}; // the field that holds the pointer
};

template <class T>
constexpr bool simt_has_fields = std::is_class_v<T> && !std::is_same_v<T, mbk_scalar>;

struct simt_probe {
  simt_fields *found;
  template <class T> constexpr operator T() const;
};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#ifdef __clang__
#pragma GCC diagnostic ignored "-Wmissing-braces"
#endif
template <class P, size_t... i>
constexpr auto simt_made_of(std::index_sequence<i...>, int)
    -> decltype(P{((void)i, simt_probe{})...}, true) {
  return true;
}
template <class P, size_t... i> constexpr bool simt_made_of(std::index_sequence<i...>, long) {
  return false;
}

template <class P, size_t... i>
constexpr void simt_probe_all(simt_fields &found, std::index_sequence<i...>) {
  (void)P{((void)i, simt_probe{&found})...};
}
#pragma GCC diagnostic pop

// Returns the number of fields of P: the most probes that a P can be made of.
template <class P, size_t n = 0> constexpr size_t simt_count_fields() {
  if constexpr (simt_made_of<P>(std::make_index_sequence<n + 1>(), 0)) {
    return simt_count_fields<P, n + 1>();
  } else {
    return n;
  }
}

// Returns the fields of P. If P is no struct, it is its only field.
template <class P> constexpr simt_fields simt_fields_of() {
  simt_fields found;
  if constexpr (simt_has_fields<P>) {
    simt_probe_all<P>(found, std::make_index_sequence<simt_count_fields<P>()>());
  } else {
    (void)(P)simt_probe{&found};
  }
  found.bytes = (found.bytes + alignof(P) - 1) / alignof(P) * alignof(P);
  return found;
}
template <class P> struct simt_struct {
  static constexpr simt_fields fields = simt_fields_of<P>();
  static_assert(fields.bytes == sizeof(P), "a struct whose fields are not all seen");
};

template <class T> constexpr simt_probe::operator T() const {
  const size_t at = (found->bytes + alignof(T) - 1) / alignof(T) * alignof(T);
  if constexpr (std::is_pointer_v<T>) {
    found->pointer[found->pointers] = at;
    found->field_of[found->pointers++] = found->count;
  } else if constexpr (simt_has_fields<T>) {
    constexpr const simt_fields &inner = simt_struct<T>::fields;
    for (unsigned i = 0; i < inner.pointers; i++) {
      found->pointer[found->pointers] = at + inner.pointer[i];
      found->field_of[found->pointers++] = found->count;
    }
  }
  found->field[found->count++] = {at, sizeof(T), std::is_same_v<T, mbk_scalar>};
  found->bytes = at + sizeof(T);
  return T();
}

// The struct that a kernel takes, and whether its fields are separate parameters on a GPU.
template <class P> struct simt_taken {
  typedef P type;
  static constexpr bool apart = false;
};
template <class T> struct simt_taken<mbk_parameters<T>> {
  typedef T type;
  static constexpr bool apart = true;
};

// Calls a kernel with the address of its struct of arguments, for one thread.
template <auto function> struct simt_unpack;
template <class P, void (*function)(P)> struct simt_unpack<function> {
  static constexpr const simt_fields *fields =
      &simt_struct<typename simt_taken<P>::type>::fields;
  static constexpr bool apart = simt_taken<P>::apart;
  static void call(const void *arguments) {
    function(*(const P *)arguments);
  }
};
#endif // SIMT_FIELDS_H
