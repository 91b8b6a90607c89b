#include "relay.h"

#include <algorithm>
#include <cstdlib>

namespace {
// A stream whose own clock has run this far from ours is anchored anew.
constexpr gint64 kDriftLimit = GST_SECOND;
// More than this waiting to be decoded means decoding cannot keep up: skip to the next key frame.
constexpr guint64 kWaitingLimit = 2 * GST_SECOND;
constexpr guint64 kNtpToUnixNs = G_GUINT64_CONSTANT(2208988800) * GST_SECOND;

struct Attachment {
  std::weak_ptr<Relay> relay;
  uint64_t generation;
};

}  // namespace

uint64_t reported_capture_ns(GstBuffer* buffer) {
  static GstStaticCaps ntp = GST_STATIC_CAPS("timestamp/x-ntp");
  GstCaps* caps = gst_static_caps_get(&ntp);
  GstReferenceTimestampMeta* meta = gst_buffer_get_reference_timestamp_meta(buffer, caps);
  gst_caps_unref(caps);
  return meta == nullptr || meta->timestamp < kNtpToUnixNs ? 0 : meta->timestamp - kNtpToUnixNs;
}

std::shared_ptr<Relay> Relay::create(GstElement* element, GstElement* pipeline, std::shared_ptr<Timeline> timeline) {
  if (!GST_IS_APP_SRC(element)) return nullptr;
  std::shared_ptr<Relay> relay(new Relay);
  relay->out_ = GST_APP_SRC(gst_object_ref(element));
  relay->pipeline_ = GST_ELEMENT(gst_object_ref(pipeline));
  relay->clock_ = gst_system_clock_obtain();
  relay->timeline_ = std::move(timeline);
  return relay;
}
Relay::~Relay() {
  close();
  gst_object_unref(clock_);
}
void Relay::close() {
  std::lock_guard<std::mutex> lock(mutex_);
  generation_++;
  if (out_ == nullptr) return;
  gst_object_unref(out_);
  gst_object_unref(pipeline_);
  out_ = nullptr;
}

bool Relay::attach(GstElement* appsink) {
  if (!GST_IS_APP_SINK(appsink)) return false;
  std::lock_guard<std::mutex> lock(mutex_);
  generation_++;
  need_key_frame_ = true;
  flowing_ = anchored_ = false;
  last_data_ = std::chrono::steady_clock::now();
  GstAppSinkCallbacks callbacks = {};
  callbacks.new_sample = on_sample;
  gst_app_sink_set_callbacks(GST_APP_SINK(appsink), &callbacks, new Attachment{weak_from_this(), generation_},
                             [](gpointer data) { delete static_cast<Attachment*>(data); });
  return true;
}
void Relay::end_of_stream() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (out_ != nullptr) gst_app_src_end_of_stream(out_);
}

Relay::Status Relay::status() {
  std::lock_guard<std::mutex> lock(mutex_);
  auto idle = std::chrono::steady_clock::now() - last_data_;
  return {frames_, dropped_, std::chrono::duration_cast<std::chrono::milliseconds>(idle).count(), flowing_};
}

GstFlowReturn Relay::on_sample(GstAppSink* sink, gpointer data) {
  auto* attachment = static_cast<Attachment*>(data);
  GstSample* sample = gst_app_sink_pull_sample(sink);
  if (sample == nullptr) return GST_FLOW_EOS;
  auto relay = attachment->relay.lock();
  GstFlowReturn flow = relay ? relay->take(sample, attachment->generation, GST_ELEMENT(sink)) : GST_FLOW_EOS;
  gst_sample_unref(sample);
  return flow;
}

bool Relay::overfull() {
  guint64 waiting = gst_app_src_get_current_level_time(out_);
  if (waiting > kWaitingLimit) overfull_ = true;
  else if (waiting < kWaitingLimit / 2) overfull_ = false;
  return overfull_;
}

GstFlowReturn Relay::take(GstSample* sample, uint64_t generation, GstElement* sink) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (generation != generation_ || out_ == nullptr) return GST_FLOW_EOS;
  last_data_ = std::chrono::steady_clock::now();
  GstBuffer* buffer = gst_sample_get_buffer(sample);
  bool key = !GST_BUFFER_FLAG_IS_SET(buffer, GST_BUFFER_FLAG_DELTA_UNIT);
  if (overfull()) need_key_frame_ = true;
  if (need_key_frame_ && (!key || overfull_)) {
    dropped_++;
    return GST_FLOW_OK;
  }

  auto now = static_cast<gint64>(gst_clock_get_time(clock_));
  auto base = static_cast<gint64>(gst_element_get_base_time(pipeline_));
  gint64 here = now - base;  // running time of the lasting pipeline
  GstSegment* segment = gst_sample_get_segment(sample);
  guint64 running = gst_segment_to_running_time(segment, GST_FORMAT_TIME, GST_BUFFER_PTS(buffer));
  gint64 pts;
  if (GST_CLOCK_TIME_IS_VALID(running)) {
    if (!anchored_) {
      // Sources that slave their times to our clock (RTSP) say when the data really arrived; others begin anywhere.
      gint64 arrived = static_cast<gint64>(gst_element_get_base_time(sink) + running) - base;
      gint64 start = std::llabs(arrived - here) < 2 * kDriftLimit ? arrived : here;
      offset_ = start - static_cast<gint64>(running);
      anchored_ = true;
    }
    pts = static_cast<gint64>(running) + offset_;
    if (std::llabs(pts - here) > 2 * kDriftLimit && key) {
      offset_ += here - pts;
      pts = here;
      need_key_frame_ = true;  // mark the jump
    }
  } else {
    pts = std::max<gint64>(here, static_cast<gint64>(last_pts_) + GST_MSECOND);  // parsers lose times under load
  }
  if (need_key_frame_ && pts <= static_cast<gint64>(last_pts_)) {
    offset_ += static_cast<gint64>(last_pts_) + GST_MSECOND - pts;
    pts = static_cast<gint64>(last_pts_) + GST_MSECOND;
  }
  if (pts < 0) pts = 0;

  GstBuffer* copy = gst_buffer_copy(buffer);
  gint64 reorder = GST_BUFFER_DTS_IS_VALID(buffer) && GST_BUFFER_PTS_IS_VALID(buffer)
                       ? static_cast<gint64>(GST_BUFFER_DTS(buffer)) - static_cast<gint64>(GST_BUFFER_PTS(buffer)) : 0;
  GST_BUFFER_PTS(copy) = static_cast<GstClockTime>(pts);
  last_dts_ = std::max(last_dts_, pts + reorder);  // over a change of ingest too, it never goes back
  GST_BUFFER_DTS(copy) = static_cast<GstClockTime>(last_dts_);
  if (need_key_frame_ && frames_ > 0) timeline_->note_gap(static_cast<GstClockTime>(pts));
  if (need_key_frame_) GST_BUFFER_FLAG_SET(copy, GST_BUFFER_FLAG_DISCONT);
  else GST_BUFFER_FLAG_UNSET(copy, GST_BUFFER_FLAG_DISCONT);
  uint64_t captured = reported_capture_ns(buffer);
  timeline_->note(static_cast<GstClockTime>(pts), captured != 0 ? captured : unix_now_ns() - static_cast<uint64_t>(std::max<gint64>(0, here - pts)));
  last_pts_ = std::max(last_pts_, static_cast<GstClockTime>(pts));
  need_key_frame_ = false;
  flowing_ = true;
  frames_++;

  GstCaps* caps = gst_sample_get_caps(sample);
  GstCaps* before = gst_app_src_get_caps(out_);
  if (before == nullptr || !gst_caps_is_equal(before, caps)) gst_app_src_set_caps(out_, caps);
  if (before != nullptr) gst_caps_unref(before);
  return gst_app_src_push_buffer(out_, copy);
}
