// Values on their way from JavaScript to GObject properties. Copied out of V8 first, converted on the control thread.
#pragma once
#include <gst/gst.h>
#include <napi.h>

#include <string>
#include <utility>
#include <vector>

struct PropertyValue {
  enum class Kind { kDefault, kBoolean, kNumber, kText } kind = Kind::kDefault;
  bool boolean = false;
  double number = 0;
  std::string text;  // of numbers too: GStreamer's own parser knows every type
};
using Properties = std::vector<std::pair<std::string, PropertyValue>>;

// JS thread. null and undefined mean: back to the default.
PropertyValue property_value(Napi::Value value);
Properties property_values(Napi::Value record);

// False for properties that are no numbers. 64-bit limits are rounded.
bool numeric_limits(GParamSpec* spec, double* minimum, double* maximum);

// Any thread that may touch the object. Empty on success, else what is wrong with it. `sink_1::xpos` of an element is a
// property of its pad.
std::string set_property(GObject* object, const std::string& name, const PropertyValue& value);
// Control thread. Properties of a new element; those of pads that are not there yet are kept for prepare_pad().
std::string prepare_element(GstElement* element, const Properties& properties);
// Any thread. Properties of a pad that has just come to be, before it is linked.
std::string prepare_pad(GstElement* element, GstPad* pad);
// JSON-like text of the present value.
std::string get_property_text(GObject* object, const std::string& name, std::string* error);
