// Looking into a running pipeline from pads: limits, taps, grabbed frames, meters. Probes live as long as their pad.
#pragma once
#include <gst/gst.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "durations.h"

// The stream ends at this node after `frames` buffers (0: no such limit) or at the first one at or after `until_ns` of
// stream time, counted from the first (0: no such limit). Empty on success.
std::string limit_stream(GstElement* element, uint64_t frames, uint64_t until_ns);

// Calls `seen` on the streaming thread for every buffer; ends when `seen` answers false or the pad goes.
std::string tap_buffers(GstElement* element, std::function<bool(GstPad*, GstBuffer*)> seen);

// Counts buffers into and out of a run of nodes and how long each took from the first one's input to the last one's
// output, matched by PTS or, where an element changes it, by order.
class Meter : public std::enable_shared_from_this<Meter> {
 public:
  static std::shared_ptr<Meter> create(GstElement* first, GstElement* last);
  std::atomic<uint64_t> in{0}, out{0};
  Durations durations;

 private:
  void entered(GstClockTime pts);
  void left(GstClockTime pts);
  static constexpr size_t kRing = 128;
  std::mutex mutex_;
  struct Entry {
    GstClockTime pts = GST_CLOCK_TIME_NONE;
    guint64 at_ns = 0;
  } ring_[kRing];
  size_t next_ = 0;
};
