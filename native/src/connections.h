// See connections.cc.
#pragma once
#include <gst/gst.h>

// Before the element leaves NULL. Takes no reference. UDP that a source would send to a host that is not allowed goes nowhere.
void guard_datagrams(GstElement* element);
