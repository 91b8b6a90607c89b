// Links two elements by pads that are there, that can be requested, or that will appear.
#pragma once
#include <gst/gst.h>

#include <string>

// Control thread. Pad names may be empty (whichever fits) or request templates such as `src_%u`. `caps` chooses among
// several pads. For pads that appear later the link is made when they do; if none with these caps ever does, `from`
// posts an error that says so. Empty on success.
std::string link_elements(GstElement* from, const std::string& from_pad, GstElement* to, const std::string& to_pad,
                          const std::string& caps);
