#include "ts_element.h"

#include <gst/base/gstbasesink.h>

#include <map>
#include <mutex>
#include <utility>

#include "input_size.h"
#include "json_text.h"
#include "ts_shell.h"

namespace {
std::mutex specs_mutex;
std::map<std::string, std::pair<const ElementSpec*, GType>>& specs() {
  static std::map<std::string, std::pair<const ElementSpec*, GType>> all;
  return all;
}

// Right behind the parent's part of the instance, whichever parent it is.
OwnedCore owned_core(gpointer object) {
  size_t parent = ts_spec_of(object)->sink ? sizeof(GstBaseSink) : sizeof(GstElement);
  return *reinterpret_cast<OwnedCore*>(static_cast<char*>(object) + parent);
}

void post_error(gpointer object, const std::string& message, const std::string& stack) {
  GST_ELEMENT_ERROR(object, STREAM, FAILED, ("%s", message.c_str()), ("%s", stack.c_str()));
}
void set_property(GObject* object, guint id, const GValue* value, GParamSpec*) {
  auto& core = ts_core_of(object);
  bool post;
  {
    std::lock_guard<std::mutex> lock(core->mutex);
    g_value_copy(value, &core->values[id - 1]);
    // Several properties set one after the other reach the handler as one update.
    post = core->started && !core->properties_posted;
    if (post) core->properties_posted = true;
  }
  if (post) core->notify(CallKind::kProperties);
}
void get_property(GObject* object, guint id, GValue* value, GParamSpec*) {
  auto& core = ts_core_of(object);
  std::lock_guard<std::mutex> lock(core->mutex);
  g_value_copy(&core->values[id - 1], value);
}
void finalize(GObject* object) {
  OwnedCore core = owned_core(object);
  (*core)->cancel_for_good();
  auto* parent = G_OBJECT_CLASS(ts_parent_class(object));
  delete core;
  parent->finalize(object);
}

std::string describe_input(const ElementCore& core) {
  return "{\"format\":" + core.format + ",\"inputWidth\":" + std::to_string(core.input_width) +
         ",\"inputHeight\":" + std::to_string(core.input_height) + "}";
}

GParamSpec* param_spec(const PropertySpec& p) {
  auto flags = static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | (p.live ? GST_PARAM_MUTABLE_PLAYING : 0));
  const char *name = p.name.c_str(), *about = p.about.c_str();
  switch (p.kind) {
    case PropertyKind::kBoolean:
      return g_param_spec_boolean(name, name, about, p.number != 0, flags);
    case PropertyKind::kInteger:
      return g_param_spec_int64(name, name, about, static_cast<gint64>(p.minimum), static_cast<gint64>(p.maximum),
                                static_cast<gint64>(p.number), flags);
    case PropertyKind::kNumber:
      return g_param_spec_double(name, name, about, p.minimum, p.maximum, p.number, flags);
    case PropertyKind::kEnum:
      return g_param_spec_enum(name, name, about, p.enum_type, static_cast<gint>(p.number), flags);
    case PropertyKind::kString:
    case PropertyKind::kJson:
      return g_param_spec_string(name, name, about, p.has_text ? p.text.c_str() : nullptr, flags);
  }
  return nullptr;
}
}  // namespace

GQuark ts_spec_quark() {
  static GQuark quark = g_quark_from_static_string("windhover-element-spec");
  return quark;
}
const ElementSpec* ts_spec_of(gpointer object) {
  return static_cast<const ElementSpec*>(g_type_get_qdata(G_OBJECT_TYPE(object), ts_spec_quark()));
}
std::shared_ptr<ElementCore>& ts_core_of(gpointer object) { return *owned_core(object); }
gpointer ts_parent_class(gpointer object) { return g_type_class_peek_parent(G_OBJECT_GET_CLASS(object)); }
OwnedCore ts_new_core(gpointer klass) {
  auto* spec = static_cast<const ElementSpec*>(g_type_get_qdata(G_TYPE_FROM_CLASS(klass), ts_spec_quark()));
  return new std::shared_ptr<ElementCore>(std::make_shared<ElementCore>(spec, Bridge::current()));
}

GstFlowReturn ts_report(gpointer object, GstFlowReturn flow, const std::shared_ptr<Call>& call) {
  if (flow == GST_FLOW_ERROR) post_error(object, call ? call->error : "no JavaScript environment", call ? call->stack : "");
  return flow;
}

bool ts_start(gpointer object) {
  auto& core = ts_core_of(object);
  core->allow();
  core->format.clear();
  core->format_due.clear();
  core->input_width = core->input_height = 0;
  core->frames = 0;
  {
    std::lock_guard<std::mutex> lock(core->mutex);
    core->started = true;
  }
  gchar* name = gst_object_get_name(GST_OBJECT(object));
  char binding[G_ASCII_DTOSTR_BUF_SIZE];
  g_ascii_dtostr(binding, sizeof binding, core->binding);
  // Open at its end: the properties are added when JavaScript gets it.
  std::string payload = "{\"element\":" + json_string(core->spec->name.c_str()) + ",\"node\":" + json_string(name) +
                        ",\"binding\":" + binding + ",\"properties\":";
  g_free(name);
  std::shared_ptr<Call> call;
  bool started = ts_report(object, core->call(CallKind::kStart, nullptr, payload, &call), call) == GST_FLOW_OK;
  std::lock_guard<std::mutex> lock(core->mutex);
  core->started = started;
  return started;
}
void ts_stop(gpointer object) {
  auto& core = ts_core_of(object);
  {
    std::lock_guard<std::mutex> lock(core->mutex);
    core->started = false;
  }
  core->notify(CallKind::kStop);
}

GstFlowReturn ts_tell_format(gpointer object) {
  auto& core = ts_core_of(object);
  if (core->format_due.empty()) return GST_FLOW_OK;
  std::shared_ptr<Call> call;
  GstFlowReturn flow = core->call(CallKind::kFormat, nullptr, core->format_due, &call);
  if (flow != GST_FLOW_FLUSHING) core->format_due.clear();
  return ts_report(object, flow, call);
}
bool ts_take_format(gpointer object, GstCaps* caps) {
  auto& core = ts_core_of(object);
  // Of pictures and encoded video it only says that they are: their bytes are no planes.
  core->is_video = gst_video_info_from_caps(&core->video, caps) && GST_VIDEO_INFO_FORMAT(&core->video) != GST_VIDEO_FORMAT_ENCODED;
  core->format = format_json(caps, core->is_video ? &core->video : nullptr);
  core->format_due = describe_input(*core);
  return ts_tell_format(object) != GST_FLOW_ERROR;
}
void ts_note_event(gpointer object, GstEvent* event) {
  auto& core = ts_core_of(object);
  if (GST_EVENT_TYPE(event) == GST_EVENT_SEGMENT) gst_event_copy_segment(event, &core->segment);
  // Told with the next frame. Before the first caps there is nothing to tell: it goes with them.
  if (parse_input_size(event, &core->input_width, &core->input_height) && !core->format.empty())
    core->format_due = describe_input(*core);
}

void ts_init_class(gpointer klass, const ElementSpec* spec) {
  auto* object_class = G_OBJECT_CLASS(klass);
  auto* element_class = GST_ELEMENT_CLASS(klass);
  object_class->set_property = set_property;
  object_class->get_property = get_property;
  object_class->finalize = finalize;
  guint id = 1;
  for (const auto& property : spec->properties) g_object_class_install_property(object_class, id++, param_spec(property));
  gst_element_class_set_metadata(element_class, spec->name.c_str(), spec->klass.c_str(), spec->about.c_str(), "Windhover");
  GstCaps* caps = gst_caps_from_string(spec->caps.c_str());
  gst_element_class_add_pad_template(element_class, gst_pad_template_new("sink", GST_PAD_SINK, GST_PAD_ALWAYS, caps));
  if (!spec->sink)
    gst_element_class_add_pad_template(element_class, gst_pad_template_new("src", GST_PAD_SRC, GST_PAD_ALWAYS, caps));
  gst_caps_unref(caps);
}

void register_ts_element(std::unique_ptr<ElementSpec> fresh) {
  std::lock_guard<std::mutex> lock(specs_mutex);
  if (specs().count(fresh->name) != 0) return;
  const ElementSpec* spec = fresh.release();
  GTypeInfo info = spec->sink ? ts_sink_info(spec) : ts_transform_info(spec);
  GType type = g_type_register_static(spec->sink ? GST_TYPE_BASE_SINK : GST_TYPE_ELEMENT,
                                      ("Windhover_" + spec->name).c_str(), &info, static_cast<GTypeFlags>(0));
  g_type_set_qdata(type, ts_spec_quark(), const_cast<ElementSpec*>(spec));
  gst_element_register(nullptr, spec->name.c_str(), GST_RANK_NONE, type);
  specs()[spec->name] = {spec, type};
}

std::shared_ptr<ElementCore> ts_element_core(GstElement* element) {
  return ts_spec_of(element) == nullptr ? nullptr : ts_core_of(element);
}

std::string format_json(GstCaps* caps, const GstVideoInfo* video) {
  gchar* text = gst_caps_to_string(caps);
  const GstStructure* structure = gst_caps_get_structure(caps, 0);
  int width = 0, height = 0, numerator = 0, denominator = 1;
  gst_structure_get_int(structure, "width", &width);
  gst_structure_get_int(structure, "height", &height);
  gst_structure_get_fraction(structure, "framerate", &numerator, &denominator);
  char fps[G_ASCII_DTOSTR_BUF_SIZE];
  g_ascii_dtostr(fps, sizeof fps, denominator > 0 ? static_cast<double>(numerator) / denominator : 0);
  std::string out = "{\"caps\":" + json_string(text) + ",\"mediaType\":" + json_string(gst_structure_get_name(structure)) +
                    ",\"pixels\":" + (video != nullptr ? json_string(gst_video_format_to_string(GST_VIDEO_INFO_FORMAT(video))) : "null") +
                    ",\"width\":" + std::to_string(width) + ",\"height\":" + std::to_string(height) + ",\"fps\":" + fps + "}";
  g_free(text);
  return out;
}
