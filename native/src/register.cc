// registerElement: a specification from JavaScript becomes a GStreamer factory.
#include <algorithm>
#include <limits>
#include <mutex>

#include "addon.h"
#include "ts_element.h"

namespace {
std::string text_of(Napi::Object object, const char* key) {
  Napi::Value value = object.Get(key);
  return value.IsUndefined() || value.IsNull() ? "" : value.ToString().Utf8Value();
}
double number_of(Napi::Object object, const char* key, double otherwise) {
  Napi::Value value = object.Get(key);
  return value.IsNumber() ? value.As<Napi::Number>().DoubleValue() : otherwise;
}

PropertySpec property_spec(const std::string& element, Napi::Object from) {
  PropertySpec spec;
  spec.name = text_of(from, "name");
  spec.about = text_of(from, "about");
  spec.live = from.Get("live").ToBoolean();
  auto kind = text_of(from, "kind");
  Napi::Value fallback = from.Get("default");
  // 2^53: beyond it JavaScript has no exact integers.
  constexpr double kInteger = 9007199254740992.0;
  if (kind == "boolean") {
    spec.kind = PropertyKind::kBoolean;
    spec.number = fallback.ToBoolean() ? 1 : 0;
  } else if (kind == "integer") {
    spec.kind = PropertyKind::kInteger;
    spec.minimum = number_of(from, "minimum", -kInteger);
    spec.maximum = number_of(from, "maximum", kInteger);
    spec.number = number_of(from, "default", 0);
  } else if (kind == "number") {
    spec.kind = PropertyKind::kNumber;
    spec.minimum = number_of(from, "minimum", -std::numeric_limits<double>::max());
    spec.maximum = number_of(from, "maximum", std::numeric_limits<double>::max());
    spec.number = number_of(from, "default", 0);
  } else if (kind == "enum") {
    spec.kind = PropertyKind::kEnum;
    auto choices = from.Get("values").As<Napi::Array>();
    auto* values = g_new0(GEnumValue, choices.Length() + 1);  // the type keeps it for ever
    for (uint32_t i = 0; i < choices.Length(); i++) {
      auto nick = choices.Get(i).ToString().Utf8Value();
      values[i] = {static_cast<gint>(i), g_strdup(nick.c_str()), g_strdup(nick.c_str())};
      if (fallback.IsString() && fallback.ToString().Utf8Value() == nick) spec.number = i;
    }
    spec.enum_type = g_enum_register_static(("Windhover_" + element + "_" + spec.name).c_str(), values);
  } else {
    spec.kind = kind == "string" ? PropertyKind::kString : PropertyKind::kJson;
    spec.has_text = fallback.IsString();
    if (spec.has_text) spec.text = fallback.ToString().Utf8Value();
  }
  // GObject refuses a property whose default is out of its range.
  if (spec.minimum < spec.maximum) spec.number = std::clamp(spec.number, spec.minimum, spec.maximum);
  return spec;
}

// registerElement({name, about, kind, caps, access, inFlight, properties: [{name, kind, …}]})
Napi::Value register_element(const Napi::CallbackInfo& info) {
  auto env = info.Env();
  auto from = info[0].As<Napi::Object>();
  auto spec = std::make_unique<ElementSpec>();
  spec->name = text_of(from, "name");
  static std::mutex& registering = *new std::mutex;  // types are the process's, threads that register them several
  std::lock_guard<std::mutex> lock(registering);
  if (g_type_from_name(("Windhover_" + spec->name).c_str()) != 0) return env.Undefined();  // another worker was first
  spec->about = text_of(from, "about");
  spec->caps = text_of(from, "caps");
  spec->sink = text_of(from, "kind") == "sink";
  spec->klass = spec->sink ? "Sink/Windhover" : "Filter/Windhover";
  spec->writes_pixels = text_of(from, "access") == "write";
  spec->in_flight = static_cast<guint>(number_of(from, "inFlight", 1));
  GstCaps* caps = gst_caps_from_string(spec->caps.c_str());
  if (caps == nullptr) throw Napi::TypeError::New(env, "element \"" + spec->name + "\": \"" + spec->caps + "\" are no caps");
  gst_caps_unref(caps);
  auto properties = from.Get("properties").As<Napi::Array>();
  for (uint32_t i = 0; i < properties.Length(); i++)
    spec->properties.push_back(property_spec(spec->name, properties.Get(i).As<Napi::Object>()));
  register_ts_element(std::move(spec));
  return env.Undefined();
}

Napi::Value set_dispatch(const Napi::CallbackInfo& info) {
  Bridge::of(info.Env())->dispatch = Napi::Persistent(info[0].As<Napi::Function>());
  return info.Env().Undefined();
}
// {boxes, calls}: what is alive, for leak tests.
Napi::Value alive(const Napi::CallbackInfo& info) {
  auto out = Napi::Object::New(info.Env());
  out.Set("metadata", Bridge::of(info.Env())->boxes.load());
  out.Set("calls", static_cast<double>(live_calls(info.Env())));
  return out;
}
}  // namespace

void export_elements(Napi::Env env, Napi::Object exports) {
  exports.Set("registerElement", Napi::Function::New(env, register_element));
  exports.Set("setDispatch", Napi::Function::New(env, set_dispatch));
  exports.Set("alive", Napi::Function::New(env, alive));
}
