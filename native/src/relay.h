// Carries access units from a disposable ingest pipeline into an appsrc of the main pipeline, which is thus not affected by
// reconnects: times continue, a gap is marked, and the first frame after it is a keyframe.
#pragma once
#include <gst/app/gstappsink.h>
#include <gst/app/gstappsrc.h>
#include <gst/gst.h>

#include <chrono>
#include <memory>
#include <mutex>

#include "gst_cpp.h"
#include "timeline.h"

// Unix time of the frame by the camera's clock, from RTCP sender reports; 0 if unknown.
uint64_t reported_capture_ns(GstBuffer* buffer);

class Relay : public std::enable_shared_from_this<Relay> {
 public:
  // Null when `element` is not an appsrc. Holds references to both elements until close().
  static std::shared_ptr<Relay> create(GstElement* element, GstElement* pipeline, std::shared_ptr<Timeline> timeline);

  // Any thread, before the ingest pipeline plays. Buffers of earlier ingests are ignored from now on.
  bool attach(GstElement* appsink);
  void end_of_stream();
  // Any thread: stops relaying and releases the main pipeline.
  void close();

  struct Status {
    uint64_t frames = 0, dropped = 0;
    int64_t idle_ms = 0;  // since the last buffer, or since attach()
    bool flowing = false;
  };
  Status status();
  // Any thread. Unix time of capture of a packet of another stream of the ingest that is attached, on the clock of its
  // frames; 0 before the first frame.
  uint64_t capture_ns(GstBuffer* buffer, const GstSegment* segment);

 private:
  Relay() = default;
  // Makes decoders, existing and future ones, drop pictures that only prime them.
  void watch_decoders();
  static GstFlowReturn on_sample(GstAppSink* sink, gpointer data);
  GstFlowReturn take(GstSample* sample, uint64_t generation, GstElement* sink);
  bool overfull();
  GstClockTime decode_at(GstBuffer* buffer, gint64 pts);

  std::mutex mutex_;  // guards all members but timeline_
  Ref<GstElement> out_, pipeline_;  // null once closed
  Ref<GstClock> clock_;
  std::shared_ptr<Timeline> timeline_;
  uint64_t generation_ = 0, frames_ = 0, dropped_ = 0;
  bool need_keyframe_ = true, flowing_ = false, anchored_ = false, overfull_ = false;
  gint64 offset_ = 0, last_running_ = G_MININT64;
  GstClockTime last_pts_ = 0;
  gint64 last_dts_ = -1, lead_ = 0;
  uint64_t reported_ = 0;  // capture time that the camera has stated for the last frame; 0: none
  gint64 reported_pts_ = 0;  // of that frame
  gint64 first_pts_ = 0;  // of the keyframe after the last gap
  std::chrono::steady_clock::time_point last_data_;
};
