#include "rtp_times.h"

#include <gst/base/gstbasetransform.h>

#include "rtp_clock.h"

namespace {
struct RtpTimes {
  GstBaseTransform base;
  RtpClock* clock;   // owned; streaming thread
  guint clock_rate;  // 0 until caps tell
};
struct RtpTimesClass {
  GstBaseTransformClass base;
};

// With an open group of pictures the second one may be shown before the first, which may have come at time 0.
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
  // RFC 3550, 5.1: two bits of version, which is 2; the timestamp is in bytes 4 to 7.
  guint8 header[8];
  if (self->clock_rate == 0 || gst_buffer_extract(buffer, 0, header, sizeof header) != sizeof header || header[0] >> 6 != 2)
    return GST_FLOW_OK;
  // A jitter buffer keeps the time of arrival as DTS.
  GstClockTime arrival = GST_BUFFER_DTS_OR_PTS(buffer);
  if (!GST_CLOCK_TIME_IS_VALID(arrival)) arrival = 0;
  gint64 pts = self->clock->place(GST_READ_UINT32_BE(header + 4), self->clock_rate, static_cast<gint64>(arrival));
  GST_BUFFER_PTS(buffer) = static_cast<GstClockTime>(std::max<gint64>(pts + static_cast<gint64>(kHeadroom), 0));
  // When it is to be decoded RTP does not tell, and when it arrived is something else.
  GST_BUFFER_DTS(buffer) = GST_CLOCK_TIME_NONE;
  return GST_FLOW_OK;
}

// Running times stay what they are.
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
                                        "Gives RTP packets the PTS that their timestamps mean, with B-frames too", "Windhover");
  GstCaps* rtp = gst_caps_from_string("application/x-rtp");
  gst_element_class_add_pad_template(element, gst_pad_template_new("sink", GST_PAD_SINK, GST_PAD_ALWAYS, rtp));
  gst_element_class_add_pad_template(element, gst_pad_template_new("src", GST_PAD_SRC, GST_PAD_ALWAYS, rtp));
  gst_caps_unref(rtp);
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
  GTypeInfo info = {};
  info.class_size = sizeof(RtpTimesClass);
  info.class_init = class_init;
  info.instance_size = sizeof(RtpTimes);
  info.instance_init = init;
  GType type = g_type_register_static(GST_TYPE_BASE_TRANSFORM, "WindhoverRtpTimes", &info, static_cast<GTypeFlags>(0));
  gst_element_register(nullptr, "rtptimes", GST_RANK_NONE, type);
}
