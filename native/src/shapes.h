// Shapes as native/shapes.ts packs them.
#pragma once
#include <napi.h>

#include <vector>

#include "draw.h"

// JS thread. Throws when the numbers end in the middle of a shape.
std::vector<windhover::Shape> read_shapes(const Napi::Float64Array& numbers, const Napi::Array& texts);
