/* `async for event in group`: the messages of a run that needs no question, without a Python frame each. */
#ifndef RINGCAST_FORMS_READING_H
#define RINGCAST_FORMS_READING_H

#include <structmember.h>

#include "forms_eager.h"

/* ---- the messages of a run */

typedef struct {
    PyObject_HEAD
    PyObject *sender, *payloads, *delivery; /* `payloads` is an iterator; whoever else draws from it moves this one */
} RunMessages;

static PyTypeObject *RUN_MESSAGES_TYPE, *MESSAGE_TYPE;
static Py_ssize_t SENDER_AT, PAYLOAD_AT, DELIVERY_AT;

static Py_ssize_t slot_of(PyObject *type, const char *name) {
    Py_ssize_t at = -1;
    PyObject *found = PyObject_GetAttrString(type, name);
    if (found == NULL) return -1;
    if (Py_IS_TYPE(found, &PyMemberDescr_Type)) at = ((PyMemberDescrObject *)found)->d_member->offset;
    Py_DECREF(found);
    if (at < 0) PyErr_Format(PyExc_TypeError, "%s is no slot of the message type", name);
    return at;
}

/* ---- the memory of messages that are gone, for the next: one is mostly gone before the next is read */

enum { MOST_SPARE_MESSAGES = 64 };
static PyObject *SPARE_MESSAGE[MOST_SPARE_MESSAGES];
static int SPARE_MESSAGE_COUNT;

static void free_message(void *memory) {
    bool is_plain = Py_IS_TYPE((PyObject *)memory, MESSAGE_TYPE) && MESSAGE_TYPE->tp_finalize == NULL;
    if (is_plain && SPARE_MESSAGE_COUNT < MOST_SPARE_MESSAGES)
        SPARE_MESSAGE[SPARE_MESSAGE_COUNT++] = memory;
    else
        PyObject_GC_Del(memory);
}

static inline void empty(PyObject *object, Py_ssize_t at) { Py_CLEAR(*(PyObject **)((char *)object + at)); }

/* What Python's own does for a class with three slots and no more, without looking for the rest. */
static void message_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    bool has_del = type == MESSAGE_TYPE && type->tp_finalize != NULL; /* that of a subclass was called before */
    if (has_del && PyObject_CallFinalizerFromDealloc(self) < 0) return;
    if (PyObject_GC_IsTracked(self)) PyObject_GC_UnTrack(self);
    Py_TRASHCAN_BEGIN(self, message_dealloc)
    empty(self, SENDER_AT);
    empty(self, PAYLOAD_AT);
    empty(self, DELIVERY_AT);
    type->tp_free(self);
    Py_DECREF(type);
    Py_TRASHCAN_END
}

/* Not tracked by the collector if it is made of a spare one: an address, bytes and facts make no cycle. */
static PyObject *new_message(void) {
    if (!SPARE_MESSAGE_COUNT) return MESSAGE_TYPE->tp_alloc(MESSAGE_TYPE, 0);
    return PyObject_Init(SPARE_MESSAGE[--SPARE_MESSAGE_COUNT], MESSAGE_TYPE);
}

/* Message is made without its constructor, so its slots must be known. */
static PyObject *know_message(PyObject *Py_UNUSED(module), PyObject *type) {
    if (!PyType_Check(type)) return PyErr_Format(PyExc_TypeError, "a type is needed");
    Py_ssize_t sender = slot_of(type, "sender"), payload = slot_of(type, "payload"), facts = slot_of(type, "_delivery");
    if (sender < 0 || payload < 0 || facts < 0) return NULL;
    if (MESSAGE_TYPE == NULL) {
        MESSAGE_TYPE = (PyTypeObject *)Py_NewRef(type);
        SENDER_AT = sender, PAYLOAD_AT = payload, DELIVERY_AT = facts;
        if (MESSAGE_TYPE->tp_free == PyObject_GC_Del) MESSAGE_TYPE->tp_free = free_message;
        bool has_no_more = MESSAGE_TYPE->tp_base == &PyBaseObject_Type &&
                           MESSAGE_TYPE->tp_basicsize == (Py_ssize_t)(sizeof(PyObject) + 3 * sizeof(PyObject *));
        if (has_no_more) MESSAGE_TYPE->tp_dealloc = message_dealloc;
    }
    if ((PyObject *)MESSAGE_TYPE != type) return PyErr_Format(PyExc_TypeError, "another message type is known");
    Py_RETURN_NONE;
}

static inline void fill(PyObject *object, Py_ssize_t at, PyObject *value) {
    *(PyObject **)((char *)object + at) = value;
}

/* Made before its payload is taken: what cannot be made has taken nothing. */
static PyObject *run_messages_next(RunMessages *self) {
    if (MESSAGE_TYPE == NULL) return PyErr_Format(PyExc_RuntimeError, "the message type is not known");
    PyObject *message = new_message();
    if (message == NULL) return NULL;
    PyObject *payload = Py_TYPE(self->payloads)->tp_iternext(self->payloads);
    if (payload == NULL) {
        Py_DECREF(message);
        return NULL;
    }
    fill(message, SENDER_AT, Py_NewRef(self->sender));
    fill(message, PAYLOAD_AT, payload);
    fill(message, DELIVERY_AT, Py_NewRef(self->delivery));
    return message;
}

static PyObject *run_messages_new(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(names)) {
    PyObject *sender, *payloads, *delivery;
    if (!PyArg_ParseTuple(args, "OOO", &sender, &payloads, &delivery)) return NULL;
    if (!PyIter_Check(payloads)) return PyErr_Format(PyExc_TypeError, "payloads must be an iterator");
    RunMessages *self = (RunMessages *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    self->sender = Py_NewRef(sender);
    self->payloads = Py_NewRef(payloads);
    self->delivery = Py_NewRef(delivery);
    return (PyObject *)self;
}

static int run_messages_traverse(RunMessages *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->sender);
    Py_VISIT(self->payloads);
    Py_VISIT(self->delivery);
    return 0;
}

static void run_messages_dealloc(RunMessages *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Py_XDECREF(self->sender);
    Py_XDECREF(self->payloads);
    Py_XDECREF(self->delivery);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

static PyType_Slot run_messages_slots[] = {
    {Py_tp_new, run_messages_new},
    {Py_tp_dealloc, run_messages_dealloc},
    {Py_tp_traverse, run_messages_traverse},
    {Py_tp_iter, PyObject_SelfIter},
    {Py_tp_iternext, run_messages_next},
    {0, NULL},
};

static PyType_Spec run_messages_spec = {
    .name = "ringcast.native._forms.RunMessages",
    .basicsize = sizeof(RunMessages),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = run_messages_slots,
};

/* ---- the hand: which messages may be given without a question */

typedef struct {
    PyObject_HEAD
    PyObject *messages; /* RunMessages, or anything else that has none */
} Hand;

static PyTypeObject *HAND_TYPE;

static PyMemberDef hand_members[] = {
    {"messages", T_OBJECT_EX, offsetof(Hand, messages), 0, "Of the open run, while they need no question."},
    {NULL, 0, 0, 0, NULL},
};

static int hand_traverse(Hand *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->messages);
    return 0;
}

static int hand_clear(Hand *self) {
    Py_CLEAR(self->messages);
    return 0;
}

static void hand_dealloc(Hand *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    hand_clear(self);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

static PyType_Slot hand_slots[] = {
    {Py_tp_new, PyType_GenericNew}, {Py_tp_dealloc, hand_dealloc}, {Py_tp_traverse, hand_traverse},
    {Py_tp_clear, hand_clear},      {Py_tp_members, hand_members}, {0, NULL},
};

static PyType_Spec hand_spec = {
    .name = "ringcast.native._forms.Hand",
    .basicsize = sizeof(Hand),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = hand_slots,
};

static int take_message(Eager *self, PyObject **result) {
    PyObject *messages = ((Hand *)self->place)->messages;
    if (messages == NULL || !Py_IS_TYPE(messages, RUN_MESSAGES_TYPE)) return 0;
    Py_INCREF(messages);
    *result = run_messages_next((RunMessages *)messages);
    Py_DECREF(messages);
    if (*result != NULL) return 1;
    return PyErr_Occurred() ? -1 : 0;
}

/* ---- the iterator */

typedef struct {
    PyObject_HEAD
    PyObject *hand, *next_event, *end;
} Messages;

static PyObject *messages_new(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(names)) {
    PyObject *hand, *next_event, *end;
    if (!PyArg_ParseTuple(args, "O!OO", HAND_TYPE, &hand, &next_event, &end)) return NULL;
    Messages *self = (Messages *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    self->hand = Py_NewRef(hand);
    self->next_event = Py_NewRef(next_event);
    self->end = Py_NewRef(end);
    return (PyObject *)self;
}

static PyObject *messages_anext(Messages *self) {
    PyObject *messages = ((Hand *)self->hand)->messages;
    if (messages == NULL || !Py_IS_TYPE(messages, RUN_MESSAGES_TYPE)) return PyObject_CallNoArgs(self->next_event);
    return make_eager(take_message, self->hand, self->next_event, NULL, NULL);
}

static PyObject *messages_aclose(Messages *self, PyObject *Py_UNUSED(none)) { return PyObject_CallNoArgs(self->end); }

static int messages_traverse(Messages *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->hand);
    Py_VISIT(self->next_event);
    Py_VISIT(self->end);
    return 0;
}

static int messages_clear(Messages *self) {
    Py_CLEAR(self->next_event);
    Py_CLEAR(self->end);
    return 0;
}

static void messages_dealloc(Messages *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    messages_clear(self);
    Py_XDECREF(self->hand);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

static PyMethodDef messages_methods[] = {
    {"aclose", (PyCFunction)messages_aclose, METH_NOARGS, "Leave it; nothing is lost."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot messages_slots[] = {
    {Py_tp_new, messages_new},           {Py_tp_dealloc, messages_dealloc}, {Py_tp_traverse, messages_traverse},
    {Py_tp_clear, messages_clear},       {Py_tp_methods, messages_methods}, {Py_am_aiter, eager_await},
    {Py_am_anext, messages_anext},       {0, NULL},
};

static PyType_Spec messages_spec = {
    .name = "ringcast.native._forms.Messages",
    .basicsize = sizeof(Messages),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = messages_slots,
};

#endif
