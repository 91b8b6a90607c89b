#include "property.h"

#include <cmath>
#include <memory>

#include "gst_cpp.h"

namespace {
constexpr char kPadProperties[] = "windhover-pad-properties";
constexpr char kColons[] = "::";

std::string number_text(double number) {
  if (std::floor(number) == number && std::fabs(number) < 9.007199254740992e15) return std::to_string(static_cast<int64_t>(number));
  char digits[G_ASCII_DTOSTR_BUF_SIZE];
  return g_ascii_dtostr(digits, sizeof digits, number);
}

PropertyValue property_value(Napi::Value value) {
  if (value.IsNull() || value.IsUndefined()) return {};
  if (value.IsBoolean()) {
    const bool boolean = value.As<Napi::Boolean>();
    return {PropertyValue::Kind::kBoolean, boolean, 0, boolean ? "true" : "false"};
  }
  if (value.IsNumber()) {
    const double number = value.As<Napi::Number>().DoubleValue();
    return {PropertyValue::Kind::kNumber, false, number, number_text(number)};
  }
  return {PropertyValue::Kind::kText, false, 0, value.ToString().Utf8Value()};
}

std::string set_pad_property(GstElement* element, const std::string& pad_name, const std::string& name, const PropertyValue& value) {
  Ref<GstPad> pad(gst_element_get_static_pad(element, pad_name.c_str()));
  if (!pad) return "has no pad \"" + pad_name + "\"";
  std::string error = set_property(G_OBJECT(pad.get()), name, value);
  return error.empty() ? "" : "pad \"" + pad_name + "\" " + error;
}
}  // namespace

Properties property_values(Napi::Value record) {
  Properties out;
  if (!record.IsObject()) return out;
  auto object = record.As<Napi::Object>();
  auto names = object.GetPropertyNames();
  for (uint32_t i = 0; i < names.Length(); i++) {
    auto name = names.Get(i).ToString().Utf8Value();
    out.emplace_back(name, property_value(object.Get(name)));
  }
  return out;
}

bool numeric_limits(GParamSpec* spec, double* minimum, double* maximum) {
#define LIMITS(TYPE)                                                     \
  if (G_IS_PARAM_SPEC_##TYPE(spec)) {                                    \
    *minimum = static_cast<double>(G_PARAM_SPEC_##TYPE(spec)->minimum);  \
    *maximum = static_cast<double>(G_PARAM_SPEC_##TYPE(spec)->maximum);  \
    return true;                                                         \
  }
  LIMITS(INT)
  LIMITS(UINT)
  LIMITS(INT64)
  LIMITS(UINT64)
  LIMITS(LONG)
  LIMITS(ULONG)
  LIMITS(DOUBLE)
  LIMITS(FLOAT)
#undef LIMITS
  return false;
}

std::string prepare_element(GstElement* element, const Properties& properties) {
  auto later = std::make_unique<Properties>();
  for (const auto& [name, value] : properties) {
    size_t colons = name.find(kColons);
    if (colons != std::string::npos && !Ref<GstPad>(gst_element_get_static_pad(element, name.substr(0, colons).c_str()))) {
      later->emplace_back(name, value);
      continue;
    }
    std::string error = set_property(G_OBJECT(element), name, value);
    if (!error.empty()) return error;
  }
  if (!later->empty()) g_object_set_data_full(G_OBJECT(element), kPadProperties, later.release(), delete_data<Properties>);
  return {};
}
std::string prepare_pad(GstElement* element, GstPad* pad) {
  auto* properties = static_cast<Properties*>(g_object_get_data(G_OBJECT(element), kPadProperties));
  if (properties == nullptr) return {};
  std::string prefix = name_of(pad) + kColons, error;
  for (const auto& [name, value] : *properties) {
    if (error.empty() && name.rfind(prefix, 0) == 0) error = set_property(G_OBJECT(element), name, value);
  }
  return error;
}

std::string set_property(GObject* object, const std::string& name, const PropertyValue& value) {
  size_t colons = name.find(kColons);
  if (colons != std::string::npos && GST_IS_ELEMENT(object))
    return set_pad_property(GST_ELEMENT(object), name.substr(0, colons), name.substr(colons + 2), value);
  GParamSpec* spec = g_object_class_find_property(G_OBJECT_GET_CLASS(object), name.c_str());
  if (spec == nullptr) return "has no property \"" + name + "\"";
  if ((spec->flags & G_PARAM_WRITABLE) == 0 || (spec->flags & G_PARAM_CONSTRUCT_ONLY) != 0)
    return "property \"" + name + "\" cannot be set";
  double minimum, maximum;
  // Before parsing, which turns -1 into the largest unsigned number.
  if (value.kind == PropertyValue::Kind::kNumber && numeric_limits(spec, &minimum, &maximum) &&
      !(value.number >= minimum && value.number <= maximum))
    return "property \"" + name + "\": " + value.text + " is out of range";
  GValue target = G_VALUE_INIT;
  g_value_init(&target, spec->value_type);
  std::string error;
  switch (value.kind) {
    case PropertyValue::Kind::kDefault:
      g_param_value_set_default(spec, &target);
      break;
    case PropertyValue::Kind::kBoolean:
      if (spec->value_type == G_TYPE_BOOLEAN) g_value_set_boolean(&target, value.boolean);
      else if (!gst_value_deserialize_with_pspec(&target, value.text.c_str(), spec))
        error = "property \"" + name + "\" takes a " + g_type_name(spec->value_type) + ", not a boolean";
      break;
    case PropertyValue::Kind::kNumber:
    case PropertyValue::Kind::kText:
      if (spec->value_type == G_TYPE_STRING) g_value_set_string(&target, value.text.c_str());
      else if (!gst_value_deserialize_with_pspec(&target, value.text.c_str(), spec))
        error = "property \"" + name + "\" takes a " + g_type_name(spec->value_type) + ", not \"" + value.text + "\"";
      break;
  }
  if (error.empty() && value.kind != PropertyValue::Kind::kDefault && g_param_value_validate(spec, &target))
    error = "property \"" + name + "\": " + value.text + " is out of range";
  if (error.empty()) g_object_set_property(object, name.c_str(), &target);
  g_value_unset(&target);
  return error;
}

std::string get_property_text(GObject* object, const std::string& name, std::string* error) {
  GParamSpec* spec = g_object_class_find_property(G_OBJECT_GET_CLASS(object), name.c_str());
  if (spec == nullptr || (spec->flags & G_PARAM_READABLE) == 0) {
    *error = "has no readable property \"" + name + "\"";
    return {};
  }
  GValue value = G_VALUE_INIT;
  g_value_init(&value, spec->value_type);
  g_object_get_property(object, name.c_str(), &value);
  std::string out;
  if (spec->value_type == G_TYPE_STRING) {
    const char* text = g_value_get_string(&value);
    out = text == nullptr ? "" : text;
  } else if (!((G_VALUE_HOLDS_BOXED(&value) && g_value_get_boxed(&value) == nullptr) || G_VALUE_HOLDS_OBJECT(&value) ||
               G_VALUE_HOLDS_POINTER(&value))) {  // GStreamer 1.22 crashes when serialising empty boxed values
    out = take_text(gst_value_serialize(&value));
  }
  g_value_unset(&value);
  return out;
}
