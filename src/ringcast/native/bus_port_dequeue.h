/* Port.dequeue, Port.dequeue_many, Port.dequeue_runs: the receiving half of a Port.
 *
 * Making a list or a tuple may run the collector, and with it any Python code and other threads of this port. So each
 * step on the receiver's state is whole before such an allocation: what was read is passed on first, then wrapped.
 */
#ifndef RINGCAST_BUS_PORT_DEQUEUE_H
#define RINGCAST_BUS_PORT_DEQUEUE_H

#include "bus_port.h"

/* What the front of the queue turned out to be. */
enum port_front { PORT_KEPT, PORT_FRAME, PORT_LEFT, PORT_BARRIER, PORT_NOTHING, PORT_ERROR };

/* A named tuple from new references, without its slow constructor. Cannot be part of a cycle. */
static PyObject *port_tuple(PyObject *type, PyObject *const *fields, Py_ssize_t count) {
    PyObject *tuple = ((PyTypeObject *)type)->tp_alloc((PyTypeObject *)type, count);
    bool complete = tuple != NULL;
    for (Py_ssize_t i = 0; i < count; i++) complete = complete && fields[i];
    for (Py_ssize_t i = 0; i < count; i++) {
        if (complete) PyTuple_SET_ITEM(tuple, i, fields[i]);
        else Py_XDECREF(fields[i]);
    }
    if (complete) return tuple;
    Py_XDECREF(tuple);
    return NULL;
}

/* Opens the next frame, or says what is there instead. Barriers are passed here and never reach the caller. */
static enum port_front port_open_front(Port *self) {
    bus_receiver *receiver = &self->peer.receiver;
    if (self->kept) return PORT_KEPT;
    if (receiver->open != BUS_PEERS_MAX) return PORT_FRAME;
    uint32_t slot = bus_front(receiver);
    if (slot == BUS_EMPTY) return PORT_NOTHING;
    if (slot == BUS_EVICTED_SELF) return port_refuse(self, "_refuse_lost", "()"), PORT_ERROR;
    bus_inlet *inlet = &receiver->inlets[slot];
    if (inlet->head == BUS_FAREWELL) return self->leaver = slot, PORT_LEFT;
    bus_frame_open(receiver, slot);
    if (inlet->frame.kind != BUS_BARRIER) return PORT_FRAME;
    self->barrier = inlet->frame.transaction;
    bus_frame_close(receiver);
    return PORT_BARRIER;
}

static PyObject *port_kept(Port *self) {
    Py_ssize_t last = PyList_GET_SIZE(self->kept) - 1;
    PyObject *item = Py_NewRef(PyList_GET_ITEM(self->kept, last));
    if (PyList_SetSlice(self->kept, last, last + 1, NULL) != 0) Py_CLEAR(item);
    if (last == 0) Py_CLEAR(self->kept);
    return item;
}

/* A kept message as a run of one; a notice as it is. */
static PyObject *port_kept_run(Port *self) {
    PyObject *item = port_kept(self);
    if (!item || Py_TYPE(item) != (PyTypeObject *)self->message_type) return item;
    PyObject *fields[] = {Py_NewRef(PyTuple_GET_ITEM(item, 0)), Py_NewRef(PyTuple_GET_ITEM(item, 3)),
                          Py_NewRef(PyTuple_GET_ITEM(item, 2)), Py_BuildValue("[O]", PyTuple_GET_ITEM(item, 1)),
                          PyLong_FromLong(0)};
    Py_DECREF(item);
    return port_tuple(self->run_type, fields, 5);
}

/* Items that were dequeued and not handed out: they come first again. */
static PyObject *port_give_back(Port *self, PyObject *items) {
    if (!PyList_Check(items)) return PyErr_Format(PyExc_TypeError, "a list is needed");
    if (PyList_GET_SIZE(items) == 0) Py_RETURN_NONE;
    PyObject *empty = self->kept ? NULL : PyList_New(0);
    if (!self->kept && !empty) return NULL;
    if (!self->kept) self->kept = empty;
    else Py_XDECREF(empty); /* another thread gave something back meanwhile */
    bool ok = true;
    for (Py_ssize_t i = PyList_GET_SIZE(items); ok && i-- > 0;)
        ok = PyList_Append(self->kept, PyList_GET_ITEM(items, i)) == 0;
    return ok ? Py_NewRef(Py_None) : NULL;
}

static PyObject *port_left(Port *self) {
    bus_receiver *receiver = &self->peer.receiver;
    uint32_t slot = self->leaver;
    bus_inlet *inlet = &receiver->inlets[slot];
    PyObject *name = port_name_of(self, slot, inlet->incarnation);
    if (!name) return NULL;
    unsigned cause = bus_state_cause(bus_slot_state(self->peer.view, slot));
    if (cause >= BUS_CAUSES) cause = BUS_NO_CAUSE; /* damaged memory */
    PyObject *fields[] = {Py_NewRef(name), Py_NewRef(PyTuple_GET_ITEM(self->causes, cause)),
                          PyLong_FromUnsignedLongLong(inlet->key / 2), PyLong_FromUnsignedLong(inlet->incarnation)};
    if (fields[2] && fields[3]) bus_farewell_pass(receiver, slot);
    return port_tuple(self->left_type, fields, 4);
}

/* The sender's number of the next message in the open frame. */
static uint64_t port_number(const bus_receiver *receiver) {
    const bus_frame *frame = &receiver->inlets[receiver->open].frame;
    return frame->first + (frame->count - receiver->open_left);
}

/* The next payload of the open frame, which is closed behind its last one. */
static PyObject *port_payload(bus_receiver *receiver) {
    uint32_t length = bus_message_length(receiver);
    PyObject *payload = PyBytes_FromStringAndSize(NULL, length);
    if (!payload) return NULL;
    bus_message_read(receiver, PyBytes_AS_STRING(payload), length);
    if (!receiver->open_left) bus_frame_close(receiver);
    return payload;
}

static PyObject *port_message(Port *self, PyObject *seq) {
    bus_receiver *receiver = &self->peer.receiver;
    PyObject *sender = port_name_of(self, receiver->open, receiver->inlets[receiver->open].incarnation);
    PyObject *number = sender ? PyLong_FromUnsignedLongLong(port_number(receiver)) : NULL;
    if (!number) return NULL;
    PyObject *fields[] = {Py_NewRef(sender), port_payload(receiver), Py_NewRef(seq), number};
    PyObject *message = port_tuple(self->message_type, fields, 4);
    if (message) PyObject_GC_UnTrack(message); /* holds only text, bytes and a number: spare the collector */
    return message;
}

/* The next messages of the open frame as one run, in a list that has room for them. */
static PyObject *port_run(Port *self, PyObject *payloads) {
    bus_receiver *receiver = &self->peer.receiver;
    bus_inlet *inlet = &receiver->inlets[receiver->open];
    PyObject *sender = port_name_of(self, receiver->open, inlet->incarnation);
    if (!sender) return Py_DECREF(payloads), NULL;
    PyObject *fields[] = {Py_NewRef(sender), PyLong_FromUnsignedLongLong(port_number(receiver)),
                          PyLong_FromUnsignedLongLong(inlet->key / 2), payloads,
                          PyLong_FromUnsignedLong(inlet->incarnation)};
    for (Py_ssize_t i = 0; fields[3] && i < PyList_GET_SIZE(payloads); i++) {
        PyObject *payload = port_payload(receiver);
        if (payload) PyList_SET_ITEM(payloads, i, payload);
        else Py_CLEAR(fields[3]);
    }
    return port_tuple(self->run_type, fields, 5);
}

/* A list for the next run of the open frame; NULL if another thread took from the frame meanwhile, or with an error. */
static PyObject *port_list_for_run(bus_receiver *receiver, Py_ssize_t limit) {
    uint32_t slot = receiver->open, left = receiver->open_left;
    uint64_t position = receiver->open_position;
    PyObject *payloads = PyList_New(left < limit ? (Py_ssize_t)left : limit);
    if (payloads && (receiver->open != slot || receiver->open_left != left || receiver->open_position != position))
        Py_CLEAR(payloads);
    return payloads;
}

static bool port_append(PyObject *list, PyObject *item) {
    if (!item) return false;
    int failed = PyList_Append(list, item);
    Py_DECREF(item);
    return failed == 0;
}

/* Moves messages of the open frame into the list, while it is open and no other thread has opened another. */
static Py_ssize_t port_drain_messages(Port *self, PyObject *list, Py_ssize_t limit) {
    bus_receiver *receiver = &self->peer.receiver;
    uint32_t slot = receiver->open;
    const bus_inlet *inlet = &receiver->inlets[slot];
    uint64_t position = inlet->position;
    PyObject *seq = PyLong_FromUnsignedLongLong(inlet->key / 2);
    Py_ssize_t taken = 0;
    bool ok = seq != NULL;
    while (ok && taken < limit && receiver->open == slot && inlet->position == position) {
        ok = port_append(list, port_message(self, seq));
        taken++;
    }
    Py_XDECREF(seq);
    return ok ? taken : -1;
}

/* Moves messages of the open frame into the list, as single messages or as one run; -1 is an error. */
static Py_ssize_t port_drain_frame(Port *self, PyObject *list, Py_ssize_t limit, bool runs) {
    if (!runs) return port_drain_messages(self, list, limit);
    PyObject *payloads = port_list_for_run(&self->peer.receiver, limit);
    if (!payloads) return PyErr_Occurred() ? -1 : 0;
    Py_ssize_t count = PyList_GET_SIZE(payloads);
    return port_append(list, port_run(self, payloads)) ? count : -1;
}

/* Moves up to `limit` messages and notices into the list, without waiting. Stops behind a barrier if asked to. */
static bool port_collect(Port *self, PyObject *list, Py_ssize_t limit, bool runs, bool stop_at_barrier) {
    Py_ssize_t taken = 0;
    bool ok = true, more = true;
    while (ok && more && taken < limit) {
        Py_ssize_t drained = 0;
        switch (port_open_front(self)) {
        case PORT_KEPT: drained = port_append(list, runs ? port_kept_run(self) : port_kept(self)) ? 1 : -1; break;
        case PORT_FRAME: drained = port_drain_frame(self, list, limit - taken, runs); break;
        case PORT_LEFT: drained = port_append(list, port_left(self)) ? 1 : -1; break;
        case PORT_BARRIER: more = !stop_at_barrier; break;
        case PORT_NOTHING: more = false; break;
        case PORT_ERROR:
            if (taken) PyErr_Clear(), more = false; /* what we have is in order; the next call says it again */
            else ok = false;
        }
        ok = ok && drained >= 0;
        taken += drained;
    }
    bus_ring_producers(&self->peer.receiver);
    return ok;
}

static enum port_waited port_wait_for_mail(Port *self, uint64_t deadline) {
    bus_watchlist list;
    bus_watch_mail(&self->peer, &list);
    return port_wait(self, &bus_slot_at(self->peer.view, self->peer.me)->mail, &list, deadline, false);
}

static PyObject *port_take(Port *self, Py_ssize_t limit, PyObject *timeout, bool runs) {
    uint64_t deadline;
    if (!port_is_usable(self) || !port_deadline(timeout, &deadline)) return NULL;
    port_watch_in_passing(self);
    PyObject *list = PyList_New(0);
    while (list) {
        if (!port_collect(self, list, limit, runs, false)) Py_CLEAR(list);
        if (!list || PyList_GET_SIZE(list) > 0) break;
        enum port_waited waited = port_wait_for_mail(self, deadline);
        if (waited == PORT_FAILED) Py_CLEAR(list);
        if (waited != PORT_LOOK_AGAIN) break;
    }
    return list;
}

static PyObject *port_take_with_terms(Port *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names, bool runs) {
    PyObject *limit_object = nargs > 0 ? args[0] : NULL, *timeout = NULL;
    const port_keyword allowed[] = {{"limit", &limit_object}, {"timeout", &timeout}, {0}};
    const char *function = runs ? "dequeue_runs" : "dequeue_many";
    if (nargs > 1) return PyErr_Format(PyExc_TypeError, "%s() takes at most one positional argument", function);
    if (!port_keywords(function, args + nargs, names, allowed)) return NULL;
    Py_ssize_t limit = limit_object ? PyNumber_AsSsize_t(limit_object, PyExc_OverflowError) : 1024;
    if (limit == -1 && PyErr_Occurred()) return NULL;
    if (limit < 1) return PyErr_Format(PyExc_ValueError, "%s() needs a limit of at least 1, not %zd", function, limit);
    return port_take(self, limit, timeout, runs);
}

static PyObject *port_dequeue_many(Port *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
    return port_take_with_terms(self, args, nargs, names, false);
}

static PyObject *port_dequeue_runs(Port *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
    return port_take_with_terms(self, args, nargs, names, true);
}

/* The front as one message, or NULL: with an error, or without one if there is nothing. */
static PyObject *port_next(Port *self) {
    PyObject *item = NULL;
    enum port_front front;
    while ((front = port_open_front(self)) == PORT_BARRIER) continue;
    if (front == PORT_KEPT) item = port_kept(self);
    if (front == PORT_LEFT) item = port_left(self);
    if (front == PORT_FRAME) {
        bus_receiver *receiver = &self->peer.receiver;
        PyObject *seq = PyLong_FromUnsignedLongLong(receiver->inlets[receiver->open].key / 2);
        item = seq ? port_message(self, seq) : NULL;
        Py_XDECREF(seq);
    }
    bus_ring_producers(&self->peer.receiver);
    return item;
}

static PyObject *port_dequeue(Port *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
    PyObject *timeout = NULL, *item;
    uint64_t deadline;
    const port_keyword allowed[] = {{"timeout", &timeout}, {0}};
    if (nargs) return PyErr_Format(PyExc_TypeError, "dequeue() takes no positional arguments");
    if (!port_keywords("dequeue", args, names, allowed)) return NULL;
    if (!port_is_usable(self) || !port_deadline(timeout, &deadline)) return NULL;
    port_watch_in_passing(self);
    while (!(item = port_next(self)) && !PyErr_Occurred()) {
        enum port_waited waited = port_wait_for_mail(self, deadline);
        if (waited == PORT_EXPIRED) port_refuse(self, "_refuse_idle", "(O)", timeout);
        if (waited != PORT_LOOK_AGAIN) return NULL;
    }
    return item;
}

/* For barrier(): what is ready up to and behind a barrier of ours; waits a moment at most if that is nothing. */
static PyObject *port_take_to_barrier(Port *self, PyObject *argument) {
    uint64_t deadline;
    if (!port_is_usable(self) || !port_deadline(argument, &deadline)) return NULL;
    uint64_t barrier = self->barrier;
    PyObject *list = PyList_New(0);
    if (!list || !port_collect(self, list, PY_SSIZE_T_MAX, true, true)) return Py_XDECREF(list), NULL;
    if (PyList_GET_SIZE(list) == 0 && self->barrier == barrier && port_wait_for_mail(self, deadline) == PORT_FAILED)
        Py_CLEAR(list);
    return list;
}

#endif
