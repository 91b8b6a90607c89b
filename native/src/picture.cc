#include "picture.h"

#include <gst/video/video.h>

#include <cstring>

SharedSample encode_picture(GstBuffer* buffer, GstCaps* caps, const std::string& type, std::string* error) {
  GstSample* sample = gst_sample_new(buffer, caps, nullptr, nullptr);
  GstCaps* to = gst_caps_new_empty_simple(type.c_str());
  GError* failure = nullptr;
  GstSample* picture = gst_video_convert_sample(sample, to, 5 * GST_SECOND, &failure);
  if (picture == nullptr) *error = "cannot make " + type + " of this frame" + (failure == nullptr ? "" : std::string(": ") + failure->message);
  g_clear_error(&failure);
  gst_caps_unref(to);
  gst_sample_unref(sample);
  return picture == nullptr ? nullptr : SharedSample(picture, [](GstSample* owned) { gst_sample_unref(owned); });
}

Napi::Value picture_bytes(Napi::Env env, const SharedSample& picture) {
  GstMapInfo map;
  GstBuffer* buffer = gst_sample_get_buffer(picture.get());
  if (!gst_buffer_map(buffer, &map, GST_MAP_READ)) throw Napi::Error::New(env, "the picture cannot be read");
  auto out = Napi::Uint8Array::New(env, map.size);
  memcpy(out.Data(), map.data, map.size);
  gst_buffer_unmap(buffer, &map);
  return out;
}
