// What JavaScript sees of a running pipeline: buffers as they pass, one frame as a picture, readings of meters.
// JS thread; what is set up here then runs on streaming threads and reports back through the bridge.
#pragma once
#include <gst/gst.h>
#include <napi.h>

#include <memory>
#include <string>

#include "bridge.h"
#include "probes.h"

// Calls back with {ptsNs, durationNs, bytes, keyframe, discontinuity, caps, meta, lost} for every buffer; returns stop().
// Bounded: buffers that JavaScript has no time for are counted in `lost`.
Napi::Value tap_node(Napi::Env env, const std::shared_ptr<Bridge>& bridge, GstElement* element, Napi::Function callback);

// Promise<{image, ptsNs}> of the first frame at or after that stream time.
Napi::Value grab_frame(Napi::Env env, const std::shared_ptr<Bridge>& bridge, GstElement* element, GstClockTime at, const std::string& type);

// {in, out, meanMs, p95Ms, queued?, capacity?, dropped}; `element` is the first of the metered ones.
Napi::Object meter_reading(Napi::Env env, GstElement* element, const Meter& meter);
