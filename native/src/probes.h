// Probes on pads of a running pipeline: limits, taps, single frames, meters. They live as long as their pad.
#pragma once
#include <gst/gst.h>
#include <napi.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "bridge.h"
#include "gst_cpp.h"

// One buffer in a node, by the steady clock; without a beginning of its own at sources and sinks, where both times are equal.
struct Span {
  GstClockTime pts;
  uint64_t from_ns, to_ns;
  int queued;  // level of the queue that it left; -1: not a queue
};

// A ring of the latest durations and, once they have been asked for, the spans of buffers. Written by streaming threads,
// read by any thread.
class Durations {
 public:
  void add(const Span& span) {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto ns = static_cast<float>(span.to_ns - span.from_ns);
    if (ring_.size() < kSize) ring_.push_back(ns);
    else ring_[next_++ % kSize] = ns;
    keep(span);
  }
  // A moment without a duration.
  void mark(const Span& span) {
    std::lock_guard<std::mutex> lock(mutex_);
    keep(span);
  }
  bool keeps_spans() const { return keeping_; }
  // The spans since the last call, and how many did not fit. They are kept from the first call on, until `more` is false.
  std::vector<Span> take_spans(bool more, uint64_t* lost) {
    std::lock_guard<std::mutex> lock(mutex_);
    keeping_ = more;
    *lost = lost_;
    lost_ = 0;
    return std::exchange(spans_, {});
  }
  struct Summary {
    double mean_ms = 0, p50_ms = 0, p95_ms = 0;
  };
  Summary summary() const {
    std::vector<float> copy;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      copy = ring_;
    }
    if (copy.empty()) return {};
    double sum = 0;
    for (float value : copy) sum += value;
    auto percentile = [&](double share) {
      auto at = copy.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(copy.size() - 1) + 0.5);
      std::nth_element(copy.begin(), at, copy.end());
      return *at / 1e6;
    };
    return {sum / static_cast<double>(copy.size()) / 1e6, percentile(0.5), percentile(0.95)};
  }

 private:
  static constexpr size_t kSize = 256;
  static constexpr size_t kSpans = 4096;
  void keep(const Span& span) {
    if (!keeping_) return;
    if (spans_.size() < kSpans) spans_.push_back(span);
    else lost_++;
  }
  mutable std::mutex mutex_;
  std::vector<float> ring_;
  size_t next_ = 0;
  std::atomic<bool> keeping_{false};
  std::vector<Span> spans_;
  uint64_t lost_ = 0;
};

// Counts buffers into and out of a chain of nodes and measures their time from the input of the first to the output of the
// last, matched by PTS or, where an element changes it, by order.
class Meter {
 public:
  // JS thread. The probes hold weak references.
  static std::shared_ptr<Meter> create(GstElement* first, GstElement* last);
  // JS thread: {in, out, meanMs, p50Ms, p95Ms, queued?, capacity?, dropped}; `first` is the first metered element.
  Napi::Object read(Napi::Env env, GstElement* first) const;
  // JS thread: {spans: Float64Array of PTS (or NaN), beginning, end and queue level (or -1) of each, lost}, see `take_spans`.
  Napi::Object take_spans(Napi::Env env, GstElement* first, bool more);

 private:
  void entered(GstPad* pad, GstClockTime pts);
  void left(GstPad* pad, GstClockTime pts);
  static constexpr size_t kRing = 128;
  std::atomic<uint64_t> in_{0}, out_{0};
  bool has_input_ = false, has_output_ = false;  // fixed once created
  std::atomic<bool> ended_{false};               // of a queue: EOS has left it
  Durations durations_;
  std::mutex mutex_;
  struct Entry {
    GstClockTime pts = GST_CLOCK_TIME_NONE;
    guint64 at_ns = 0;
  } ring_[kRing];
  size_t next_ = 0;
};

// Any thread. Ends the stream at this node after `frames` buffers, or at the first buffer `until_ns` of stream time after
// the first one; 0 is no limit. Empty on success.
std::string limit_stream(GstElement* element, uint64_t frames, uint64_t until_ns);

// JS thread. Calls back with {ptsNs, durationNs, bytes, keyframe, discontinuity, caps, meta, lost} for every buffer; returns
// a function that stops it. `lost` counts buffers dropped while the JS thread was busy.
// Passes packets of the pads of `element` that appear, are not linked and have these caps to the callback; `capture_ns` is
// called on the streaming thread. Packets are dropped while too many wait for the JS thread, and if they are too large.
void tap_packets(const std::shared_ptr<Bridge>& bridge, Napi::Env env, GstElement* element, Ref<GstCaps> caps,
                 std::function<uint64_t(GstBuffer*, const GstSegment*)> capture_ns, Napi::Function callback);
Napi::Value tap_node(Napi::Env env, const std::shared_ptr<Bridge>& bridge, GstElement* element, Napi::Function callback);

// JS thread. Promise<{image, ptsNs}> of the first frame at or after that stream time.
Napi::Value grab_frame(Napi::Env env, const std::shared_ptr<Bridge>& bridge, GstElement* element, GstClockTime at, const std::string& type);

// JS thread. Calls back once with the next buffer from one node to the other: as of tap_node, and {image, error}, a JPEG of
// raw video. Returns a function that stops waiting. Throws when the nodes are not linked.
Napi::Value see_edge(Napi::Env env, const std::shared_ptr<Bridge>& bridge, GstElement* from, GstElement* to, double most_pixels,
                     Napi::Function callback);
