#include "ts_element.h"

#include <gst/base/gstbasesink.h>

#include <algorithm>
#include <limits>
#include <mutex>

#include "addon.h"
#include "gst_cpp.h"
#include "pad_link.h"

namespace {
GQuark spec_quark() {
  static GQuark quark = g_quark_from_static_string("windhover-element-spec");
  return quark;
}
// Null when the type is not a TypeScript element.
const ElementSpec* spec_of(GType type) { return static_cast<const ElementSpec*>(g_type_get_qdata(type, spec_quark())); }

// Right after the instance of the parent, whose size depends on the kind.
OwnedCore owned_core(gpointer object) {
  size_t parent = spec_of(G_OBJECT_TYPE(object))->sink ? sizeof(GstBaseSink) : sizeof(GstElement);
  return *reinterpret_cast<OwnedCore*>(static_cast<char*>(object) + parent);
}

void set_property(GObject* object, guint id, const GValue* value, GParamSpec*) {
  auto& core = ts_core_of(object);
  bool post;
  {
    std::lock_guard<std::mutex> lock(core->mutex);
    g_value_copy(value, &core->values[id - 1]);
    // Properties set in quick succession reach the handler as one update.
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

// The `Format` of native/frame.ts; `video` is null for caps that are not raw video.
std::string format_json(GstCaps* caps, const GstVideoInfo* video) {
  const GstStructure* structure = gst_caps_get_structure(caps, 0);
  int width = 0, height = 0, numerator = 0, denominator = 1;
  gst_structure_get_int(structure, "width", &width);
  gst_structure_get_int(structure, "height", &height);
  gst_structure_get_fraction(structure, "framerate", &numerator, &denominator);
  char fps[G_ASCII_DTOSTR_BUF_SIZE];
  g_ascii_dtostr(fps, sizeof fps, denominator > 0 ? static_cast<double>(numerator) / denominator : 0);
  return "{\"caps\":" + json_string(text_of(caps).c_str()) + ",\"mediaType\":" + json_string(gst_structure_get_name(structure)) +
         ",\"pixels\":" + (video != nullptr ? json_string(gst_video_format_to_string(GST_VIDEO_INFO_FORMAT(video))) : "null") +
         ",\"width\":" + std::to_string(width) + ",\"height\":" + std::to_string(height) + ",\"fps\":" + fps + "}";
}
std::string describe_input(const ElementCore& core) {
  return "{\"format\":" + core.format + ",\"inputWidth\":" + std::to_string(core.input_width) +
         ",\"inputHeight\":" + std::to_string(core.input_height) + "}";
}
}  // namespace

std::shared_ptr<ElementCore>& ts_core_of(gpointer object) { return *owned_core(object); }
gpointer ts_parent_class(gpointer object) { return g_type_class_peek_parent(G_OBJECT_GET_CLASS(object)); }
OwnedCore ts_new_core(gpointer klass) {
  return new std::shared_ptr<ElementCore>(std::make_shared<ElementCore>(spec_of(G_TYPE_FROM_CLASS(klass)), Bridge::current()));
}

GstFlowReturn ts_report(gpointer object, GstFlowReturn flow, const std::shared_ptr<Call>& call) {
  if (flow == GST_FLOW_ERROR) {
    const std::string message = call ? call->error : "no JavaScript environment", stack = call ? call->stack : "";
    GST_ELEMENT_ERROR(object, STREAM, FAILED, ("%s", message.c_str()), ("%s", stack.c_str()));
  }
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
  char binding[G_ASCII_DTOSTR_BUF_SIZE];
  g_ascii_dtostr(binding, sizeof binding, core->binding);
  // Incomplete: the properties are appended when JavaScript receives it.
  std::string payload = "{\"element\":" + json_string(core->spec->name.c_str()) + ",\"node\":" +
                        json_string(name_of(object).c_str()) + ",\"binding\":" + binding + ",\"properties\":";
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

GstFlowReturn ts_send_format(gpointer object) {
  auto& core = ts_core_of(object);
  if (core->format_due.empty()) return GST_FLOW_OK;
  std::shared_ptr<Call> call;
  GstFlowReturn flow = core->call(CallKind::kFormat, nullptr, core->format_due, &call);
  if (flow != GST_FLOW_FLUSHING) core->format_due.clear();
  return ts_report(object, flow, call);
}
bool ts_take_format(gpointer object, GstCaps* caps) {
  auto& core = ts_core_of(object);
  // GStreamer calls images and encoded video ENCODED: their bytes have no planes.
  core->is_video = gst_video_info_from_caps(&core->video, caps) && GST_VIDEO_INFO_FORMAT(&core->video) != GST_VIDEO_FORMAT_ENCODED;
  core->format = format_json(caps, core->is_video ? &core->video : nullptr);
  core->format_due = describe_input(*core);
  return ts_send_format(object) != GST_FLOW_ERROR;
}
void ts_note_event(gpointer object, GstEvent* event) {
  auto& core = ts_core_of(object);
  if (GST_EVENT_TYPE(event) == GST_EVENT_SEGMENT) gst_event_copy_segment(event, &core->segment);
  // Due with the next frame; before the first caps, with those.
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
  for (const auto& property : spec->properties) g_object_class_install_property(object_class, id++, property.param);
  gst_element_class_set_metadata(element_class, spec->name.c_str(), spec->klass.c_str(), spec->about.c_str(), "Windhover");
  add_pad_templates(element_class, spec->caps.c_str(), spec->sink);
}

std::shared_ptr<ElementCore> ts_element_core(GstElement* element) {
  return spec_of(G_OBJECT_TYPE(element)) == nullptr ? nullptr : ts_core_of(element);
}

// ------------------------------------------------------------------------------------------------ registration

namespace {
std::string string_of(Napi::Object object, const char* key) {
  Napi::Value value = object.Get(key);
  return value.IsUndefined() || value.IsNull() ? "" : value.ToString().Utf8Value();
}
double number_of(Napi::Object object, const char* key, double fallback) {
  Napi::Value value = object.Get(key);
  return value.IsNumber() ? value.As<Napi::Number>().DoubleValue() : fallback;
}

GType register_enum(const std::string& name, const Napi::Array& choices) {
  auto* values = g_new0(GEnumValue, choices.Length() + 1);  // owned by the type
  for (uint32_t i = 0; i < choices.Length(); i++) {
    auto nick = choices.Get(i).ToString().Utf8Value();
    values[i] = {static_cast<gint>(i), g_strdup(nick.c_str()), g_strdup(nick.c_str())};
  }
  return g_enum_register_static(name.c_str(), values);
}

PropertySpec property_spec(const std::string& element, Napi::Object from) {
  const std::string property = string_of(from, "name"), description = string_of(from, "about"), kind = string_of(from, "kind");
  const char *name = property.c_str(), *about = description.c_str();
  const auto flags = static_cast<GParamFlags>(G_PARAM_READWRITE | (from.Get("live").ToBoolean() ? GST_PARAM_MUTABLE_PLAYING : 0));
  const Napi::Value fallback = from.Get("default");
  GParamSpec* param;
  if (kind == "boolean") {
    param = g_param_spec_boolean(name, name, about, fallback.ToBoolean(), flags);
  } else if (kind == "integer" || kind == "number") {
    // 2^53: the limit of exact integers in JavaScript.
    const double most = kind == "integer" ? 9007199254740992.0 : std::numeric_limits<double>::max();
    const double minimum = number_of(from, "minimum", -most), maximum = number_of(from, "maximum", most);
    // GObject rejects a default out of range.
    const double value = std::clamp(number_of(from, "default", 0), minimum, std::max(minimum, maximum));
    if (kind == "number") param = g_param_spec_double(name, name, about, minimum, maximum, value, flags);
    else param = g_param_spec_int64(name, name, about, static_cast<gint64>(minimum), static_cast<gint64>(maximum), static_cast<gint64>(value), flags);
  } else if (kind == "enum") {
    GType type = register_enum("Windhover_" + element + "_" + property, from.Get("values").As<Napi::Array>());
    auto* klass = static_cast<GEnumClass*>(g_type_class_ref(type));
    GEnumValue* value = fallback.IsString() ? g_enum_get_value_by_nick(klass, fallback.ToString().Utf8Value().c_str()) : nullptr;
    param = g_param_spec_enum(name, name, about, type, value == nullptr ? 0 : value->value, flags);
    g_type_class_unref(klass);
  } else {
    param = g_param_spec_string(name, name, about, fallback.IsString() ? fallback.ToString().Utf8Value().c_str() : nullptr, flags);
  }
  return {g_param_spec_ref_sink(param), kind == "json"};
}

// registerElement({name, about, kind, caps, access, inFlight, properties: [{name, kind, …}]}). A second registration of a
// name, by another thread or with other code, keeps the GType of the first.
Napi::Value register_element(const Napi::CallbackInfo& info) {
  auto env = info.Env();
  auto from = info[0].As<Napi::Object>();
  auto spec = std::make_unique<ElementSpec>();
  spec->name = string_of(from, "name");
  const std::string type_name = "Windhover_" + spec->name;
  static std::mutex& registering = *new std::mutex;  // types belong to the process, not to a thread
  std::lock_guard<std::mutex> lock(registering);
  if (g_type_from_name(type_name.c_str()) != 0) return env.Undefined();
  spec->about = string_of(from, "about");
  spec->caps = string_of(from, "caps");
  spec->sink = string_of(from, "kind") == "sink";
  spec->klass = spec->sink ? "Sink/Windhover" : "Filter/Windhover";
  spec->writes_pixels = string_of(from, "access") == "write";
  spec->in_flight = static_cast<guint>(number_of(from, "inFlight", 1));
  if (Ref<GstCaps> caps{gst_caps_from_string(spec->caps.c_str())}; !caps)
    throw Napi::TypeError::New(env, "element \"" + spec->name + "\": \"" + spec->caps + "\" are not valid caps");
  auto properties = from.Get("properties").As<Napi::Array>();
  for (uint32_t i = 0; i < properties.Length(); i++)
    spec->properties.push_back(property_spec(spec->name, properties.Get(i).As<Napi::Object>()));

  const ElementSpec* kept = spec.release();
  GType type = ts_register_type(kept, type_name.c_str());
  g_type_set_qdata(type, spec_quark(), const_cast<ElementSpec*>(kept));
  gst_element_register(nullptr, kept->name.c_str(), GST_RANK_NONE, type);
  return env.Undefined();
}

Napi::Value set_dispatch(const Napi::CallbackInfo& info) {
  Bridge::of(info.Env())->dispatch = Napi::Persistent(info[0].As<Napi::Function>());
  return info.Env().Undefined();
}
// alive() -> {metadata, calls}: live objects, for leak tests
Napi::Value alive(const Napi::CallbackInfo& info) {
  auto out = Napi::Object::New(info.Env());
  out.Set("metadata", Bridge::of(info.Env())->boxes.load());
  out.Set("calls", static_cast<double>(live_calls()));
  return out;
}
}  // namespace

void export_elements(Napi::Env env, Napi::Object exports) {
  exports.Set("registerElement", Napi::Function::New(env, register_element));
  exports.Set("setDispatch", Napi::Function::New(env, set_dispatch));
  exports.Set("alive", Napi::Function::New(env, alive));
}
