// Means and ramps of blocks, to make parts of a frame unrecognisable. For kernels_*.cc only.
#pragma once

#include "kernels.h"
#include "vectors.h"

namespace windhover {
namespace {

// The sum of `columns` x `rows` samples, `step` bytes apart in a row.
uint64_t sum_block(const uint8_t* at, ptrdiff_t stride, int step, int columns, int rows) {
  uint64_t total = 0;
  for (int y = 0; y < rows; y++, at += stride) {
    uint32_t sum = 0;
    if (step == 1) {
      for (int i = 0; i < columns; i++) sum += at[i];
    } else {
      for (int i = 0; i < columns; i++) sum += at[2 * i];
    }
    total += sum;
  }
  return total;
}

void fill_block(uint8_t* at, ptrdiff_t stride, int step, int columns, int rows, uint8_t value) {
  for (int y = 0; y < rows; y++, at += stride) {
    if (step == 1) {
      std::memset(at, value, static_cast<size_t>(columns));
    } else {
      for (int i = 0; i < columns; i++) at[2 * i] = value;
    }
  }
}

// `count` samples from level `from` towards `to`, by weights of 0 to 256; levels are samples times 256.
void fill_ramp(uint8_t* __restrict at, int step, int count, uint16_t from, uint16_t to,
               const uint16_t* __restrict weights) {
  const auto mix = [&](int i) {
    const uint32_t sum = static_cast<uint32_t>(from) * (256u - weights[i]) + static_cast<uint32_t>(to) * weights[i];
    return static_cast<uint8_t>((sum + (1u << 15)) >> 16);
  };
  if (step == 1) {
    for (int i = 0; i < count; i++) at[i] = mix(i);
  } else {
    for (int i = 0; i < count; i++) at[2 * i] = mix(i);
  }
}

}  // namespace
}  // namespace windhover
