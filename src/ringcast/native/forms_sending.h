/* `await group.send(payload)`: a message that fits into the turn's packet, accepted without a Python frame. */
#ifndef RINGCAST_FORMS_SENDING_H
#define RINGCAST_FORMS_SENDING_H

#include <stdbool.h>
#include <structmember.h>

#include "forms_eager.h"

enum { ITEM_BYTES = 2 }; /* as in src/ringcast/runtime/forms.py */

/* ---- what may be accepted in this turn of the loop without a question */

typedef struct {
    PyObject_HEAD
    PyObject *outbox, *loop;
    PyObject *on_begin, *on_full; /* called when the first message of a turn, or its last, was put */
    Py_ssize_t slots, room_bytes, largest;
    unsigned long thread;
    char began;
    bool is_asked; /* the loop, whether it runs; else its attribute says so */
} Turn;

static PyTypeObject *TURN_TYPE;
static PyObject *NAME_THREAD_ID, *NAME_IS_RUNNING, *NAME_TURN;

/* The thread is the loop's; but another loop may run in it. uvloop has no such attribute and is asked. */
static bool runs(const Turn *turn) {
    PyObject *found = turn->is_asked ? PyObject_CallMethodNoArgs(turn->loop, NAME_IS_RUNNING)
                                     : PyObject_GetAttr(turn->loop, NAME_THREAD_ID);
    if (found == NULL) PyErr_Clear();
    bool does = found != NULL && found != Py_None && found != Py_False;
    Py_XDECREF(found);
    return does;
}

static int tell(PyObject *whom) {
    PyObject *told = PyObject_CallNoArgs(whom);
    Py_XDECREF(told);
    return told == NULL ? -1 : 1;
}

/* As `put` of src/ringcast/runtime/sending.py. 1: accepted. 0: it needs a question: the general way asks it. */
static int accept_message(Turn *turn, PyObject *payload) {
    Py_ssize_t size = PyBytes_GET_SIZE(payload);
    if (turn->slots < 1 || size > turn->largest || size > turn->room_bytes) return 0;
    if (turn->on_begin == NULL || turn->on_full == NULL || PyThread_get_thread_ident() != turn->thread) return 0;
    if (turn->outbox == NULL || !PyList_CheckExact(turn->outbox) || turn->loop == NULL || !runs(turn)) return 0;
    if (PyList_Append(turn->outbox, payload)) return -1;
    turn->slots -= 1;
    turn->room_bytes -= size + ITEM_BYTES;
    if (!turn->began) return tell(turn->on_begin);
    return turn->slots == 0 || turn->room_bytes < size ? tell(turn->on_full) : 1;
}

static PyMemberDef turn_members[] = {
    {"outbox", T_OBJECT_EX, offsetof(Turn, outbox), 0, "What was accepted and has not left."},
    {"slots", T_PYSSIZET, offsetof(Turn, slots), 0, "How many more may be accepted."},
    {"room_bytes", T_PYSSIZET, offsetof(Turn, room_bytes), 0, "How many bytes more."},
    {"largest", T_PYSSIZET, offsetof(Turn, largest), 0, "The largest message that needs no question."},
    {"on_begin", T_OBJECT_EX, offsetof(Turn, on_begin), 0, "Called when the first message of a turn was put."},
    {"on_full", T_OBJECT_EX, offsetof(Turn, on_full), 0, "Called when the last that a turn may collect was put."},
    {"began", T_BOOL, offsetof(Turn, began), 0, "The first message of this turn has left."},
    {NULL, 0, 0, 0, NULL},
};

static PyObject *turn_new(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(names)) {
    PyObject *loop;
    if (!PyArg_ParseTuple(args, "O", &loop)) return NULL;
    PyObject *outbox = PyList_New(0);
    Turn *self = outbox == NULL ? NULL : (Turn *)type->tp_alloc(type, 0);
    if (self == NULL) {
        Py_XDECREF(outbox);
        return NULL;
    }
    self->outbox = outbox;
    self->loop = Py_NewRef(loop);
    self->thread = PyThread_get_thread_ident();
    self->is_asked = !PyObject_HasAttr(loop, NAME_THREAD_ID);
    return (PyObject *)self;
}

static int turn_traverse(Turn *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->outbox);
    Py_VISIT(self->loop);
    Py_VISIT(self->on_begin);
    Py_VISIT(self->on_full);
    return 0;
}

static int turn_clear(Turn *self) {
    Py_CLEAR(self->outbox);
    Py_CLEAR(self->loop);
    Py_CLEAR(self->on_begin);
    Py_CLEAR(self->on_full);
    return 0;
}

static void turn_dealloc(Turn *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    turn_clear(self);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

static PyType_Slot turn_slots[] = {
    {Py_tp_new, turn_new},     {Py_tp_dealloc, turn_dealloc}, {Py_tp_traverse, turn_traverse},
    {Py_tp_clear, turn_clear}, {Py_tp_members, turn_members}, {0, NULL},
};

static PyType_Spec turn_spec = {
    .name = "ringcast.native._forms.Turn",
    .basicsize = sizeof(Turn),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = turn_slots,
};

static int put_message(Eager *self, PyObject **result) {
    int taken = accept_message((Turn *)self->place, self->payload);
    if (taken > 0) *result = Py_NewRef(Py_None);
    return taken;
}

/* ---- the method `send` of a class whose instances have a turn: the general way is the function that it wraps */

typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject *function, *names;
} Accepting;

static PyObject *accepting_call(PyObject *callable, PyObject *const *values, size_t flags, PyObject *names) {
    PyObject *function = ((Accepting *)callable)->function;
    if (names == NULL && PyVectorcall_NARGS(flags) == 2 && PyBytes_CheckExact(values[1])) {
        PyObject *turn = PyObject_GetAttr(values[0], NAME_TURN);
        if (turn == NULL) return NULL;
        PyObject *made = NULL;
        bool is_known = Py_IS_TYPE(turn, TURN_TYPE);
        if (is_known) made = make_eager(put_message, turn, function, values[0], values[1]);
        Py_DECREF(turn);
        if (is_known) return made;
    }
    return PyObject_Vectorcall(function, values, flags, names);
}

static PyObject *accepting_get(PyObject *self, PyObject *instance, PyObject *Py_UNUSED(type)) {
    return instance == NULL || instance == Py_None ? Py_NewRef(self) : PyMethod_New(self, instance);
}

static PyObject *accepting_new(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(names)) {
    PyObject *function;
    if (!PyArg_ParseTuple(args, "O", &function)) return NULL;
    Accepting *self = (Accepting *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    self->call = accepting_call;
    self->function = Py_NewRef(function);
    return (PyObject *)self;
}

static int accepting_traverse(Accepting *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->function);
    Py_VISIT(self->names);
    return 0;
}

static int accepting_clear(Accepting *self) {
    Py_CLEAR(self->function);
    Py_CLEAR(self->names);
    return 0;
}

static void accepting_dealloc(Accepting *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    accepting_clear(self);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

static PyMemberDef accepting_members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(Accepting, names), READONLY, NULL}, /* for __doc__, __wrapped__, … */
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Accepting, call), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef accepting_getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot accepting_slots[] = {
    {Py_tp_new, accepting_new},           {Py_tp_dealloc, accepting_dealloc}, {Py_tp_traverse, accepting_traverse},
    {Py_tp_clear, accepting_clear},       {Py_tp_members, accepting_members}, {Py_tp_getset, accepting_getset},
    {Py_tp_call, PyVectorcall_Call},      {Py_tp_descr_get, accepting_get},   {0, NULL},
};

/* Immutable: only then the interpreter remembers where it found the method. */
static PyType_Spec accepting_spec = {
    .name = "ringcast.native._forms.Accepting",
    .basicsize = sizeof(Accepting),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR |
             Py_TPFLAGS_IMMUTABLETYPE,
    .slots = accepting_slots,
};

#endif
