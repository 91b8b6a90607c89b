// A JavaScript object that travels on a GstBuffer. Every copy of the buffer shares the one object.
#pragma once
#include <gst/gst.h>

#include <atomic>
#include <memory>

#include "bridge.h"

// Counted from any thread; the napi_ref inside is made and read on the JS thread only.
struct MetadataBox {
  static MetadataBox* create(std::shared_ptr<Bridge> bridge, napi_ref reference);
  MetadataBox* ref();
  void unref();
  napi_ref reference;
  std::shared_ptr<Bridge> bridge;

 private:
  std::atomic<int> count_{1};
};

void metadata_register();
// Borrowed; null when the buffer carries none.
MetadataBox* metadata_of(GstBuffer* buffer);
// Takes ownership of `box`, replaces what was there. The buffer must be writable.
void metadata_set(GstBuffer* buffer, MetadataBox* box);
