// Sums of weighed rows: the first pass of a resize. For kernels_*.cc only.
#pragma once

#include <type_traits>

#include "kernels.h"
#include "vectors.h"

namespace windhover {
namespace {

constexpr uint16_t sum_offset = 0x8000;

// Asks for the same part of the rows below: those that the next target needs have then come when it is their turn. That
// they may lie outside the frame does no harm.
inline void prefetch_below(const uint8_t* top, ptrdiff_t stride, int rows, int bytes) {
  for (int at = 0; at < bytes; at += 64) {
    for (int k = rows; k < 2 * rows; k++) __builtin_prefetch(top + k * stride + at);
  }
}

#if defined(WINDHOVER_AVX2)

// Rows are taken in pairs, whose bytes are interleaved: one instruction multiplies them by their two weights and adds the
// products. It needs signed samples, from -128 to 127, so that the offset of a sum is already in: the weights of all rows
// add up to 256, and those of two never to more, so that nothing saturates.
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

// Calls back with every 32 bytes; the last may overlap those before, as the same sums come out. `bytes` is at least 32.
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

// Sums wrap around as unsigned numbers do, so that the offset costs nothing.
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

// Several rows at once, as the sums then stay in registers.
constexpr int rows_at_once = 8;

// Calls back with a constant number of rows, and with whether there are sums of others already.
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

}  // namespace
}  // namespace windhover
