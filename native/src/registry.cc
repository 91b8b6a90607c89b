// GStreamer's registry as plain JavaScript data. Only whether a source is live is not described by its class: for that one
// element of each source is created, and never leaves NULL.
#include <gst/base/gstbasesrc.h>
#include <gst/gst.h>
#include <malloc.h>
#include <napi.h>

#include <cstring>

#include "addon.h"
#include "gst_cpp.h"
#include "property.h"

namespace {
Napi::Value default_of(Napi::Env env, GParamSpec* spec) {
  const GValue* value = g_param_spec_get_default_value(spec);
  GType type = G_VALUE_TYPE(value);
  if (type == G_TYPE_BOOLEAN) return Napi::Boolean::New(env, g_value_get_boolean(value));
  if (type == G_TYPE_STRING) {
    const char* text = g_value_get_string(value);
    return text == nullptr ? env.Null() : Napi::Value(Napi::String::New(env, text));
  }
  GValue number = G_VALUE_INIT;
  g_value_init(&number, G_TYPE_DOUBLE);
  bool numeric = !G_VALUE_HOLDS_ENUM(value) && !G_VALUE_HOLDS_FLAGS(value) && g_value_type_transformable(type, G_TYPE_DOUBLE) &&
                 G_TYPE_FUNDAMENTAL(type) == type && g_value_transform(value, &number);
  if (numeric) return Napi::Number::New(env, g_value_get_double(&number));
  // GStreamer 1.22 crashes when serialising empty boxed values.
  if (G_VALUE_HOLDS_OBJECT(value) || G_VALUE_HOLDS_POINTER(value) || G_VALUE_HOLDS_PARAM(value) ||
      (G_VALUE_HOLDS_BOXED(value) && g_value_get_boxed(value) == nullptr))
    return env.Null();
  if (G_VALUE_HOLDS_ENUM(value)) {
    auto* klass = G_PARAM_SPEC_ENUM(spec)->enum_class;
    GEnumValue* chosen = g_enum_get_value(klass, g_value_get_enum(value));
    return chosen == nullptr ? env.Null() : Napi::Value(Napi::String::New(env, chosen->value_nick));
  }
  gchar* text = gst_value_serialize(value);
  return text == nullptr ? env.Null() : Napi::Value(Napi::String::New(env, take_text(text)));
}

const char* kind_of(GParamSpec* spec) {
  GType type = spec->value_type;
  if (type == G_TYPE_BOOLEAN) return "boolean";
  if (type == G_TYPE_STRING) return "string";
  if (type == G_TYPE_INT || type == G_TYPE_UINT || type == G_TYPE_INT64 || type == G_TYPE_UINT64 || type == G_TYPE_LONG ||
      type == G_TYPE_ULONG || type == G_TYPE_CHAR || type == G_TYPE_UCHAR)
    return "integer";
  if (type == G_TYPE_DOUBLE || type == G_TYPE_FLOAT) return "number";
  if (G_TYPE_IS_ENUM(type)) return "enum";
  if (G_TYPE_IS_FLAGS(type)) return "flags";
  if (type == GST_TYPE_FRACTION) return "fraction";
  if (type == GST_TYPE_CAPS) return "caps";
  if (type == GST_TYPE_STRUCTURE) return "structure";
  return "opaque";
}

void add_choices(Napi::Env env, Napi::Object out, GParamSpec* spec) {
  auto values = Napi::Array::New(env);
  auto add = [&](guint index, const char* nick, double value, const char* about) {
    auto entry = Napi::Object::New(env);
    entry.Set("nick", nick);
    entry.Set("value", value);
    entry.Set("about", about);
    values.Set(index, entry);
  };
  if (G_IS_PARAM_SPEC_ENUM(spec)) {
    auto* klass = G_PARAM_SPEC_ENUM(spec)->enum_class;
    for (guint i = 0; i < klass->n_values; i++) add(i, klass->values[i].value_nick, klass->values[i].value, klass->values[i].value_name);
  } else if (G_IS_PARAM_SPEC_FLAGS(spec)) {
    auto* klass = G_PARAM_SPEC_FLAGS(spec)->flags_class;
    for (guint i = 0; i < klass->n_values; i++) add(i, klass->values[i].value_nick, klass->values[i].value, klass->values[i].value_name);
  } else return;
  out.Set("values", values);
}

bool is_settable(GParamSpec* spec) { return (spec->flags & G_PARAM_WRITABLE) != 0 && (spec->flags & G_PARAM_CONSTRUCT_ONLY) == 0; }

// Controllers set controllable properties frame by frame, so GST_PARAM_CONTROLLABLE implies MUTABLE_PLAYING unless the
// property is restricted to a lower state. Without any of these flags GStreamer guarantees nothing.
bool is_mutable_while_playing(GParamSpec* spec) {
  if (!is_settable(spec)) return false;
  if ((spec->flags & GST_PARAM_MUTABLE_PLAYING) != 0) return true;
  bool restricted = (spec->flags & (GST_PARAM_MUTABLE_READY | GST_PARAM_MUTABLE_PAUSED)) != 0;
  return (spec->flags & GST_PARAM_CONTROLLABLE) != 0 && !restricted;
}

bool has_input(GstElementFactory* factory) {
  for (const GList* at = gst_element_factory_get_static_pad_templates(factory); at != nullptr; at = at->next) {
    if (static_cast<GstStaticPadTemplate*>(at->data)->direction == GST_PAD_SINK) return true;
  }
  return false;
}
// GStreamer does not mark RTMP sources as live, although their streams are.
bool speaks_rtmp(GstElementFactory* factory) {
  const gchar* const* protocol = gst_element_factory_get_uri_protocols(factory);
  for (; protocol != nullptr && *protocol != nullptr; protocol++) {
    if (g_str_has_prefix(*protocol, "rtmp")) return true;
  }
  return false;
}
// With default properties. Bins that receive from the network (rtspsrc) are live; other bins are known when they are PAUSED.
bool is_live_source(GstElementFactory* factory) {
  const gchar* klass = gst_element_factory_get_metadata(factory, GST_ELEMENT_METADATA_KLASS);
  if (klass == nullptr || strstr(klass, "Source") == nullptr || has_input(factory)) return false;
  if (speaks_rtmp(factory)) return true;
  if (!g_type_is_a(gst_element_factory_get_element_type(factory), GST_TYPE_BASE_SRC)) return strstr(klass, "Network") != nullptr;
  GstElement* created = gst_element_factory_create(factory, nullptr);
  if (created == nullptr) return false;
  Ref<GstElement> element(GST_ELEMENT(gst_object_ref_sink(created)));
  return gst_base_src_is_live(GST_BASE_SRC(element.get()));
}

Napi::Object property_info(Napi::Env env, GParamSpec* spec) {
  auto out = Napi::Object::New(env);
  const char* blurb = g_param_spec_get_blurb(spec);
  out.Set("kind", kind_of(spec));
  out.Set("gtype", g_type_name(spec->value_type));
  out.Set("about", blurb == nullptr ? "" : blurb);
  out.Set("default", default_of(env, spec));
  out.Set("writable", is_settable(spec));
  out.Set("readable", (spec->flags & G_PARAM_READABLE) != 0);
  out.Set("live", is_mutable_while_playing(spec));
  out.Set("deprecated", (spec->flags & G_PARAM_DEPRECATED) != 0);
  double minimum, maximum;
  if (numeric_limits(spec, &minimum, &maximum)) {
    out.Set("minimum", minimum);
    out.Set("maximum", maximum);
  }
  add_choices(env, out, spec);
  return out;
}

Napi::Object summary(Napi::Env env, GstElementFactory* factory) {
  auto out = Napi::Object::New(env);
  auto text = [&](const char* key) {
    const gchar* value = gst_element_factory_get_metadata(factory, key);
    return value == nullptr ? "" : value;
  };
  const gchar* plugin = gst_plugin_feature_get_plugin_name(GST_PLUGIN_FEATURE(factory));
  out.Set("name", GST_OBJECT_NAME(factory));
  out.Set("longName", text(GST_ELEMENT_METADATA_LONGNAME));
  out.Set("about", text(GST_ELEMENT_METADATA_DESCRIPTION));
  out.Set("klass", text(GST_ELEMENT_METADATA_KLASS));
  out.Set("plugin", plugin == nullptr ? "" : plugin);
  out.Set("rank", gst_plugin_feature_get_rank(GST_PLUGIN_FEATURE(factory)));
  return out;
}

Napi::Object list_properties(Napi::Env env, GType type, bool of_pad) {
  auto out = Napi::Object::New(env);
  auto* klass = static_cast<GObjectClass*>(g_type_class_ref(type));
  guint count = 0;
  GParamSpec** specs = g_object_class_list_properties(klass, &count);
  for (guint i = 0; i < count; i++) {
    // Name, parent, template and caps of a pad cannot be chosen.
    bool is_fixed = of_pad && (specs[i]->owner_type == GST_TYPE_OBJECT || (specs[i]->owner_type == GST_TYPE_PAD && std::strcmp(specs[i]->name, "offset") != 0));
    if (!is_fixed) out.Set(specs[i]->name, property_info(env, specs[i]));
  }
  g_free(specs);
  g_type_class_unref(klass);
  return out;
}

const GstStaticPadTemplate* find_static_template(GstElementFactory* factory, const gchar* name) {
  for (const GList* at = gst_element_factory_get_static_pad_templates(factory); at != nullptr; at = at->next) {
    auto* found = static_cast<GstStaticPadTemplate*>(at->data);
    if (g_strcmp0(found->name_template, name) == 0) return found;
  }
  return nullptr;
}

// In the order of the class: that of the factory is reversed in a process that has examined the plugin itself instead of
// reading GStreamer's cache. Only the factory has the caps as their author wrote them, only the class the type of the pads.
Napi::Array list_pads(Napi::Env env, GstElementFactory* factory, GstElementClass* klass) {
  auto pads = Napi::Array::New(env);
  uint32_t count = 0;
  for (const GList* at = gst_element_class_get_pad_template_list(klass); at != nullptr; at = at->next) {
    auto* pad_template = GST_PAD_TEMPLATE(at->data);
    auto* written = find_static_template(factory, GST_PAD_TEMPLATE_NAME_TEMPLATE(pad_template));
    if (written == nullptr) continue;
    auto pad = Napi::Object::New(env);
    pad.Set("name", written->name_template);
    pad.Set("direction", written->direction == GST_PAD_SRC ? "src" : "sink");
    pad.Set("presence", written->presence == GST_PAD_ALWAYS ? "always" : written->presence == GST_PAD_SOMETIMES ? "sometimes" : "request");
    pad.Set("caps", written->static_caps.string == nullptr ? "ANY" : written->static_caps.string);
    GType type = GST_PAD_TEMPLATE_GTYPE(pad_template);
    if (type != G_TYPE_NONE && type != GST_TYPE_PAD && g_type_is_a(type, GST_TYPE_PAD)) pad.Set("properties", list_properties(env, type, true));
    pads.Set(count++, pad);
  }
  return pads;
}

// The types between the element's own and GstElement, such as GstVideoAggregator and GstAggregator.
Napi::Array list_bases(Napi::Env env, GType type) {
  auto out = Napi::Array::New(env);
  uint32_t count = 0;
  for (GType at = g_type_parent(type); at != 0 && at != GST_TYPE_ELEMENT; at = g_type_parent(at)) out.Set(count++, g_type_name(at));
  return out;
}

Napi::Value list_factories(const Napi::CallbackInfo& info) {
  auto env = info.Env();
  auto out = Napi::Array::New(env);
  uint32_t count = 0;
  GList* features = gst_registry_get_feature_list(gst_registry_get(), GST_TYPE_ELEMENT_FACTORY);
  for (GList* at = features; at != nullptr; at = at->next) out.Set(count++, summary(env, GST_ELEMENT_FACTORY(at->data)));
  gst_plugin_feature_list_free(features);
  return out;
}

Napi::Value describe_factory(const Napi::CallbackInfo& info) {
  auto env = info.Env();
  GstElementFactory* found = gst_element_factory_find(info[0].As<Napi::String>().Utf8Value().c_str());
  if (found == nullptr) return env.Undefined();
  auto* loaded = GST_ELEMENT_FACTORY(gst_plugin_feature_load(GST_PLUGIN_FEATURE(found)));
  gst_object_unref(found);
  if (loaded == nullptr) return env.Undefined();
  auto out = summary(env, loaded);
  GType type = gst_element_factory_get_element_type(loaded);
  auto* klass = static_cast<GstElementClass*>(g_type_class_ref(type));
  out.Set("pads", list_pads(env, loaded, klass));
  out.Set("bases", list_bases(env, type));
  g_type_class_unref(klass);
  out.Set("liveSource", is_live_source(loaded));
  gst_object_unref(loaded);
  out.Set("properties", list_properties(env, type, false));
  return out;
}

Napi::Value set_rank(const Napi::CallbackInfo& info) {
  GstPluginFeature* feature = gst_registry_lookup_feature(gst_registry_get(), info[0].As<Napi::String>().Utf8Value().c_str());
  if (feature == nullptr) return Napi::Boolean::New(info.Env(), false);
  gst_plugin_feature_set_rank(feature, info[1].As<Napi::Number>().Uint32Value());
  gst_object_unref(feature);
  return Napi::Boolean::New(info.Env(), true);
}

// Not of the registry, but of the whole process as well: pages between blocks in use go back to the system.
void release_memory(const Napi::CallbackInfo&) { malloc_trim(0); }
}  // namespace

void export_registry(Napi::Env env, Napi::Object exports) {
  exports.Set("listFactories", Napi::Function::New(env, list_factories));
  exports.Set("describeFactory", Napi::Function::New(env, describe_factory));
  exports.Set("setRank", Napi::Function::New(env, set_rank));
  exports.Set("releaseMemory", Napi::Function::New(env, release_memory));
}
