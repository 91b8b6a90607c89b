// Defects of elements of GStreamer 1.22, and what avoids them.
#include <gst/video/gstvideofilter.h>
#include <gst/video/video.h>

#include "addon.h"
#include "gst_cpp.h"

namespace {
bool is_made_by(GstElement* element, const char* factory) {
  return g_strcmp0(GST_OBJECT_NAME(gst_element_get_factory(element)), factory) == 0;
}

bool next_reads_layouts(GstBaseTransform* filter, GstQuery* query) {
  GstCaps* caps;
  gst_query_parse_allocation(query, &caps, nullptr);
  GstQuery* next = gst_query_new_allocation(caps, FALSE);
  const bool reads = gst_pad_peer_query(GST_BASE_TRANSFORM_SRC_PAD(filter), next) &&
                     gst_query_find_allocation_meta(next, GST_VIDEO_META_API_TYPE, nullptr);
  gst_query_unref(next);
  return reads;
}

// Streaming thread, with the element's answer: whether it takes frames in another layout than the usual one (GstVideoMeta),
// such as those of decoders with padding.
template <bool (*reads_layouts)(GstPad*, GstQuery*)>
GstPadProbeReturn correct_answer(GstPad* pad, GstPadProbeInfo* info, gpointer) {
  GstQuery* query = GST_PAD_PROBE_INFO_QUERY(info);
  guint index;
  if (GST_QUERY_TYPE(query) == GST_QUERY_ALLOCATION && gst_query_find_allocation_meta(query, GST_VIDEO_META_API_TYPE, &index) &&
      !reads_layouts(pad, query))
    gst_query_remove_nth_allocation_meta(query, index);
  return GST_PAD_PROBE_OK;
}
template <bool (*reads_layouts)(GstPad*, GstQuery*)>
void correct_answers(GstPad* pad) {
  const auto answers = static_cast<GstPadProbeType>(GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM | GST_PAD_PROBE_TYPE_PULL);
  gst_pad_add_probe(pad, answers, correct_answer<reads_layouts>, nullptr, nullptr);
}

bool never(GstPad*, GstQuery*) { return false; }
// A filter that works in place passes frames on in the layout in which they arrive.
bool as_the_next(GstPad* pad, GstQuery* query) { return next_reads_layouts(GST_BASE_TRANSFORM(GST_PAD_PARENT(pad)), query); }
}  // namespace

void mend_element(GstElement* element) {
  // It accepts any layout, as every GstVideoEncoder, and writes the padding into the file.
  if (is_made_by(element, "y4menc")) correct_answers<never>(GST_VIDEO_ENCODER_SINK_PAD(element));
  if (!GST_IS_VIDEO_FILTER(element)) return;
  auto* filter = GST_BASE_TRANSFORM(element);
  if (gst_base_transform_is_in_place(filter)) correct_answers<as_the_next>(GST_BASE_TRANSFORM_SINK_PAD(filter));
  // It copies frames that need not be turned until its direction has changed once.
  if (is_made_by(element, "videoflip")) gst_base_transform_set_passthrough(filter, TRUE);
}
