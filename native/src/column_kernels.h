// Sums of weighed columns: the second pass of a resize. For kernels_*.cc only.
#pragma once

#include "kernels.h"
#include "vectors.h"

namespace windhover {
namespace {

// The offset of the sums comes back in, times the unit of the weights, and half a level for rounding.
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

// To levels, which fill 16 bits of every 32.
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

// Four windows at a time: they lie anywhere, but their sums make one vector.
constexpr int windows_at_once = 4;

// TAPS is known when compiled for the usual numbers, else 0 and looked up.
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

// All planes in one loop: their windows and weights are the same, and are looked up once.
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
