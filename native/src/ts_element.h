// TypeScript elements as GstElements: one GType per element, created from its specification. Both kinds, transform and sink,
// are a GObject that owns an ElementCore.
#pragma once
#include <gst/gst.h>

#include <memory>
#include <string>

#include "element_core.h"

// Any thread. Null when `element` is not a TypeScript element.
std::shared_ptr<ElementCore> ts_element_core(GstElement* element);

// ------------------------------------------------------------------------------------------------ for ts_*.cc only

// First member after the parent instance in both kinds; owned by the object.
using OwnedCore = std::shared_ptr<ElementCore>*;

std::shared_ptr<ElementCore>& ts_core_of(gpointer object);
gpointer ts_parent_class(gpointer object);
// For instance_init. Takes the class: the type of the object may still be that of its parent.
OwnedCore ts_new_core(gpointer klass);
// For class_init: properties, pad templates, description.
void ts_init_class(gpointer klass, const ElementSpec* spec);

// On GST_FLOW_ERROR posts the JavaScript error on the bus, its stack as debug text. Returns `flow`.
GstFlowReturn ts_report(gpointer object, GstFlowReturn flow, const std::shared_ptr<Call>& call);
// Create and close the handler. On the thread that changes the state.
bool ts_start(gpointer object);
void ts_stop(gpointer object);
// Streaming thread. ts_take_format() passes new caps to the handler; ts_send_format() passes a format that is due, for
// example because a flush interrupted it.
bool ts_take_format(gpointer object, GstCaps* caps);
GstFlowReturn ts_send_format(gpointer object);
// Streaming thread, for all events: records segments and the input size.
void ts_note_event(gpointer object, GstEvent* event);

// A subtype of GstBaseSink for sinks, of GstElement for transforms (ts_kinds.cc).
GType ts_register_type(const ElementSpec* spec, const char* name);
