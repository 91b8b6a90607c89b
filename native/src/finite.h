#pragma once

#include <cstdint>
#include <cstring>

namespace windhover {

// std::isfinite is folded to `true` in files built with -ffast-math; the bits are not.
inline bool is_finite(double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return (bits & 0x7ff0000000000000u) != 0x7ff0000000000000u;
}

}  // namespace windhover
