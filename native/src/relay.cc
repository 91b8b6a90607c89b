#include "relay.h"

#include <gst/video/gstvideodecoder.h>

#include <algorithm>
#include <cstdlib>

namespace {
// A stream whose clock has drifted this far from ours is anchored again.
constexpr gint64 kDriftLimit = GST_SECOND;
// A camera whose clock is further off has not set it: the time of arrival is used. Less than what the media hub tolerates, so
// that it accepts the times of what a runner publishes.
constexpr gint64 kClockTolerance = 50 * GST_SECOND;
// More than this queued before the decoder means that decoding cannot keep up: skip to the next keyframe.
constexpr guint64 kQueueLimitNs = 2 * GST_SECOND;
constexpr guint64 kQueueLimitBytes = 32 * 1024 * 1024;
constexpr guint8 kIdr = 5;
// Of a live stream: up to 1920 x 1088 at 30 frames per second, a software decoder decodes in one thread. A second one helps
// only with several slices in a picture, and costs memory and processor time that other streams need.
constexpr double kOneThreadPixels = 1920.0 * 1088 * 30;
constexpr guint64 kNtpToUnixNs = G_GUINT64_CONSTANT(2208988800) * GST_SECOND;

// Whether an H.264 access unit has no IDR picture, in byte-stream or AVC format.
bool lacks_idr(GstBuffer* buffer, GstCaps* caps) {
  const GstStructure* format = gst_caps_get_structure(caps, 0);
  if (!gst_structure_has_name(format, "video/x-h264")) return false;
  const gchar* name = gst_structure_get_string(format, "stream-format");
  bool starts = name != nullptr && g_str_equal(name, "byte-stream");
  GstMapInfo map;
  if (!gst_buffer_map(buffer, &map, GST_MAP_READ)) return false;
  bool lacks = true;
  // Start codes, or four-byte lengths.
  for (gsize at = 0; lacks && at + 4 < map.size;) {
    if (!starts) {
      lacks = (map.data[at + 4] & 0x1f) != kIdr;
      at += 4 + static_cast<gsize>(GST_READ_UINT32_BE(map.data + at));
    } else {
      lacks = GST_READ_UINT24_BE(map.data + at) != 1 || (map.data[at + 3] & 0x1f) != kIdr;
      at++;
    }
  }
  gst_buffer_unmap(buffer, &map);
  return lacks;
}

// libav's decoders read the property when they get the format.
GstPadProbeReturn choose_threads(GstPad* pad, GstPadProbeInfo* info, gpointer) {
  GstEvent* event = GST_PAD_PROBE_INFO_EVENT(info);
  if (GST_EVENT_TYPE(event) != GST_EVENT_CAPS) return GST_PAD_PROBE_OK;
  GstCaps* caps = nullptr;
  gst_event_parse_caps(event, &caps);
  const GstStructure* format = gst_caps_get_structure(caps, 0);
  gint width = 0, height = 0, frames = 0, seconds = 0;
  gst_structure_get_int(format, "width", &width);
  gst_structure_get_int(format, "height", &height);
  const bool has_rate = gst_structure_get_fraction(format, "framerate", &frames, &seconds) && frames > 0 && seconds > 0;
  const double rate = has_rate ? static_cast<double>(frames) / seconds : 30;
  const bool is_small = width > 0 && height > 0 && rate * width * height <= kOneThreadPixels;
  Ref<GstElement> decoder(gst_pad_get_parent_element(pad));
  if (decoder) g_object_set(decoder.get(), "max-threads", is_small ? 1 : 0, nullptr);
  return GST_PAD_PROBE_OK;
}

// Not of a decoder whose number of threads the graph sets.
void limit_threads(GstElement* decoder) {
  if (g_object_class_find_property(G_OBJECT_GET_CLASS(decoder), "max-threads") == nullptr) return;
  gint threads = 0;
  g_object_get(decoder, "max-threads", &threads, nullptr);
  if (threads != 0) return;
  Ref<GstPad> sink(gst_element_get_static_pad(decoder, "sink"));
  if (sink) gst_pad_add_probe(sink.get(), GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, choose_threads, nullptr, nullptr);
}
struct Attachment {
  std::weak_ptr<Relay> relay;
  uint64_t generation;
};

}  // namespace

uint64_t reported_capture_ns(GstBuffer* buffer) {
  static GstStaticCaps ntp = GST_STATIC_CAPS("timestamp/x-ntp");
  Ref<GstCaps> caps(gst_static_caps_get(&ntp));
  GstReferenceTimestampMeta* meta = gst_buffer_get_reference_timestamp_meta(buffer, caps.get());
  return meta == nullptr || meta->timestamp < kNtpToUnixNs ? 0 : meta->timestamp - kNtpToUnixNs;
}

std::shared_ptr<Relay> Relay::create(GstElement* element, GstElement* pipeline, std::shared_ptr<Timeline> timeline) {
  if (!GST_IS_APP_SRC(element)) return nullptr;
  std::shared_ptr<Relay> relay(new Relay);
  relay->out_ = new_ref(element);
  relay->pipeline_ = new_ref(pipeline);
  relay->clock_.reset(gst_system_clock_obtain());
  relay->timeline_ = std::move(timeline);
  relay->watch_decoders();
  return relay;
}

void Relay::watch_decoders() {
  using Weak = std::weak_ptr<Relay>;
  static constexpr auto watch = [](GstElement* element, const Weak& weak) {
    Ref<GstPad> pad(GST_IS_VIDEO_DECODER(element) ? gst_element_get_static_pad(element, "src") : nullptr);
    if (!pad) return;
    limit_threads(element);
    auto drop = [](GstPad*, GstPadProbeInfo* info, gpointer data) {
      auto relay = static_cast<Weak*>(data)->lock();
      GstClockTime pts = GST_BUFFER_PTS(GST_PAD_PROBE_INFO_BUFFER(info));
      return relay && GST_CLOCK_TIME_IS_VALID(pts) && relay->timeline_->is_primer(pts) ? GST_PAD_PROBE_DROP : GST_PAD_PROBE_OK;
    };
    gst_pad_add_probe(pad.get(), GST_PAD_PROBE_TYPE_BUFFER, drop, new Weak(weak), delete_data<Weak>);
  };
  auto added = +[](GstBin*, GstBin*, GstElement* element, gpointer data) { watch(element, *static_cast<Weak*>(data)); };
  connect_owning(pipeline_.get(), "deep-element-added", G_CALLBACK(added), new Weak(weak_from_this()));
  Weak weak = weak_from_this();
  GstIterator* present = gst_bin_iterate_recurse(GST_BIN(pipeline_.get()));
  auto visit = [](const GValue* item, gpointer data) { watch(GST_ELEMENT(g_value_get_object(item)), *static_cast<Weak*>(data)); };
  gst_iterator_foreach(present, visit, &weak);
  gst_iterator_free(present);
}

void Relay::close() {
  std::lock_guard<std::mutex> lock(mutex_);
  generation_++;
  out_.reset();
  pipeline_.reset();
}

bool Relay::attach(GstElement* appsink) {
  if (!GST_IS_APP_SINK(appsink)) return false;
  std::lock_guard<std::mutex> lock(mutex_);
  generation_++;
  need_keyframe_ = true;
  flowing_ = anchored_ = false;
  last_running_ = G_MININT64;
  lead_ = 0;
  reported_ = 0;
  last_data_ = std::chrono::steady_clock::now();
  GstAppSinkCallbacks callbacks = {};
  callbacks.new_sample = on_sample;
  gst_app_sink_set_callbacks(GST_APP_SINK(appsink), &callbacks, new Attachment{weak_from_this(), generation_},
                             delete_data<Attachment>);
  return true;
}
void Relay::end_of_stream() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (out_) gst_app_src_end_of_stream(GST_APP_SRC(out_.get()));
}

Relay::Status Relay::status() {
  std::lock_guard<std::mutex> lock(mutex_);
  auto idle = std::chrono::steady_clock::now() - last_data_;
  return {frames_, dropped_, std::chrono::duration_cast<std::chrono::milliseconds>(idle).count(), flowing_};
}

uint64_t Relay::capture_ns(GstBuffer* buffer, const GstSegment* segment) {
  std::lock_guard<std::mutex> lock(mutex_);
  guint64 distance = 0;
  int sign = gst_segment_to_running_time_full(segment, GST_FORMAT_TIME, GST_BUFFER_PTS(buffer), &distance);
  if (!anchored_ || sign == 0) return 0;
  gint64 pts = sign * static_cast<gint64>(distance) + offset_;
  // More exact than times of arrival, whatever the clock of the camera shows: as far from the last frame as it says.
  uint64_t reported = reported_capture_ns(buffer);
  if (reported != 0 && reported_ != 0) pts = reported_pts_ + static_cast<gint64>(reported - reported_);
  // The times of frames are smoothed: what belongs to a frame must have the same.
  return timeline_->capture_ns(static_cast<GstClockTime>(std::max<gint64>(pts, 0)), GST_CLOCK_TIME_NONE, 0);
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
  guint64 ns = gst_app_src_get_current_level_time(GST_APP_SRC(out_.get()));
  guint64 bytes = gst_app_src_get_current_level_bytes(GST_APP_SRC(out_.get()));
  if (ns > kQueueLimitNs || bytes > kQueueLimitBytes) overfull_ = true;
  else if (ns < kQueueLimitNs / 2 && bytes < kQueueLimitBytes / 2) overfull_ = false;
  return overfull_;
}

// Strictly increasing, also over a change of ingest, and never after `pts`. None if the source has no DTS (RTP) or these
// rules cannot be kept: decoders and muxers derive it from the PTS.
GstClockTime Relay::decode_at(GstBuffer* buffer, gint64 pts) {
  if (!GST_BUFFER_DTS_IS_VALID(buffer) || !GST_BUFFER_PTS_IS_VALID(buffer)) return GST_CLOCK_TIME_NONE;
  gint64 dts = pts + static_cast<gint64>(GST_BUFFER_DTS(buffer)) - static_cast<gint64>(GST_BUFFER_PTS(buffer));
  dts = std::max(dts, last_dts_ + 1);
  if (dts > pts) return GST_CLOCK_TIME_NONE;
  last_dts_ = dts;
  return static_cast<GstClockTime>(dts);
}

GstFlowReturn Relay::take(GstSample* sample, uint64_t generation, GstElement* sink) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (generation != generation_ || !out_) return GST_FLOW_EOS;
  last_data_ = std::chrono::steady_clock::now();
  GstBuffer* buffer = gst_sample_get_buffer(sample);
  bool key = !GST_BUFFER_FLAG_IS_SET(buffer, GST_BUFFER_FLAG_DELTA_UNIT);
  if (overfull()) need_keyframe_ = true;
  if (need_keyframe_ && (!key || overfull_)) {
    dropped_++;
    return GST_FLOW_OK;
  }

  GstAppSrc* out = GST_APP_SRC(out_.get());
  auto now = static_cast<gint64>(gst_clock_get_time(clock_.get()));
  auto base = static_cast<gint64>(gst_element_get_base_time(pipeline_.get()));
  gint64 here = now - base;  // running time of the main pipeline
  GstSegment* segment = gst_sample_get_segment(sample);
  guint64 distance = 0;
  int sign = gst_segment_to_running_time_full(segment, GST_FORMAT_TIME, GST_BUFFER_PTS(buffer), &distance);
  gint64 running = sign * static_cast<gint64>(distance);  // negative before the first frame
  bool timed = sign != 0 && running != last_running_;
  last_running_ = running;
  gint64 pts;
  bool jumps = need_keyframe_;  // in time: after a gap, or where the clock of the stream has drifted
  if (timed) {
    if (!anchored_) {
      // Sources slaved to our clock (RTSP) have the real time of arrival; others start at any time.
      gint64 arrived = static_cast<gint64>(gst_element_get_base_time(sink)) + running - base;
      gint64 start = std::llabs(arrived - here) < 2 * kDriftLimit ? arrived : here;
      offset_ = start - running;
      anchored_ = true;
    }
    pts = running + offset_;
    if (std::llabs(pts - here) > 2 * kDriftLimit && key) {
      offset_ += here - pts;
      pts = here;
      jumps = true;
    }
  } else {
    // Parsers lose times under load, and the clocks of some cameras stop.
    pts = std::max<gint64>(here, static_cast<gint64>(last_pts_) + GST_MSECOND);
  }
  if (jumps && pts <= static_cast<gint64>(last_pts_)) {
    offset_ += static_cast<gint64>(last_pts_) + GST_MSECOND - pts;
    pts = static_cast<gint64>(last_pts_) + GST_MSECOND;
  }
  if (jumps) first_pts_ = pts = std::max<gint64>(pts, 1);
  if (pts < first_pts_) {
    // Shown before the first keyframe: depends on frames before it (open GOP).
    dropped_++;
    return GST_FLOW_OK;
  }

  GstBuffer* copy = gst_buffer_copy(buffer);
  GST_BUFFER_PTS(copy) = static_cast<GstClockTime>(pts);
  GST_BUFFER_DTS(copy) = decode_at(buffer, pts);
  if (jumps && frames_ > 0) timeline_->note_gap(static_cast<GstClockTime>(pts));
  if (jumps) GST_BUFFER_FLAG_SET(copy, GST_BUFFER_FLAG_DISCONT);
  else GST_BUFFER_FLAG_UNSET(copy, GST_BUFFER_FLAG_DISCONT);
  // With B-frames some frames arrive before their PTS; a frame cannot be captured after its arrival.
  lead_ = std::max(lead_, pts - here);
  uint64_t captured = reported_ = reported_capture_ns(buffer);
  reported_pts_ = pts;
  auto error = static_cast<gint64>(captured - unix_now_ns());
  if (captured == 0 || std::llabs(error) > kClockTolerance) captured = unix_now_ns() + static_cast<uint64_t>(pts - here - lead_);
  timeline_->note(static_cast<GstClockTime>(pts), captured);
  last_pts_ = std::max(last_pts_, static_cast<GstClockTime>(pts));
  // Only after a gap: sent twice where nothing is missing, the picture would spoil those after it.
  bool prime = need_keyframe_ && lacks_idr(buffer, gst_sample_get_caps(sample));
  need_keyframe_ = false;
  flowing_ = true;
  frames_++;

  GstCaps* caps = gst_sample_get_caps(sample);
  Ref<GstCaps> before(gst_app_src_get_caps(out));
  if (!before || !gst_caps_is_equal(before.get(), caps)) gst_app_src_set_caps(out, caps);
  if (prime) {
    // An open GOP. The libav decoder of GStreamer 1.22 loses the first picture after a gap in frame_num, and with it the
    // whole GOP: it receives that picture twice, the first time without being shown.
    GstBuffer* primer = gst_buffer_copy(copy);
    // Parsers take two buffers with the same PTS for one frame.
    GST_BUFFER_PTS(primer) -= 1;
    timeline_->note_primer(GST_BUFFER_PTS(primer));
    GST_BUFFER_FLAG_SET(primer, GST_BUFFER_FLAG_DECODE_ONLY);
    GST_BUFFER_DTS(primer) = GST_CLOCK_TIME_NONE;
    GST_BUFFER_FLAG_UNSET(copy, GST_BUFFER_FLAG_DISCONT);
    gst_app_src_push_buffer(out, primer);
  }
  return gst_app_src_push_buffer(out, copy);
}
