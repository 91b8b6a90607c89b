#include "input_size.h"

namespace {
constexpr const char* event_name = "windhover-input-size";

GstEvent* find_event(GstPad* pad) {
  GstEvent* event = nullptr;
  for (guint i = 0; (event = gst_pad_get_sticky_event(pad, GST_EVENT_CUSTOM_DOWNSTREAM_STICKY, i)) != nullptr; i++) {
    if (gst_event_has_name(event, event_name)) return event;
    gst_event_unref(event);
  }
  return nullptr;
}

gboolean lacks_event(GstElement*, GstPad* pad, gpointer) {
  GstEvent* event = find_event(pad);
  if (event == nullptr) return TRUE;
  gst_event_unref(event);
  return FALSE;
}

bool has_raw_video(GstCaps* caps) {
  return caps != nullptr && gst_structure_has_name(gst_caps_get_structure(caps, 0), "video/x-raw");
}

// Caps of the pad when it announced last; only ever compared. Streaming thread.
struct Announced {
  GstCaps* caps = nullptr;
  ~Announced() { gst_caps_replace(&caps, nullptr); }
};

// With the frame and not with the caps: all events that must come before it have gone on by then.
GstPadProbeReturn on_buffer(GstPad* pad, GstPadProbeInfo*, gpointer data) {
  auto* announced = static_cast<Announced*>(data);
  GstCaps* caps = gst_pad_get_current_caps(pad);
  if (caps == announced->caps) {
    if (caps != nullptr) gst_caps_unref(caps);
    return GST_PAD_PROBE_OK;
  }
  GstElement* element = gst_pad_get_parent_element(pad);
  const bool first = has_raw_video(caps) && element != nullptr && gst_element_foreach_sink_pad(element, lacks_event, nullptr);
  if (element != nullptr) gst_object_unref(element);
  int width = 0, height = 0;
  if (first) {
    const GstStructure* structure = gst_caps_get_structure(caps, 0);
    gst_structure_get_int(structure, "width", &width);
    gst_structure_get_int(structure, "height", &height);
    gst_caps_replace(&announced->caps, caps);
  }
  if (caps != nullptr) gst_caps_unref(caps);
  if (!first) return GST_PAD_PROBE_REMOVE;
  gst_pad_push_event(pad, gst_event_new_custom(GST_EVENT_CUSTOM_DOWNSTREAM_STICKY,
                                               gst_structure_new(event_name, "width", G_TYPE_INT, width, "height",
                                                                 G_TYPE_INT, height, nullptr)));
  return GST_PAD_PROBE_OK;
}
}  // namespace

void announce_input_size(GstPad* src) {
  gst_pad_add_probe(src, GST_PAD_PROBE_TYPE_BUFFER, on_buffer, new Announced,
                    [](gpointer data) { delete static_cast<Announced*>(data); });
}

bool parse_input_size(GstEvent* event, int* width, int* height) {
  if (!gst_event_has_name(event, event_name)) return false;
  const GstStructure* structure = gst_event_get_structure(event);
  return gst_structure_get_int(structure, "width", width) && gst_structure_get_int(structure, "height", height);
}
