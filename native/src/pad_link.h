// Links two elements by pads that are there, that can be requested, or that will appear.
#pragma once
#include <gst/gst.h>

#include <string>

// Control thread. Pad names may be empty (any compatible one), names, or request templates such as `src_%u`. `caps`
// chooses among several pads. For pads that appear later the link is made when they do; if none of this name or with
// these caps ever does, `from` posts an error that lists the pads that did. Empty on success.
std::string link_elements(GstElement* from, const std::string& from_pad, GstElement* to, const std::string& to_pad,
                          const std::string& caps);

// Owned, or null: by name, by request template, else the first free one, else one that can be requested (for `peer`, if
// there is one).
GstPad* take_pad(GstElement* element, const std::string& name, GstPadDirection direction, GstPad* peer);
