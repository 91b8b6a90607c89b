// Links elements by pads that exist, that can be requested, or that appear later, and announces the size of raw video.
#pragma once
#include <gst/gst.h>

#include <string>

#include "gst_cpp.h"

// Control thread. Pad names may be empty (any compatible pad), names, or request templates such as `src_%u`; `caps` selects
// among several pads. Pads that appear later are linked when they do; if none with this name or these caps appears, `from`
// posts an error that lists the pads that did. Empty on success.
std::string link_elements(GstElement* from, const std::string& from_pad, GstElement* to, const std::string& to_pad,
                          const std::string& caps);

// By name or request template, else the first unlinked pad, else one that can be requested (for `peer`, if given); or null.
Ref<GstPad> take_pad(GstElement* element, const std::string& name, GstPadDirection direction, GstPad* peer);

// Streaming thread. Where raw video originates (a source, a decoder), its size is sent downstream as a sticky event: in order
// with the frames, through queues, tees and scalers, so that elements know the size of the input. False for other events.
bool parse_input_size(GstEvent* event, int* width, int* height);
// Such an event, for elements that change what the input is. The caller owns it.
GstEvent* input_size_event(int width, int height);
