// `keyframes`: requests a keyframe from the encoder after it every `interval` of stream time, at any frame rate. Encoders
// count frames instead, and a graph does not know the frame rate before it runs.
#include <gst/base/gstbasetransform.h>
#include <gst/video/video.h>

#include "addon.h"
#include "gst_cpp.h"

namespace {
struct Keyframes {
  GstBaseTransform base;
  guint64 interval, next;
  guint count;
};
enum { kInterval = 1 };

Keyframes* cast(gpointer object) { return static_cast<Keyframes*>(object); }

GstFlowReturn transform_ip(GstBaseTransform* base, GstBuffer* buffer) {
  auto* self = cast(base);
  GST_OBJECT_LOCK(self);
  guint64 interval = self->interval;
  GST_OBJECT_UNLOCK(self);
  GstClockTime pts = GST_BUFFER_PTS(buffer);
  if (interval == 0 || !GST_CLOCK_TIME_IS_VALID(pts)) return GST_FLOW_OK;
  bool jumped = self->next != GST_CLOCK_TIME_NONE && (pts > self->next + interval || pts + 2 * interval < self->next);
  if (self->next == GST_CLOCK_TIME_NONE || pts >= self->next || jumped) {
    GstClockTime stream = gst_segment_to_stream_time(&base->segment, GST_FORMAT_TIME, pts);
    // Without a running time the request is for the next frame, which is this one. With one, GStreamer 1.22 compares it to
    // times that x264enc has shifted by a thousand hours, and grants the first request only.
    gst_pad_push_event(base->srcpad, gst_video_event_new_downstream_force_key_unit(pts, stream, GST_CLOCK_TIME_NONE, TRUE, self->count++));
    // From the grid, not from this frame: a late frame must not lengthen the interval.
    self->next = self->next == GST_CLOCK_TIME_NONE || jumped ? pts + interval : self->next + interval;
  }
  return GST_FLOW_OK;
}
gboolean start(GstBaseTransform* base) {
  cast(base)->next = GST_CLOCK_TIME_NONE;
  cast(base)->count = 0;
  return TRUE;
}
void set_property(GObject* object, guint, const GValue* value, GParamSpec*) {
  GST_OBJECT_LOCK(object);
  cast(object)->interval = g_value_get_uint64(value);
  GST_OBJECT_UNLOCK(object);
}
void get_property(GObject* object, guint, GValue* value, GParamSpec*) {
  GST_OBJECT_LOCK(object);
  g_value_set_uint64(value, cast(object)->interval);
  GST_OBJECT_UNLOCK(object);
}
void class_init(gpointer klass, gpointer) {
  auto* object = G_OBJECT_CLASS(klass);
  object->set_property = set_property;
  object->get_property = get_property;
  g_object_class_install_property(
      object, kInterval,
      g_param_spec_uint64("interval", "interval", "Nanoseconds of stream time between keyframes; 0 requests none", 0, G_MAXUINT64,
                          2 * GST_SECOND, static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_PLAYING)));
  auto* element = GST_ELEMENT_CLASS(klass);
  gst_element_class_set_static_metadata(element, "Keyframes by time", "Filter/Effect/Video",
                                        "Requests keyframes from the encoder after it by stream time", "Windhover");
  add_pad_templates(element, "video/x-raw(ANY)");
  auto* base = GST_BASE_TRANSFORM_CLASS(klass);
  base->transform_ip = transform_ip;
  base->start = start;
  base->transform_ip_on_passthrough = TRUE;
}
void init(GTypeInstance* instance, gpointer) {
  auto* self = cast(instance);
  self->interval = 2 * GST_SECOND;
  self->next = GST_CLOCK_TIME_NONE;
  gst_base_transform_set_passthrough(GST_BASE_TRANSFORM(self), TRUE);
}
}  // namespace

void register_keyframes() {
  GType type = register_type<Keyframes>(GST_TYPE_BASE_TRANSFORM, "WindhoverKeyframes", class_init, init);
  gst_element_register(nullptr, "keyframes", GST_RANK_NONE, type);
}
