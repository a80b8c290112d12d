/* ringcast.native._coalescing: the frames of one wake, decoded, with runs that continue each other made one.
 *
 * Does what `coalesced` in src/ringcast/runtime/coalescing.py does, for the same frames and to the same result; why is
 * said there. A run whose head and tag are known is read here, straight into the list of the run that it continues; so
 * is an ack or an announcement that is known up to its numbers. Every other frame goes through the codec. See
 * _coalescing.pyi. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "coalescing_known.h"
#include "coalescing_numbered.h"
#include "coalescing_open.h"
#include "coalescing_run.h"
#include "coalescing_slots.h"

typedef struct {
    PyObject_HEAD
    PyObject *decode, *join, *run_type, *piece_type, *group, *ack_type, *highest_type;
    Slots run_slots, ack_slots, highest_slots;
    KnownTable known;
    NumberedTable numbered;
} Coalescer;

/* One call: what it has found so far. */
typedef struct {
    Coalescer *self;
    PyObject *out;
    OpenTable open;
} Wake;

static int hand_on(Wake *wake, PyObject *sender, PyObject *run) {
    PyObject *decoded = PyTuple_Pack(2, sender, run);
    int failed = decoded == NULL || PyList_Append(wake->out, decoded);
    Py_XDECREF(decoded);
    return failed ? -1 : 0;
}

/* ---- runs that are read here */

static PyObject *item_of(Coalescer *self, const run_view *run, const uint8_t *at, uint32_t length) {
    PyObject *item = PyBytes_FromStringAndSize((const char *)at, length);
    if (item == NULL || !run->is_piece) return item;
    PyObject *piece = PyObject_CallOneArg(self->piece_type, item);
    Py_DECREF(item);
    return piece;
}

static int append_items(Coalescer *self, PyObject *items, const run_view *run) {
    const uint8_t *at = run->items;
    for (uint32_t i = 0; i < run->count; i++) {
        uint32_t length = length_of(run, i);
        PyObject *item = item_of(self, run, at, length);
        if (item == NULL) return -1;
        int failed = PyList_Append(items, item);
        Py_DECREF(item);
        if (failed) return -1;
        at += length;
    }
    return 0;
}

static PyObject *make_run(Coalescer *self, const Known *known, const run_view *run, PyObject *items) {
    PyObject *made = NULL, *first = PyLong_FromLongLong(run->first), *low = PyLong_FromLongLong(run->low);
    PyObject *nbytes = PyLong_FromLongLong(run->nbytes), *each = PyLong_FromUnsignedLong(run->each);
    if (first != NULL && low != NULL && nbytes != NULL && each != NULL) {
        PyObject *values[] = {self->group, known->tag, known->sender, first, low, items, nbytes, each, Py_False};
        made = fill_slots((PyTypeObject *)self->run_type, &self->run_slots, values);
    }
    Py_XDECREF(first);
    Py_XDECREF(low);
    Py_XDECREF(nbytes);
    Py_XDECREF(each);
    return made;
}

static int begin_run(Wake *wake, const Known *known, const run_view *run) {
    Open *open = place_for(&wake->open, known->sender);
    PyObject *items = PyList_New(0);
    if (open == NULL || items == NULL || append_items(wake->self, items, run)) {
        Py_XDECREF(items);
        return -1;
    }
    open->items = items;
    open->run = make_run(wake->self, known, run, items);
    if (open->run == NULL) return -1;
    open->tag = Py_NewRef(known->tag);
    open->next = run->first + run->count;
    open->low = run->low;
    open->nbytes = run->nbytes;
    open->each = run->each;
    open->is_piece = run->is_piece;
    open->has_pieces = open->is_changed = false;
    return hand_on(wake, known->sender, open->run);
}

static int continue_run(Wake *wake, Open *open, const run_view *run) {
    if (append_items(wake->self, open->items, run)) return -1;
    open->next += run->count;
    open->low = run->low;
    open->nbytes += run->nbytes;
    if (open->each != run->each) open->each = 0;
    open->has_pieces = open->has_pieces || open->is_piece || run->is_piece;
    open->is_changed = true;
    return 0;
}

static int take_run(Wake *wake, const Known *known, const run_view *run) {
    Open *open = open_of(&wake->open, known->sender);
    bool continues = open != NULL && open->tag == known->tag && run->first == open->next && run->low >= open->low;
    return continues ? continue_run(wake, open, run) : begin_run(wake, known, run);
}

/* 1: it was such a run and is taken; 0: it is something else; -1: an error. */
static int take_known(Wake *wake, const Py_buffer *frame) {
    run_view run;
    const Known *known = find_known(&wake->self->known, frame->buf, (size_t)frame->len);
    if (known == NULL || !read_run(frame->buf, (size_t)frame->len, known->shape, &run)) return 0;
    return take_run(wake, known, &run) ? -1 : 1;
}

/* ---- acks and announcements that are read here */

/* No run: what came before it is handed on before it. */
static int take_apart(Wake *wake, PyObject *decoded) {
    return close_all(&wake->open) ? -1 : PyList_Append(wake->out, decoded);
}

/* 1: it was known but for its numbers and is taken; 0: it is something else; -1: an error. */
static int take_numbered(Wake *wake, const Py_buffer *frame) {
    Coalescer *self = wake->self;
    int count = numbers_in(frame->buf, (size_t)frame->len);
    if (count == 0) return 0;
    PyObject *type = count == 1 ? self->ack_type : self->highest_type;
    const Slots *slots = count == 1 ? &self->ack_slots : &self->highest_slots;
    PyObject *read = read_numbered(&self->numbered, type, slots, frame->buf, (size_t)frame->len, count);
    if (read == NULL) return PyErr_Occurred() ? -1 : 0;
    int failed = take_apart(wake, read);
    Py_DECREF(read);
    return failed ? -1 : 1;
}

/* The codec has read a packet that is no multicast run. */
static int learn_apart(Coalescer *self, PyObject *sender, PyObject *packet, const Py_buffer *frame) {
    PyObject *type = (PyObject *)Py_TYPE(packet);
    if (type != self->ack_type && type != self->highest_type) return 0;
    int count = numbers_in(frame->buf, (size_t)frame->len);
    return count == 0 ? 0 : learn_numbered(&self->numbered, frame->buf, (size_t)frame->len, count, sender, packet);
}

/* ---- everything else */

/* 1: `run` is a multicast run, whose sender's own it is if `is_own`; 0: it is another packet. */
static int is_multicast(Coalescer *self, PyObject *sender, PyObject *run, bool *is_own) {
    if ((PyObject *)Py_TYPE(run) != self->run_type) return 0;
    PyObject *channel = PyObject_GetAttr(run, NAME_CHANNEL), *origin = PyObject_GetAttr(run, NAME_ORIGIN);
    int found = channel == NULL || origin == NULL ? -1 : channel == self->group;
    *is_own = origin == sender;
    Py_XDECREF(channel);
    Py_XDECREF(origin);
    return found;
}

/* A run that the codec has read continues the sender's open one, or takes its place. */
static int join_or_hand_on(Wake *wake, PyObject *sender, PyObject *run, PyObject *decoded) {
    Open *open = open_of(&wake->open, sender);
    if (open != NULL) {
        if (settle(open)) return -1;
        PyObject *joined = PyObject_CallFunctionObjArgs(wake->self->join, open->run, run, NULL);
        if (joined == NULL) return -1;
        bool is_joined = joined == Py_True;
        Py_DECREF(joined);
        Py_CLEAR(open->tag); /* its numbers are in the run alone from now on */
        if (is_joined) return 0;
    }
    open = place_for(&wake->open, sender);
    if (open == NULL) return -1;
    open->run = Py_NewRef(run);
    return PyList_Append(wake->out, decoded);
}

static int take_decoded(Wake *wake, PyObject *decoded, const Py_buffer *frame) {
    bool is_own = false;
    int multicast = 0;
    PyObject *sender = NULL, *packet = NULL;
    if (PyTuple_CheckExact(decoded) && PyTuple_GET_SIZE(decoded) == 2) {
        sender = PyTuple_GET_ITEM(decoded, 0);
        packet = PyTuple_GET_ITEM(decoded, 1);
        multicast = is_multicast(wake->self, sender, packet, &is_own);
    }
    if (multicast < 0) return -1;
    if (!multicast) {
        if (packet != NULL && learn_apart(wake->self, sender, packet, frame)) return -1;
        return take_apart(wake, decoded);
    }
    if (is_own && find_known(&wake->self->known, frame->buf, (size_t)frame->len) == NULL) {
        PyObject *tag = PyObject_GetAttr(packet, NAME_TAG);
        int failed = tag == NULL || learn(&wake->self->known, frame->buf, (size_t)frame->len, sender, tag);
        Py_XDECREF(tag);
        int taken = failed ? -1 : take_known(wake, frame); /* The next of its kind may continue it. */
        if (taken) return taken < 0 ? -1 : 0;
    }
    return join_or_hand_on(wake, sender, packet, decoded);
}

static int take_frame(Wake *wake, PyObject *frame) {
    Py_buffer bytes;
    if (PyObject_GetBuffer(frame, &bytes, PyBUF_SIMPLE)) return -1;
    int taken = take_numbered(wake, &bytes);
    if (taken == 0) taken = take_known(wake, &bytes);
    if (taken == 0) {
        PyObject *decoded = PyObject_CallOneArg(wake->self->decode, frame);
        taken = decoded == NULL ? -1 : take_decoded(wake, decoded, &bytes);
        Py_XDECREF(decoded);
    }
    PyBuffer_Release(&bytes);
    return taken < 0 ? -1 : 0;
}

/* ---- the type */

static PyObject *coalescer_call(Coalescer *self, PyObject *args, PyObject *names) {
    PyObject *frames, *frame;
    if (names != NULL && PyDict_GET_SIZE(names)) return PyErr_Format(PyExc_TypeError, "takes no keywords");
    if (!PyArg_ParseTuple(args, "O", &frames)) return NULL;
    if (self->group == NULL) return PyErr_Format(PyExc_RuntimeError, "a coalescer that was never given its parts");
    PyObject *each = PyObject_GetIter(frames);
    Wake wake;
    wake.self = self;
    wake.out = each == NULL ? NULL : PyList_New(0);
    wake.open.count = 0;
    int failed = wake.out == NULL;
    while (!failed && (frame = PyIter_Next(each)) != NULL) {
        failed = take_frame(&wake, frame);
        Py_DECREF(frame);
    }
    Py_XDECREF(each);
    failed = failed || PyErr_Occurred() != NULL;
    if (failed || close_all(&wake.open)) {
        forget_all(&wake.open);
        Py_CLEAR(wake.out);
    }
    return wake.out;
}

static int coalescer_init(Coalescer *self, PyObject *args, PyObject *Py_UNUSED(names)) {
    PyObject *decode, *join, *run_type, *piece_type, *group, *ack_type, *highest_type;
    if (!PyArg_ParseTuple(args, "OOOOOOO", &decode, &join, &run_type, &piece_type, &group, &ack_type, &highest_type))
        return -1;
    if (find_slots(run_type, RUN_FIELDS, &self->run_slots) || find_slots(ack_type, ACK_FIELDS, &self->ack_slots) ||
        find_slots(highest_type, HIGHEST_FIELDS, &self->highest_slots))
        return -1;
    Py_XSETREF(self->decode, Py_NewRef(decode));
    Py_XSETREF(self->join, Py_NewRef(join));
    Py_XSETREF(self->run_type, Py_NewRef(run_type));
    Py_XSETREF(self->piece_type, Py_NewRef(piece_type));
    Py_XSETREF(self->ack_type, Py_NewRef(ack_type));
    Py_XSETREF(self->highest_type, Py_NewRef(highest_type));
    Py_XSETREF(self->group, Py_NewRef(group));
    return 0;
}

static int coalescer_traverse(Coalescer *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->decode);
    Py_VISIT(self->join);
    Py_VISIT(self->run_type);
    Py_VISIT(self->piece_type);
    Py_VISIT(self->group);
    Py_VISIT(self->ack_type);
    Py_VISIT(self->highest_type);
    int stopped = visit_known(&self->known, visit, arg);
    return stopped ? stopped : visit_numbered(&self->numbered, visit, arg);
}

static int coalescer_clear(Coalescer *self) {
    Py_CLEAR(self->decode);
    Py_CLEAR(self->join);
    Py_CLEAR(self->run_type);
    Py_CLEAR(self->piece_type);
    Py_CLEAR(self->group);
    Py_CLEAR(self->ack_type);
    Py_CLEAR(self->highest_type);
    clear_known(&self->known);
    clear_numbered(&self->numbered);
    return 0;
}

static void coalescer_dealloc(Coalescer *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    coalescer_clear(self);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

static PyType_Slot coalescer_slots[] = {
    {Py_tp_init, coalescer_init},         {Py_tp_call, coalescer_call},
    {Py_tp_traverse, coalescer_traverse}, {Py_tp_clear, coalescer_clear},
    {Py_tp_dealloc, coalescer_dealloc},   {Py_tp_new, PyType_GenericNew},
    {Py_tp_doc, "Decodes the frames of one wake and makes runs that continue each other one."},
    {0, NULL},
};

static PyType_Spec coalescer_spec = {
    .name = "ringcast.native._coalescing.Coalescer",
    .basicsize = sizeof(Coalescer),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = coalescer_slots,
};

static int module_exec(PyObject *module) {
    if (!intern_names()) return -1;
    PyObject *type = PyType_FromSpec(&coalescer_spec);
    int failed = type == NULL || PyModule_AddObjectRef(module, "Coalescer", type);
    Py_XDECREF(type);
    return failed ? -1 : 0;
}

static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, module_exec}, {0, NULL}};

static struct PyModuleDef module_definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "ringcast.native._coalescing",
    .m_slots = module_slots,
};

PyMODINIT_FUNC PyInit__coalescing(void) { return PyModuleDef_Init(&module_definition); }
