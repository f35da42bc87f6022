// Complex numbers: two adjacent reals, real part first. jit/device.cuh includes this file,
// whose functions are built on those for reals. A product is (ac - bd) + (ad + bc)i. Each of
// its parts is the sum of two rounded products, not fused with them.
#ifndef MBK_COMPLEX_CUH
#define MBK_COMPLEX_CUH

// Trivial except for the constructor from a real number, so that packs of complex numbers are
// trivial too.
template <class T> struct alignas(2 * sizeof(T)) mbk_complex {
  T re, im;
  mbk_complex() = default;
  MBK_MEMBER mbk_complex(T re, T im = 0) : re(re), im(im) {
  }
};

typedef mbk_complex<float> mbk_c64;
typedef mbk_complex<double> mbk_c128;

// Counts the reals in a value: 1, or 2 for a complex number.
template <class T> struct mbk_parts {
  enum { count = 1 };
};
template <class T> struct mbk_parts<mbk_complex<T>> {
  enum { count = 2 };
};

template <class T>
MBK_DEVICE mbk_complex<T> operator+(const mbk_complex<T> &a, const mbk_complex<T> &b) {
  return mbk_complex<T>(a.re + b.re, a.im + b.im);
}
template <class T>
MBK_DEVICE bool operator==(const mbk_complex<T> &a, const mbk_complex<T> &b) {
  return a.re == b.re && a.im == b.im;
}
template <class T>
MBK_DEVICE bool operator!=(const mbk_complex<T> &a, const mbk_complex<T> &b) {
  return !(a == b);
}

template <class T>
MBK_DEVICE mbk_complex<T> mbk_multiply(const mbk_complex<T> &a, const mbk_complex<T> &b) {
  return mbk_complex<T>(mbk_multiply(a.re, b.re) - mbk_multiply(a.im, b.im),
                        mbk_multiply(a.re, b.im) + mbk_multiply(a.im, b.re));
}

template <class T> MBK_DEVICE mbk_complex<T> mbk_conjugate(const mbk_complex<T> &a) {
  return mbk_complex<T>(a.re, -a.im);
}

template <class T>
MBK_DEVICE mbk_complex<T> mbk_shuffle(mbk_u32 mask, mbk_complex<T> value, int lane, int width) {
  const T re = mbk_shuffle(mask, value.re, lane, width);
  return mbk_complex<T>(re, mbk_shuffle(mask, value.im, lane, width));
}
template <class T>
MBK_DEVICE mbk_complex<T> mbk_shuffle_up(mbk_u32 mask, mbk_complex<T> value, int delta,
                                         int width) {
  const T re = mbk_shuffle_up(mask, value.re, delta, width);
  return mbk_complex<T>(re, mbk_shuffle_up(mask, value.im, delta, width));
}
template <class T>
MBK_DEVICE mbk_complex<T> mbk_shuffle_down(mbk_u32 mask, mbk_complex<T> value, int delta,
                                           int width) {
  const T re = mbk_shuffle_down(mask, value.re, delta, width);
  return mbk_complex<T>(re, mbk_shuffle_down(mask, value.im, delta, width));
}
template <class T>
MBK_DEVICE mbk_complex<T> mbk_shuffle_xor(mbk_u32 mask, mbk_complex<T> value, int lanes,
                                          int width) {
  const T re = mbk_shuffle_xor(mask, value.re, lanes, width);
  return mbk_complex<T>(re, mbk_shuffle_xor(mask, value.im, lanes, width));
}

// Loads a complex number with one load of 8 or 16 bytes.
template <class T> MBK_DEVICE mbk_complex<T> mbk_load(const mbk_complex<T> *address) {
  return mbk_load_pack<mbk_complex<T>, 1>(address).at[0];
}
template <class T> MBK_DEVICE mbk_complex<T> mbk_load_streaming(const mbk_complex<T> *address) {
  return mbk_load_pack_streaming<mbk_complex<T>, 1>(address).at[0];
}

#endif
