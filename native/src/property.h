// GObject properties set from JavaScript. Values are copied out of V8 first and converted on the control thread.
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
  std::string text;  // of numbers too: GStreamer's parser handles all types
};
using Properties = std::vector<std::pair<std::string, PropertyValue>>;

// JS thread. null and undefined reset a property to its default.
Properties property_values(Napi::Value record);

// False for properties that are not numeric. 64-bit limits are rounded.
bool numeric_limits(GParamSpec* spec, double* minimum, double* maximum);

// Any thread. Empty on success, else the error. `sink_1::xpos` of an element is a property of its pad.
std::string set_property(GObject* object, const std::string& name, const PropertyValue& value);
// Control thread. Sets the properties of a new element; those of pads that do not exist yet are kept for prepare_pad().
std::string prepare_element(GstElement* element, const Properties& properties);
// Any thread. Sets the properties of a new pad before it is linked.
std::string prepare_pad(GstElement* element, GstPad* pad);
// Control thread. The current value as text.
std::string get_property_text(GObject* object, const std::string& name, std::string* error);
