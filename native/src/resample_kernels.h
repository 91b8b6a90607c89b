// The two passes of a resize: weighted sums of rows, then of columns. For kernels_*.cc only.
#pragma once

#include <type_traits>

#include "kernels.h"
#include "vectors.h"

namespace windhover {
namespace {

// ------------------------------------------------------------------------------------------------ rows

constexpr uint16_t sum_offset = 0x8000;

// Prefetches the same part of the rows below, which the next target needs. Rows outside of the frame do no harm.
inline void prefetch_below(const uint8_t* top, ptrdiff_t stride, int rows, int bytes) {
  for (int at = 0; at < bytes; at += 64) {
    for (int k = rows; k < 2 * rows; k++) __builtin_prefetch(top + k * stride + at);
  }
}

#if defined(WINDHOVER_AVX2)

// Pairs of rows with interleaved bytes: one instruction multiplies them by their two weights and adds the products. It needs
// signed samples, from -128 to 127, which include the offset of a sum. The weights add up to 256, so nothing saturates.
struct RowPairs {
  int count;
  // Pairs of weights; the second of an odd row is 0.
  __m256i weights[most_rows / 2];
};

inline RowPairs pair_rows(const uint8_t* weights, int count) {
  RowPairs pairs;
  pairs.count = (count + 1) / 2;
  for (int p = 0; p < pairs.count; p++) {
    const int second = 2 * p + 1 < count ? weights[2 * p + 1] : 0;
    pairs.weights[p] = _mm256_set1_epi16(static_cast<int16_t>(weights[2 * p] | second << 8));
  }
  return pairs;
}

struct SumPair {
  __m256i low, high;
};

// 32 bytes of each row. The halves are of bytes 0 to 7 and 16 to 23, and of the others.
template <int ROWS>
inline SumPair sum_32(const uint8_t* at, ptrdiff_t stride, const RowPairs& pairs, int rows) {
  const __m256i sign = _mm256_set1_epi8(static_cast<char>(0x80));
  const auto row = [&](int k) {
    return _mm256_xor_si256(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at + k * stride)), sign);
  };
  const int count = ROWS ? ROWS : rows;
  SumPair sums{};
  for (int p = 0; 2 * p < count; p++) {
    const __m256i a = row(2 * p), b = 2 * p + 1 < count ? row(2 * p + 1) : a;
    const __m256i low = _mm256_maddubs_epi16(pairs.weights[p], _mm256_unpacklo_epi8(a, b));
    const __m256i high = _mm256_maddubs_epi16(pairs.weights[p], _mm256_unpackhi_epi8(a, b));
    sums = p == 0 ? SumPair{low, high} : SumPair{_mm256_add_epi16(sums.low, low), _mm256_add_epi16(sums.high, high)};
  }
  return sums;
}

inline void store(Sum* at, __m256i sums) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(at), sums); }

inline void store_sums(SumPair sums, Sum* at) {
  store(at, _mm256_permute2x128_si256(sums.low, sums.high, 0x20));
  store(at + 16, _mm256_permute2x128_si256(sums.low, sums.high, 0x31));
}

inline void store_separated(SumPair sums, Sum* first, Sum* second) {
  const __m256i order = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15));
  const __m256i low = _mm256_shuffle_epi8(sums.low, order), high = _mm256_shuffle_epi8(sums.high, order);
  store(first, _mm256_unpacklo_epi64(low, high));
  store(second, _mm256_unpackhi_epi64(low, high));
}

// Calls `store_at` for each 32 bytes; the last block may overlap the one before. `bytes` is at least 32.
template <int ROWS, typename Store>
inline void sum_blocks(const uint8_t* top, ptrdiff_t stride, const RowPairs& pairs, int rows, int bytes, Store store_at) {
  int at = 0;
  for (; at + 64 <= bytes; at += 64) {
    prefetch_below(top + at, stride, ROWS ? ROWS : rows, 64);
    store_at(at, sum_32<ROWS>(top + at, stride, pairs, rows));
    store_at(at + 32, sum_32<ROWS>(top + at + 32, stride, pairs, rows));
  }
  for (; at < bytes; at += 32) {
    const int from = smaller(at, bytes - 32);
    store_at(from, sum_32<ROWS>(top + from, stride, pairs, rows));
  }
}

template <typename Store>
inline void choose_blocks(const uint8_t* top, ptrdiff_t stride, const uint8_t* weights, int count, int bytes,
                          Store store_at) {
  const RowPairs pairs = pair_rows(weights, count);
  switch (count) {
    case 2: return sum_blocks<2>(top, stride, pairs, count, bytes, store_at);
    case 3: return sum_blocks<3>(top, stride, pairs, count, bytes, store_at);
    case 4: return sum_blocks<4>(top, stride, pairs, count, bytes, store_at);
    case 5: return sum_blocks<5>(top, stride, pairs, count, bytes, store_at);
    case 6: return sum_blocks<6>(top, stride, pairs, count, bytes, store_at);
    case 7: return sum_blocks<7>(top, stride, pairs, count, bytes, store_at);
    default: return sum_blocks<0>(top, stride, pairs, count, bytes, store_at);
  }
}

#endif

// Unsigned sums wrap around, so that the offset costs nothing.
template <int ROWS, bool ADD>
void add_rows(const uint8_t* top, ptrdiff_t stride, const uint8_t* weights, int length, Sum* __restrict sums) {
  uint8_t weight[ROWS];
  for (int k = 0; k < ROWS; k++) weight[k] = weights[k];
  const auto add = [&](int x) {
    uint16_t sum = ADD ? static_cast<uint16_t>(sums[x]) : sum_offset;
    for (int k = 0; k < ROWS; k++) sum = static_cast<uint16_t>(sum + top[k * stride + x] * weight[k]);
    sums[x] = static_cast<Sum>(sum);
  };
  constexpr int block = 64;
  int x = 0;
  for (; x + block <= length; x += block) {
    prefetch_below(top + x, stride, ROWS, block);
    for (int i = 0; i < block; i++) add(x + i);
  }
  for (; x < length; x++) add(x);
}

template <int ROWS, bool ADD>
void add_paired_rows(const uint8_t* top, ptrdiff_t stride, const uint8_t* weights, int length, Sum* __restrict first,
                     Sum* __restrict second) {
  uint8_t weight[ROWS];
  for (int k = 0; k < ROWS; k++) weight[k] = weights[k];
  const auto add = [&](int x) {
    uint16_t a = ADD ? static_cast<uint16_t>(first[x]) : sum_offset;
    uint16_t b = ADD ? static_cast<uint16_t>(second[x]) : sum_offset;
    for (int k = 0; k < ROWS; k++) {
      a = static_cast<uint16_t>(a + top[k * stride + 2 * x] * weight[k]);
      b = static_cast<uint16_t>(b + top[k * stride + 2 * x + 1] * weight[k]);
    }
    first[x] = static_cast<Sum>(a);
    second[x] = static_cast<Sum>(b);
  };
  constexpr int block = 64;
  int x = 0;
  for (; x + block <= length; x += block) {
    prefetch_below(top + 2 * x, stride, ROWS, 2 * block);
    for (int i = 0; i < block; i++) add(x + i);
  }
  for (; x < length; x++) add(x);
}

// Rows added per pass: the sums stay in registers.
constexpr int rows_at_once = 8;

// Calls `call` with the number of rows as a constant, and with whether it adds to existing sums.
template <bool ADD, typename Call>
inline void call_with_rows(int count, Call call) {
  switch (count) {
#define WINDHOVER_CASE(ROWS) \
  case ROWS: return call(std::integral_constant<int, ROWS>{}, std::integral_constant<bool, ADD>{});
    WINDHOVER_CASE(1)
    WINDHOVER_CASE(2)
    WINDHOVER_CASE(3)
    WINDHOVER_CASE(4)
    WINDHOVER_CASE(5)
    WINDHOVER_CASE(6)
    WINDHOVER_CASE(7)
    WINDHOVER_CASE(8)
#undef WINDHOVER_CASE
  }
}

void sum_rows(const uint8_t* top, ptrdiff_t stride, const uint8_t* weights, int count, int length, Sum* sums) {
#if defined(WINDHOVER_AVX2)
  if (length >= 32) {
    return choose_blocks(top, stride, weights, count, length, [&](int at, SumPair pair) { store_sums(pair, sums + at); });
  }
#endif
  const auto add = [&](auto rows, auto is_more) {
    add_rows<decltype(rows)::value, decltype(is_more)::value>(top, stride, weights, length, sums);
  };
  call_with_rows<false>(smaller(count, rows_at_once), add);
  if (count <= rows_at_once) return;
  top += rows_at_once * stride, weights += rows_at_once;
  call_with_rows<true>(count - rows_at_once, add);
}

void sum_paired_rows(const uint8_t* top, ptrdiff_t stride, const uint8_t* weights, int count, int length, Sum* first,
                     Sum* second) {
#if defined(WINDHOVER_AVX2)
  if (length >= 16) {
    return choose_blocks(top, stride, weights, count, 2 * length, [&](int at, SumPair pair) {
      store_separated(pair, first + at / 2, second + at / 2);
    });
  }
#endif
  const auto add = [&](auto rows, auto is_more) {
    add_paired_rows<decltype(rows)::value, decltype(is_more)::value>(top, stride, weights, length, first, second);
  };
  call_with_rows<false>(smaller(count, rows_at_once), add);
  if (count <= rows_at_once) return;
  top += rows_at_once * stride, weights += rows_at_once;
  call_with_rows<true>(count - rows_at_once, add);
}

// ------------------------------------------------------------------------------------------------ columns

// Removes the offset of the sums, times the unit of the weights, and rounds.
constexpr int32_t level_offset = columns_unit * 0x8000 + (1 << 15);

#if defined(WINDHOVER_AVX2)

// Eight windows at a time, two or four of them in one vector.
constexpr int windows_at_once = 8;

inline __m256i load_windows(const Sum* a, const Sum* b) {
  const __m128i low = _mm_loadu_si128(reinterpret_cast<const __m128i*>(a));
  return _mm256_inserti128_si256(_mm256_castsi128_si256(low), _mm_loadu_si128(reinterpret_cast<const __m128i*>(b)), 1);
}

inline __m128i load_short_windows(const Sum* a, const Sum* b) {
  const __m128i low = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(a));
  return _mm_castps_si128(_mm_loadh_pi(_mm_castsi128_ps(low), reinterpret_cast<const __m64*>(b)));
}

inline __m256i load_weights(const int16_t* at) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)); }

// To levels in 16 bits of every 32.
inline __m256i to_levels(__m256i totals) {
  return _mm256_srai_epi32(_mm256_add_epi32(totals, _mm256_set1_epi32(level_offset)), 16);
}

template <int TAPS>
inline __m128i weigh_eight(const Sum* from, const int32_t* first, const int16_t* weights, int taps) {
  if (TAPS == 4) {
    const auto four = [&](int i) {
      const __m256i windows =
          _mm256_inserti128_si256(_mm256_castsi128_si256(load_short_windows(from + first[i], from + first[i + 1])),
                                  load_short_windows(from + first[i + 2], from + first[i + 3]), 1);
      return _mm256_madd_epi16(windows, load_weights(weights + 4 * i));
    };
    // 0, 1, 4, 5 and 2, 3, 6, 7.
    const __m256i levels = to_levels(_mm256_hadd_epi32(four(0), four(4))), packed = _mm256_packs_epi32(levels, levels);
    return _mm_unpacklo_epi32(_mm256_castsi256_si128(packed), _mm256_extracti128_si256(packed, 1));
  }
  const auto two = [&](int i) {
    const auto part = [&](int k) {
      const __m256i windows = load_windows(from + first[i] + k, from + first[i + 1] + k);
      const __m256i by = TAPS == 8 ? load_weights(weights + 8 * i)
                                   : load_windows(weights + i * taps + k, weights + (i + 1) * taps + k);
      return _mm256_madd_epi16(windows, by);
    };
    __m256i sums = part(0);
    for (int k = 8; k < (TAPS ? TAPS : taps); k += 8) sums = _mm256_add_epi32(sums, part(k));
    return sums;
  };
  const __m256i low = _mm256_hadd_epi32(two(0), two(2)), high = _mm256_hadd_epi32(two(4), two(6));
  // 0, 2, 4, 6 and 1, 3, 5, 7.
  const __m256i levels = to_levels(_mm256_hadd_epi32(low, high)), packed = _mm256_packs_epi32(levels, levels);
  return _mm_unpacklo_epi16(_mm256_castsi256_si128(packed), _mm256_extracti128_si256(packed, 1));
}

template <int TAPS>
inline void weigh_some(const Sum* from, const int32_t* first, const int16_t* weights, int taps, Level* to) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), weigh_eight<TAPS>(from, first, weights, taps));
}

#else

// Four windows at a time, at any position: their sums form one vector.
constexpr int windows_at_once = 4;

// TAPS is a constant for the usual numbers, else 0.
template <int TAPS>
inline void weigh_some(const Sum* from, const int32_t* first, const int16_t* weights, int taps, Level* to) {
  const Sum* const at[] = {from + first[0], from + first[1], from + first[2], from + first[3]};
  Ints4 totals;
  if (TAPS == 4) {
    totals = weigh_windows_of_4(at, weights);
  } else {
    Ints4 windows[windows_at_once];
    for (int i = 0; i < windows_at_once; i++) {
      windows[i] = multiply_add(load8(at[i]), load8(weights + i * taps));
      for (int k = 8; k < taps; k += 8) windows[i] += multiply_add(load8(at[i] + k), load8(weights + i * taps + k));
    }
    totals = add_pairs(add_pairs(windows[0], windows[1]), add_pairs(windows[2], windows[3]));
  }
  store4(to, (totals + level_offset) >> 16);
}

#endif

static_assert(pixels_at_once % windows_at_once == 0);

// All planes in one loop, as they share windows and weights.
template <int TAPS, int PLANES>
inline void weigh_all(const Sum* const* sums, const Windows& windows, Level* const* out) {
  const int taps = TAPS ? TAPS : windows.taps;
  const int16_t* weights = windows.weights;
  const Sum* from[PLANES];
  Level* to[PLANES];
  for (int p = 0; p < PLANES; p++) from[p] = sums[p], to[p] = out[p];
  for (int x = 0; x < windows.count; x += windows_at_once, weights += windows_at_once * taps) {
    for (int p = 0; p < PLANES; p++) weigh_some<TAPS>(from[p], windows.first + x, weights, taps, to[p] + x);
  }
}

template <int PLANES>
inline void choose_taps(const Sum* const* sums, const Windows& windows, Level* const* out) {
  switch (windows.taps) {
    case 4: return weigh_all<4, PLANES>(sums, windows, out);
    case 8: return weigh_all<8, PLANES>(sums, windows, out);
    default: return weigh_all<0, PLANES>(sums, windows, out);
  }
}

void weigh_windows(const Sum* sums, const Windows& windows, Level* out) { choose_taps<1>(&sums, windows, &out); }

void weigh_both_windows(const Sum* const sums[2], const Windows& windows, Level* const out[2]) {
  choose_taps<2>(sums, windows, out);
}

}  // namespace
}  // namespace windhover
