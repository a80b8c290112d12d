/* ringcast.native._bus.Port: one attached peer as a Python object; the base class of ringcast.bus's SharedPeer.
 *
 * Everything that touches the peer's private state runs with the GIL held, so the threads of one process may share a
 * Port. The GIL is released by waiting, by calling a method of the subclass, and by the collector where a list or a tuple
 * is made: no step on that state is half done there, and what was read from it before is read again. Whatever needs words for people is left to methods of the
 * subclass: _resolve, _refuse_full, _refuse_long, _refuse_lost, _refuse_closed, _refuse_idle.
 */
#ifndef RINGCAST_BUS_PORT_H
#define RINGCAST_BUS_PORT_H

#include "bus_segment.h"

#define PORT_SPINS 2000      /* some microseconds */
#define PORT_MASKS_MAX 4096
#define PORT_WATCH_CALLS 256 /* a busy peer reads the clock once in so many calls */

typedef struct {
    PyObject_HEAD
    Segment *segment;
    bus_peer peer;
    bool is_open;
    bool send_waits; /* a task of an event loop has waited for room since we last looked after the others */
    unsigned calls, spins;
    uint64_t barrier;     /* transaction of the last barrier of ours that was dequeued */
    uint64_t masks_epoch; /* until when the masks below hold */
    PyObject *masks;      /* destinations as the caller wrote them -> bits */
    PyObject *last_to;    /* the last one asked for, or NULL: whoever sends in a loop passes the same object */
    uint64_t last_mask;
    PyObject *message_type, *run_type, *left_type;
    PyObject *causes; /* a word for each cause of leaving, by its number */
    uint32_t leaver;  /* whose farewell is the front */
    PyObject *kept; /* items given back, the next one last; or NULL */
    PyObject *names[BUS_PEERS_MAX];
    uint32_t names_of[BUS_PEERS_MAX]; /* incarnations */
} Port;

static PyTypeObject *port_segment_type; /* set once when the module is made */

static int port_attach(Port *self, uint32_t slot, const char *name, uint64_t pid) {
    char padded[BUS_NAME_BYTES] = {0};
    if (strlen(name) >= sizeof padded || slot >= self->segment->view.peers_max) {
        PyErr_SetString(PyExc_ValueError, "name or slot out of range");
        return -1;
    }
    strcpy(padded, name);
    self->peer = (bus_peer){.view = &self->segment->view, .ringers = &self->segment->ringers, .me = slot,
                            .is_held = segment_is_held, .lock_fd = self->segment->lock_fd};
    if (!bus_attach(&self->peer, padded, pid)) return PyErr_NoMemory(), -1;
    self->is_open = true;
    self->spins = sysconf(_SC_NPROCESSORS_ONLN) > 1 ? PORT_SPINS : 0; /* alone on one core, spinning delays the partner */
    return 0;
}

static int port_init(Port *self, PyObject *args, PyObject *kwargs) {
    static char *keywords[] = {"segment", "slot", "name", "pid", "message_type", "run_type", "left_type",
                               "causes",  NULL};
    PyObject *segment, *message_type, *run_type, *left_type, *causes;
    unsigned slot;
    unsigned long long pid;
    const char *name;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!IsKO!O!O!O!", keywords, port_segment_type, &segment, &slot,
                                     &name, &pid, &PyType_Type, &message_type, &PyType_Type, &run_type, &PyType_Type,
                                     &left_type, &PyTuple_Type, &causes))
        return -1;
    if (self->segment) return PyErr_SetString(PyExc_TypeError, "a port is attached once"), -1;
    if (PyTuple_GET_SIZE(causes) != BUS_CAUSES) return PyErr_SetString(PyExc_ValueError, "a word for each cause"), -1;
    if (!segment_is_usable((Segment *)segment) || !(self->masks = PyDict_New())) return -1;
    self->segment = (Segment *)Py_NewRef(segment);
    self->message_type = Py_NewRef(message_type);
    self->run_type = Py_NewRef(run_type);
    self->left_type = Py_NewRef(left_type);
    self->causes = Py_NewRef(causes);
    self->masks_epoch = UINT64_MAX;
    return port_attach(self, slot, name, pid);
}

static void port_dealloc(Port *self) {
    bus_sender_close(&self->peer.sender);
    for (uint32_t slot = 0; slot < BUS_PEERS_MAX; slot++) Py_XDECREF(self->names[slot]);
    Py_XDECREF(self->masks);
    Py_XDECREF(self->last_to);
    Py_XDECREF(self->message_type);
    Py_XDECREF(self->run_type);
    Py_XDECREF(self->left_type);
    Py_XDECREF(self->causes);
    Py_XDECREF(self->kept);
    Py_XDECREF((PyObject *)self->segment);
    PyTypeObject *type = Py_TYPE(self);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

/* Lets a method of the subclass say in words why something is refused; it must raise. */
static void port_refuse(Port *self, const char *method, const char *format, ...) {
    va_list values;
    va_start(values, format);
    PyObject *arguments = Py_VaBuildValue(format, values);
    va_end(values);
    PyObject *bound = PyObject_GetAttrString((PyObject *)self, method);
    PyObject *answer = bound && arguments ? PyObject_CallObject(bound, arguments) : NULL;
    if (answer) PyErr_Format(PyExc_RuntimeError, "%s did not raise", method);
    Py_XDECREF(answer);
    Py_XDECREF(bound);
    Py_XDECREF(arguments);
}

static bool port_is_usable(Port *self) {
    if (self->is_open) return true;
    if (self->segment) port_refuse(self, "_refuse_closed", "()");
    else PyErr_SetString(PyExc_ValueError, "the port was never attached");
    return false;
}

/* A busy peer never waits, so it looks after the others from time to time in passing. */
static void port_watch_in_passing(Port *self) {
    if (++self->calls % PORT_WATCH_CALLS == 0 && bus_clock_ns() - self->peer.watched_ns > BUS_WATCH_NS)
        bus_watch(&self->peer, false);
}

#define PORT_NO_DEADLINE UINT64_MAX

/* Seconds, or None for ever, to a point on the monotonic clock; 0 means "do not wait". False: an error is set. */
static bool port_deadline(PyObject *timeout, uint64_t *deadline) {
    *deadline = PORT_NO_DEADLINE;
    if (!timeout || timeout == Py_None) return true;
    double seconds = PyFloat_AsDouble(timeout);
    if (seconds == -1.0 && PyErr_Occurred()) return false;
    if (seconds <= 0) *deadline = 0;
    else if (seconds < 1e9) *deadline = bus_clock_ns() + (uint64_t)(seconds * 1e9);
    return true;
}

enum port_waited { PORT_LOOK_AGAIN, PORT_EXPIRED, PORT_FAILED };

/* Sleeps until something on the list changed or it is time to look after the others. Only here the GIL is released. */
static enum port_waited port_wait(Port *self, bus_bell *bell, const bus_watchlist *list, uint64_t deadline,
                                  bool send_waits) {
    uint64_t sleep_ns = BUS_WATCH_NS;
    if (deadline != PORT_NO_DEADLINE) {
        uint64_t now = deadline ? bus_clock_ns() : 0;
        if (now >= deadline) return PORT_EXPIRED;
        if (deadline - now < sleep_ns) sleep_ns = deadline - now;
    }
    Py_BEGIN_ALLOW_THREADS
    bus_bell_wait(bell, list, self->spins, sleep_ns);
    Py_END_ALLOW_THREADS
    if (PyErr_CheckSignals() != 0 || !port_is_usable(self)) return PORT_FAILED;
    if (bus_clock_ns() - self->peer.watched_ns >= BUS_WATCH_NS) bus_watch(&self->peer, send_waits);
    return PORT_LOOK_AGAIN;
}

/* One allowed keyword and where its value goes. */
typedef struct {
    const char *name;
    PyObject **value;
} port_keyword;

static bool port_keywords(const char *function, PyObject *const *values, PyObject *names, const port_keyword *allowed) {
    for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i);
        const port_keyword *keyword = allowed;
        while (keyword->name && PyUnicode_CompareWithASCIIString(name, keyword->name) != 0) keyword++;
        if (!keyword->name) {
            PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%U'", function, name);
            return false;
        }
        *keyword->value = values[i];
    }
    return true;
}

static PyObject *port_name_of(Port *self, uint32_t slot, uint32_t incarnation) {
    if (self->names_of[slot] != incarnation) {
        char name[BUS_NAME_BYTES];
        bus_name_read(self->peer.view, slot, name); /* kept at least until we have dequeued the farewell */
        PyObject *text = bus_name_text(name);
        if (!text) return NULL;
        Py_XSETREF(self->names[slot], text);
        self->names_of[slot] = incarnation;
    }
    return self->names[slot];
}

#endif
