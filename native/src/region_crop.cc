// `regioncrop`: a videocrop whose region is given in fractions of the frame, whose size a graph does not know before it runs.
// Edges are those of whole chroma samples. Behind it, the size of the input video is that of the region.
#include <gst/base/gstbasetransform.h>
#include <gst/video/video.h>

#include <algorithm>
#include <cmath>

#include "addon.h"
#include "gst_cpp.h"
#include "pad_link.h"

namespace {
enum { kLeft = 1, kTop, kRight, kBottom };

// Kept outside of the instance, as the size of the parent's is only known at run time.
struct Region {
  double edges[kBottom + 1] = {0, 0, 0, 1, 1};
  // Of the frame, once its caps are known.
  int width = 0, height = 0;
};
GQuark region_quark() { return g_quark_from_static_string("windhover-region"); }
// Owned by the element. Its properties are set before it is linked; afterwards only the streaming thread uses it.
Region& region_of(gpointer object) {
  return *static_cast<Region*>(g_object_get_qdata(G_OBJECT(object), region_quark()));
}
GstBaseTransformClass* parent_of(gpointer object) {
  return GST_BASE_TRANSFORM_CLASS(g_type_class_peek_parent(G_OBJECT_GET_CLASS(object)));
}

// In pixels. elements/crop/region.ts rounds in the same way.
struct Span {
  int from, until;
};
Span span_of(double from, double until, int size) {
  const auto edge = [&](double at) { return static_cast<int>(2 * std::lround(at * size / 2)); };
  const int first = std::clamp(edge(from), 0, std::max(size - 2, 0));
  return {first, std::clamp(edge(until), std::min(first + 2, size), size)};
}
Span columns_of(const Region& r) { return span_of(r.edges[kLeft], r.edges[kRight], r.width); }
Span rows_of(const Region& r) { return span_of(r.edges[kTop], r.edges[kBottom], r.height); }

// Before the parent negotiates the caps of its source pad.
void take_caps(GstBaseTransform* base, GstEvent* event) {
  GstCaps* caps;
  gst_event_parse_caps(event, &caps);
  GstVideoInfo info;
  if (!gst_video_info_from_caps(&info, caps)) return;
  Region& region = region_of(base);
  region.width = GST_VIDEO_INFO_WIDTH(&info), region.height = GST_VIDEO_INFO_HEIGHT(&info);
  const Span x = columns_of(region), y = rows_of(region);
  g_object_set(base, "left", x.from, "right", region.width - x.until, "top", y.from, "bottom", region.height - y.until, nullptr);
}

gboolean sink_event(GstBaseTransform* base, GstEvent* event) {
  if (GST_EVENT_TYPE(event) == GST_EVENT_CAPS) take_caps(base, event);
  int width, height;
  const Region& region = region_of(base);
  if (region.width > 0 && region.height > 0 && parse_input_size(event, &width, &height)) {
    const Span x = columns_of(region), y = rows_of(region);
    const auto part = [](int of, Span span, int size) {
      return static_cast<int>(std::lround(static_cast<double>(of) * (span.until - span.from) / size));
    };
    GstEvent* scaled = input_size_event(part(width, x, region.width), part(height, y, region.height));
    gst_event_set_seqnum(scaled, gst_event_get_seqnum(event));
    gst_event_unref(event);
    event = scaled;
  }
  return parent_of(base)->sink_event(base, event);
}

void set_property(GObject* object, guint id, const GValue* value, GParamSpec*) {
  region_of(object).edges[id] = g_value_get_double(value);
}
void get_property(GObject* object, guint id, GValue* value, GParamSpec*) {
  g_value_set_double(value, region_of(object).edges[id]);
}
void class_init(gpointer klass, gpointer) {
  auto* object = G_OBJECT_CLASS(klass);
  object->set_property = set_property;
  object->get_property = get_property;
  const auto install = [&](guint id, const char* name, double fallback) {
    g_object_class_install_property(object, id,
                                    g_param_spec_double(name, name, "Edge of the region, as a fraction of the frame", 0, 1, fallback,
                                                        static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS)));
  };
  install(kLeft, "region-left", 0);
  install(kTop, "region-top", 0);
  install(kRight, "region-right", 1);
  install(kBottom, "region-bottom", 1);
  gst_element_class_set_static_metadata(GST_ELEMENT_CLASS(klass), "Crop by fractions", "Filter/Effect/Video",
                                        "Crops video into a region in fractions of the frame", "Windhover");
  GST_BASE_TRANSFORM_CLASS(klass)->sink_event = sink_event;
}
void init(GTypeInstance* instance, gpointer) {
  g_object_set_qdata_full(G_OBJECT(instance), region_quark(), new Region, [](gpointer data) { delete static_cast<Region*>(data); });
}
}  // namespace

void register_region_crop() {
  GstElementFactory* found = gst_element_factory_find("videocrop");
  auto* factory = found == nullptr ? nullptr : GST_ELEMENT_FACTORY(gst_plugin_feature_load(GST_PLUGIN_FEATURE(found)));
  if (found != nullptr) gst_object_unref(found);
  if (factory == nullptr) return;  // not installed: graphs with `crop` do not compile
  const GType parent = gst_element_factory_get_element_type(factory);
  gst_object_unref(factory);
  GTypeQuery size;
  g_type_query(parent, &size);
  GTypeInfo info = {};
  info.class_size = static_cast<guint16>(size.class_size);
  info.class_init = class_init;
  info.instance_size = static_cast<guint16>(size.instance_size);
  info.instance_init = init;
  const GType type = g_type_register_static(parent, "WindhoverRegionCrop", &info, static_cast<GTypeFlags>(0));
  gst_element_register(nullptr, "regioncrop", GST_RANK_NONE, type);
}
