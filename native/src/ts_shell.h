// What the two kinds of TypeScript elements have in common: a GObject shell around an ElementCore. Only ts_*.cc use it.
#pragma once
#include <gst/gst.h>

#include <memory>

#include "element_core.h"

// First member after the parent instance in both kinds, owned by the object.
using OwnedCore = std::shared_ptr<ElementCore>*;

GQuark ts_spec_quark();
// Null when the object is no TypeScript element.
const ElementSpec* ts_spec_of(gpointer object);
std::shared_ptr<ElementCore>& ts_core_of(gpointer object);
gpointer ts_parent_class(gpointer object);
// For instance_init: the object's own type may still be the parent's then; the class is always the right one.
OwnedCore ts_new_core(gpointer klass);
// For class_init: properties, pad templates, description.
void ts_init_class(gpointer klass, const ElementSpec* spec);

// The JavaScript error becomes the bus error: its text the message, its stack the debug part. Gives `flow` back.
GstFlowReturn ts_report(gpointer object, GstFlowReturn flow, const std::shared_ptr<Call>& call);
// The handler is made, and let go. Whoever changes the state.
bool ts_start(gpointer object);
void ts_stop(gpointer object);
// Tells the handler of a format: of a new one, and of one that a flush kept from it. Streaming thread.
bool ts_take_format(gpointer object, GstCaps* caps);
GstFlowReturn ts_tell_format(gpointer object);
// Of any event: notes segments, and the one that says how large the picture came in. Streaming thread.
void ts_note_event(gpointer object, GstEvent* event);

// What g_type_register_static() wants to know of each kind.
GTypeInfo ts_transform_info(const ElementSpec* spec);
GTypeInfo ts_sink_info(const ElementSpec* spec);
