// `rtptimes`: sets the PTS of RTP packets from their RTP timestamps, also where these do not rise (B-frames). Belongs right
// behind `rtspsrc` or `rtpjitterbuffer`.
#include <gst/base/gstbasetransform.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>

#include "addon.h"
#include "gst_cpp.h"

namespace {
// From RTP timestamps to running time. Packets come in decoding order, so with B-frames their timestamps go back and
// forth; a jitter buffer expects them to rise, and its PTS are wrong. Here a PTS is the timestamp plus an offset, which
// follows the arrival of packets so slowly that pictures keep their order. One thread.
class RtpClock {
 public:
  // `arrival_ns` is running time. The PTS may be negative for pictures shown before the first one.
  int64_t place(uint32_t timestamp, uint32_t clock_rate, int64_t arrival_ns) {
    if (!started_) start(timestamp, arrival_ns);
    const auto step = static_cast<int32_t>(timestamp - last_timestamp_);
    const int64_t passed_ns = std::max<int64_t>(arrival_ns - last_arrival_ns_, 0);
    last_timestamp_ = timestamp;
    last_arrival_ns_ = arrival_ns;
    ticks_ += step;
    const auto media_ns = static_cast<int64_t>(static_cast<__int128>(ticks_) * kSecond / clock_rate);
    const int64_t forward_ns = media_ns - furthest_ns_;
    if (forward_ns > passed_ns + kJumpNs || forward_ns < -kJumpNs) jump(media_ns, arrival_ns);
    observe(arrival_ns - media_ns, arrival_ns);
    if (media_ns > furthest_ns_) {
      follow(media_ns - furthest_ns_);
      furthest_ns_ = media_ns;
    }
    return media_ns + offset_ns_;
  }

 private:
  static constexpr int64_t kSecond = 1'000'000'000, kMillisecond = 1'000'000;
  // A larger step means that the sender's clock was set: no B-frame is shown this long before an earlier packet.
  static constexpr int64_t kJumpNs = 3 * kSecond;
  static constexpr int64_t kWindowNs = 2 * kSecond;
  // Reordered frames make the arrival of packets swing: the offset must not follow that.
  static constexpr int64_t kToleratedNs = 500 * kMillisecond;
  // 2 %: over the 16 frames that H.264 can reorder this is less than half a frame interval.
  static constexpr int64_t kSlowness = 50;
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  void start(uint32_t timestamp, int64_t arrival_ns) {
    started_ = true;
    last_timestamp_ = timestamp;
    last_arrival_ns_ = window_began_ns_ = arrival_ns;
    offset_ns_ = arrival_ns;
  }

  // Continues at the time of arrival, after all earlier packets.
  void jump(int64_t media_ns, int64_t arrival_ns) {
    offset_ns_ = std::max(arrival_ns, furthest_ns_ + offset_ns_ + kMillisecond) - media_ns;
    furthest_ns_ = media_ns;
    following_ = false;
    least_ns_ = before_ns_ = kNever;
    window_began_ns_ = arrival_ns;
  }

  // The packets with the least delay show the offset of the two clocks; a single late window may be a stalled network.
  void observe(int64_t distance_ns, int64_t arrival_ns) {
    least_ns_ = std::min(least_ns_, distance_ns);
    if (arrival_ns - window_began_ns_ < kWindowNs) return;
    if (before_ns_ != kNever) {
      target_ns_ = std::min(before_ns_, least_ns_);
      if (std::llabs(target_ns_ - offset_ns_) > kToleratedNs) following_ = true;
    }
    before_ns_ = least_ns_;
    least_ns_ = kNever;
    window_began_ns_ = arrival_ns;
  }

  void follow(int64_t advance_ns) {
    if (!following_) return;
    const int64_t most_ns = advance_ns / kSlowness;
    offset_ns_ += std::clamp(target_ns_ - offset_ns_, -most_ns, most_ns);
    if (offset_ns_ == target_ns_) following_ = false;
  }

  bool started_ = false, following_ = false;
  uint32_t last_timestamp_ = 0;
  int64_t ticks_ = 0;  // since the first timestamp
  int64_t last_arrival_ns_ = 0, furthest_ns_ = 0, offset_ns_ = 0;
  int64_t window_began_ns_ = 0, least_ns_ = kNever, before_ns_ = kNever, target_ns_ = 0;
};

struct RtpTimes {
  GstBaseTransform base;
  RtpClock* clock;   // owned; streaming thread
  guint clock_rate;  // 0 before the first caps
};

// With an open GOP the second picture may be shown before the first, which may have arrived at time 0.
constexpr GstClockTime kHeadroom = 10 * GST_SECOND;

gpointer parent_class = nullptr;

RtpTimes* cast(gpointer object) { return static_cast<RtpTimes*>(object); }

gboolean set_caps(GstBaseTransform* base, GstCaps* caps, GstCaps*) {
  gint rate = 0;
  gst_structure_get_int(gst_caps_get_structure(caps, 0), "clock-rate", &rate);
  cast(base)->clock_rate = rate > 0 ? static_cast<guint>(rate) : 0;
  return TRUE;
}

GstFlowReturn transform_ip(GstBaseTransform* base, GstBuffer* buffer) {
  auto* self = cast(base);
  // RFC 3550, 5.1: two bits of version (2); the timestamp is in bytes 4 to 7.
  guint8 header[8];
  if (self->clock_rate == 0 || gst_buffer_extract(buffer, 0, header, sizeof header) != sizeof header || header[0] >> 6 != 2)
    return GST_FLOW_OK;
  // A jitter buffer keeps the time of arrival as DTS.
  GstClockTime arrival = GST_BUFFER_DTS_OR_PTS(buffer);
  if (!GST_CLOCK_TIME_IS_VALID(arrival)) arrival = 0;
  gint64 pts = self->clock->place(GST_READ_UINT32_BE(header + 4), self->clock_rate, static_cast<gint64>(arrival));
  GST_BUFFER_PTS(buffer) = static_cast<GstClockTime>(std::max<gint64>(pts + static_cast<gint64>(kHeadroom), 0));
  // RTP has no decoding time, and the time of arrival is not one.
  GST_BUFFER_DTS(buffer) = GST_CLOCK_TIME_NONE;
  return GST_FLOW_OK;
}

// Shifts the segment by the headroom, so that running times do not change.
gboolean sink_event(GstBaseTransform* base, GstEvent* event) {
  if (GST_EVENT_TYPE(event) == GST_EVENT_SEGMENT) {
    GstSegment segment;
    gst_event_copy_segment(event, &segment);
    if (segment.format == GST_FORMAT_TIME) {
      segment.start += kHeadroom;
      segment.position += kHeadroom;
      if (GST_CLOCK_TIME_IS_VALID(segment.stop)) segment.stop += kHeadroom;
      GstEvent* moved = gst_event_new_segment(&segment);
      gst_event_set_seqnum(moved, gst_event_get_seqnum(event));
      gst_event_unref(event);
      event = moved;
    }
  }
  return GST_BASE_TRANSFORM_CLASS(parent_class)->sink_event(base, event);
}

gboolean start(GstBaseTransform* base) {
  *cast(base)->clock = RtpClock();
  return TRUE;
}

void finalize(GObject* object) {
  delete cast(object)->clock;
  G_OBJECT_CLASS(parent_class)->finalize(object);
}

void class_init(gpointer klass, gpointer) {
  parent_class = g_type_class_peek_parent(klass);
  G_OBJECT_CLASS(klass)->finalize = finalize;
  auto* element = GST_ELEMENT_CLASS(klass);
  gst_element_class_set_static_metadata(element, "PTS from RTP timestamps", "Filter/Network/RTP",
                                        "Sets the PTS of RTP packets from their timestamps, with B-frames too", "Windhover");
  add_pad_templates(element, "application/x-rtp");
  auto* base = GST_BASE_TRANSFORM_CLASS(klass);
  base->set_caps = set_caps;
  base->sink_event = sink_event;
  base->transform_ip = transform_ip;
  base->start = start;
}

void init(GTypeInstance* instance, gpointer) {
  cast(instance)->clock = new RtpClock();
  cast(instance)->clock_rate = 0;
  gst_base_transform_set_in_place(GST_BASE_TRANSFORM(instance), TRUE);
}
}  // namespace

void register_rtp_times() {
  GType type = register_type<RtpTimes>(GST_TYPE_BASE_TRANSFORM, "WindhoverRtpTimes", class_init, init);
  gst_element_register(nullptr, "rtptimes", GST_RANK_NONE, type);
}
