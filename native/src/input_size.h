// How large the picture was when it came into the graph, for elements behind something that resizes it.
#pragma once
#include <gst/gst.h>

// Control thread, once for each pad that is linked. Where raw video comes into being (a source, a decoder), its size
// goes downstream as a sticky event: in order with the frames, through queues, tees and scalers. Pads whose element
// already gets such an event are left alone.
void announce_input_size(GstPad* src);

// Streaming thread. False when the event is another one.
bool parse_input_size(GstEvent* event, int* width, int* height);
