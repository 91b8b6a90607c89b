// Vector operations that compilers do not generate by themselves. Unaligned; intrinsics where available, else, and where
// WINDHOVER_PLAIN is defined, generic vector code.
//
// For kernels_*.cc only. Everything here and in *_kernels.h has internal linkage: the linker would share inline functions
// with external linkage between sets, and a CPU could execute instructions that it does not have.
#pragma once

#include <cstdint>
#include <cstring>

#if defined(WINDHOVER_PLAIN)
#elif defined(__aarch64__)
#define WINDHOVER_NEON
#include <arm_neon.h>
#elif defined(__SSE2__)
#define WINDHOVER_SSE2
#include <immintrin.h>
#if defined(__AVX2__)
#define WINDHOVER_AVX2
#endif
#endif

namespace windhover {
namespace {

template <typename T>
inline T smaller(T a, T b) {
  return b < a ? b : a;
}
template <typename T>
inline T larger(T a, T b) {
  return a < b ? b : a;
}

using Shorts8 = int16_t __attribute__((vector_size(16)));
using Ints4 = int32_t __attribute__((vector_size(16)));

inline Shorts8 load8(const int16_t* from) {
  Shorts8 values;
  std::memcpy(&values, from, sizeof values);
  return values;
}

// Products in 32 bits, added up to four sums in any order.
inline Ints4 multiply_add(Shorts8 a, Shorts8 b) {
#if defined(WINDHOVER_NEON)
  const int16x8_t x = (int16x8_t)a, y = (int16x8_t)b;
  return (Ints4)vmlal_high_s16(vmull_s16(vget_low_s16(x), vget_low_s16(y)), x, y);
#elif defined(WINDHOVER_SSE2)
  return (Ints4)_mm_madd_epi16((__m128i)a, (__m128i)b);
#else
  Ints4 sums{};
  for (int i = 0; i < 4; i++) sums[i] = a[2 * i] * b[2 * i] + a[2 * i + 1] * b[2 * i + 1];
  return sums;
#endif
}

// a0 + a1, a2 + a3, b0 + b1, b2 + b3.
inline Ints4 add_pairs(Ints4 a, Ints4 b) {
#if defined(WINDHOVER_NEON)
  return (Ints4)vpaddq_s32((int32x4_t)a, (int32x4_t)b);
#else
  return __builtin_shuffle(a, b, Ints4{0, 2, 4, 6}) + __builtin_shuffle(a, b, Ints4{1, 3, 5, 7});
#endif
}

// Sums of four windows of four samples, each with its own four of 16 weights.
inline Ints4 weigh_windows_of_4(const int16_t* const at[4], const int16_t* weights) {
#if defined(WINDHOVER_NEON)
  int32x4_t products[4];
  for (int i = 0; i < 4; i++) products[i] = vmull_s16(vld1_s16(at[i]), vld1_s16(weights + 4 * i));
  return (Ints4)vpaddq_s32(vpaddq_s32(products[0], products[1]), vpaddq_s32(products[2], products[3]));
#else
  using Longs2 = int64_t __attribute__((vector_size(16)));
  int64_t windows[4];
  for (int i = 0; i < 4; i++) std::memcpy(&windows[i], at[i], sizeof windows[i]);
  // Two windows per vector; products are added pairwise within each.
  const Shorts8 first = (Shorts8)Longs2{windows[0], windows[1]}, second = (Shorts8)Longs2{windows[2], windows[3]};
  return add_pairs(multiply_add(first, load8(weights)), multiply_add(second, load8(weights + 8)));
#endif
}

struct Ints8 {
  Ints4 low, high;
};

inline Ints8 operator+(Ints8 a, Ints8 b) { return {a.low + b.low, a.high + b.high}; }

inline Ints8 multiply(Shorts8 a, int16_t by) {
#if defined(WINDHOVER_NEON)
  const int16x8_t x = (int16x8_t)a;
  return {(Ints4)vmull_n_s16(vget_low_s16(x), by), (Ints4)vmull_high_n_s16(x, by)};
#elif defined(WINDHOVER_SSE2)
  const __m128i x = (__m128i)a, y = _mm_set1_epi16(by), low = _mm_mullo_epi16(x, y), high = _mm_mulhi_epi16(x, y);
  return {(Ints4)_mm_unpacklo_epi16(low, high), (Ints4)_mm_unpackhi_epi16(low, high)};
#else
  Ints8 products{};
  for (int i = 0; i < 4; i++) {
    products.low[i] = a[i] * by;
    products.high[i] = a[i + 4] * by;
  }
  return products;
#endif
}

// Divides by 2^BITS, rounds to the nearest and clamps to 0..255. In two steps, the second in 16 bits: values are below
// 2^(BITS + 10).
template <int BITS>
inline void store_bytes(uint8_t* at, Ints8 values) {
  constexpr int second = 5, first = BITS - second;
#if defined(WINDHOVER_NEON)
  const uint16x4_t low = vqrshrun_n_s32((int32x4_t)values.low, first);
  const uint16x4_t high = vqrshrun_n_s32((int32x4_t)values.high, first);
  vst1_u8(at, vqrshrn_n_u16(vcombine_u16(low, high), second));
#elif defined(WINDHOVER_SSE2)
  const __m128i half = _mm_set1_epi32(1 << (first - 1));
  const __m128i low = _mm_srai_epi32(_mm_add_epi32((__m128i)values.low, half), first);
  const __m128i high = _mm_srai_epi32(_mm_add_epi32((__m128i)values.high, half), first);
  const __m128i near = _mm_adds_epi16(_mm_packs_epi32(low, high), _mm_set1_epi16(1 << (second - 1)));
  _mm_storel_epi64((__m128i*)at, _mm_packus_epi16(_mm_srai_epi16(near, second), near));
#else
  for (int i = 0; i < 8; i++) {
    const int32_t value = i < 4 ? values.low[i] : values.high[i - 4];
    const int32_t near = ((value + (1 << (first - 1))) >> first) + (1 << (second - 1));
    at[i] = static_cast<uint8_t>(near < 0 ? 0 : near >> second > 255 ? 255 : near >> second);
  }
#endif
}

// The lower halves, which hold the whole values.
inline void store4(int16_t* at, Ints4 values) {
  using Shorts4 = int16_t __attribute__((vector_size(8)));
  const Shorts4 low = __builtin_convertvector(values, Shorts4);
  std::memcpy(at, &low, sizeof low);
}

}  // namespace
}  // namespace windhover
