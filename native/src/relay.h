// Carries access units from a disposable ingest pipeline into an appsrc of the lasting one, so that the lasting one
// never sees a connection come or go: times go on, a gap is marked, and after it comes a key frame first.
#pragma once
#include <gst/app/gstappsink.h>
#include <gst/app/gstappsrc.h>
#include <gst/gst.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>

#include "timeline.h"

// By the camera's own clock, where RTCP sender reports gave it: Unix time of the frame, else 0.
uint64_t reported_capture_ns(GstBuffer* buffer);

class Relay : public std::enable_shared_from_this<Relay> {
 public:
  // Null when `element` is no appsrc. Keeps its own references.
  static std::shared_ptr<Relay> create(GstElement* element, GstElement* pipeline, std::shared_ptr<Timeline> timeline);
  ~Relay();

  // Any thread, before the ingest pipeline plays. What an earlier ingest still sends is ignored from now on.
  bool attach(GstElement* appsink);
  void end_of_stream();
  // The lasting pipeline is going: nothing is carried any more, whoever still holds this.
  void close();

  struct Status {
    uint64_t frames = 0, dropped = 0;
    int64_t idle_ms = 0;  // since the last data, or since attach()
    bool flowing = false;
  };
  Status status();

 private:
  Relay() = default;
  // Decoders that are there, and those that come, drop what was only sent to prime them.
  void watch_decoders();
  static GstFlowReturn on_sample(GstAppSink* sink, gpointer data);
  GstFlowReturn take(GstSample* sample, uint64_t generation, GstElement* sink);
  bool overfull();
  GstClockTime decode_at(GstBuffer* buffer, gint64 pts);

  GstAppSrc* out_ = nullptr;  // null once closed
  GstElement* pipeline_ = nullptr;
  GstClock* clock_ = nullptr;
  std::shared_ptr<Timeline> timeline_;
  std::mutex mutex_;
  uint64_t generation_ = 0, frames_ = 0, dropped_ = 0;
  bool need_key_frame_ = true, flowing_ = false, anchored_ = false, overfull_ = false;
  gint64 offset_ = 0, last_running_ = G_MININT64;
  GstClockTime last_pts_ = 0;
  gint64 last_dts_ = -1, lead_ = 0;
  gint64 first_pts_ = 0;  // of the key frame after the last gap
  std::chrono::steady_clock::time_point last_data_;
  std::atomic<GstClockTime> primer_pts_{GST_CLOCK_TIME_NONE};
};
