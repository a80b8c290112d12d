/* Port.queue, Port.queue_many: the sending half of a Port. */
#ifndef RINGCAST_BUS_PORT_QUEUE_H
#define RINGCAST_BUS_PORT_QUEUE_H

#include "bus_port.h"

/* What one call sends. The payloads are held, so that they stay as they are while the call waits without the GIL. */
typedef struct {
    uint32_t count, sent;
    bus_piece *pieces;
    PyObject **held;
    Py_buffer *buffers; /* of payloads that are not bytes; only those with .obj are in use */
    bus_piece one_piece;
    PyObject *one_held;
    Py_buffer one_buffer;
} port_load;

static void load_release(port_load *load) {
    for (uint32_t i = 0; i < load->count; i++) {
        if (load->buffers[i].obj) PyBuffer_Release(&load->buffers[i]);
        Py_XDECREF(load->held[i]);
    }
    if (load->pieces != &load->one_piece) {
        PyMem_Free(load->pieces);
        PyMem_Free(load->held);
        PyMem_Free(load->buffers);
    }
}

static bool load_add(Port *self, port_load *load, PyObject *payload) {
    uint32_t i = load->count;
    Py_ssize_t length;
    load->buffers[i].obj = NULL;
    if (PyBytes_CheckExact(payload)) {
        load->pieces[i].at = PyBytes_AS_STRING(payload);
        length = PyBytes_GET_SIZE(payload);
    } else {
        if (PyObject_GetBuffer(payload, &load->buffers[i], PyBUF_SIMPLE) != 0) return false;
        load->pieces[i].at = load->buffers[i].buf;
        length = load->buffers[i].len;
    }
    load->held[i] = Py_NewRef(payload);
    load->count++;
    if ((uint64_t)length > bus_longest(self->peer.view->ring_bytes)) {
        port_refuse(self, "_refuse_long", "(n)", length);
        return false;
    }
    load->pieces[i].length = (uint32_t)length;
    return true;
}

static bool load_one(Port *self, port_load *load, PyObject *payload) {
    load->count = load->sent = 0;
    load->pieces = &load->one_piece, load->held = &load->one_held, load->buffers = &load->one_buffer;
    return load_add(self, load, payload);
}

static bool load_many(Port *self, port_load *load, PyObject *payloads) {
    load->count = load->sent = 0;
    load->pieces = &load->one_piece, load->held = &load->one_held, load->buffers = &load->one_buffer;
    if (PyBytes_Check(payloads) || PyUnicode_Check(payloads)) {
        PyErr_SetString(PyExc_TypeError, "queue_many takes a list of payloads, not one payload");
        return false;
    }
    PyObject *fast = PySequence_Fast(payloads, "queue_many takes a list of payloads");
    if (!fast) return false;
    Py_ssize_t count = PySequence_Fast_GET_SIZE(fast);
    bus_piece *pieces = PyMem_New(bus_piece, (size_t)count + 1);
    PyObject **held = PyMem_New(PyObject *, (size_t)count + 1);
    Py_buffer *buffers = PyMem_New(Py_buffer, (size_t)count + 1);
    bool ok = pieces && held && buffers;
    if (ok) load->pieces = pieces, load->held = held, load->buffers = buffers;
    else PyMem_Free(pieces), PyMem_Free(held), PyMem_Free(buffers), PyErr_NoMemory();
    for (Py_ssize_t i = 0; ok && i < count && i < PySequence_Fast_GET_SIZE(fast); i++)
        ok = load_add(self, load, PySequence_Fast_GET_ITEM(fast, i));
    Py_DECREF(fast);
    return ok;
}

/* How many of the unsent payloads share the next tick: as many as fit the batch limit, at least one. */
static uint32_t load_next_tick(const Port *self, const port_load *load) {
    uint64_t limit = bus_batch_limit(self->peer.view->ring_bytes), bytes = sizeof(bus_frame);
    uint32_t i = load->sent;
    do bytes += sizeof(uint32_t) + load->pieces[i++].length;
    while (i < load->count && bytes + sizeof(uint32_t) + load->pieces[i].length <= limit);
    return i - load->sent;
}

/* Asks the subclass who is meant, and remembers the answer while nobody comes or goes. Another thread may learn of a
 * change while we ask: then the answer is about what was, and is not kept. */
static bool port_ask_for_mask(Port *self, PyObject *to, uint64_t *mask) {
    uint64_t asked = self->masks_epoch;
    PyObject *answer = PyObject_CallMethod((PyObject *)self, "_resolve", "(O)", to);
    if (!answer) return false;
    *mask = PyLong_AsUnsignedLongLong(answer);
    if (PyDict_GET_SIZE(self->masks) >= PORT_MASKS_MAX) PyDict_Clear(self->masks);
    bool ok = !PyErr_Occurred() && (self->masks_epoch != asked || PyDict_SetItem(self->masks, to, answer) == 0);
    Py_DECREF(answer);
    return ok;
}

static void port_forget_masks(Port *self) {
    PyDict_Clear(self->masks);
    Py_CLEAR(self->last_to);
    self->masks_epoch = self->peer.sender.epoch;
}

/* Held, so that no other object can come to lie at its address. */
static void port_remember_mask(Port *self, PyObject *to, uint64_t mask) {
    Py_XSETREF(self->last_to, Py_NewRef(to));
    self->last_mask = mask;
}

static bool port_mask(Port *self, PyObject *to, uint64_t *mask) {
    bus_sender *sender = &self->peer.sender;
    for (;;) {
        if (!bus_sender_refresh(sender)) return PyErr_NoMemory(), false;
        if (self->masks_epoch != sender->epoch) port_forget_masks(self);
        if (to == self->last_to) return *mask = self->last_mask, true;
        PyObject *known = PyDict_GetItemWithError(self->masks, to);
        if (known) return port_remember_mask(self, to, *mask = PyLong_AsUnsignedLongLong(known)), true;
        uint64_t asked = self->masks_epoch;
        if (PyErr_Occurred() || !port_ask_for_mask(self, to, mask)) return false;
        /* Somebody is attached whom the epoch does not show yet. Dropping it here would lose the message for it. */
        if (*mask & ~sender->active) sender->epoch = UINT64_MAX;
        if (!bus_sender_refresh(sender)) return PyErr_NoMemory(), false;
        if (asked == sender->epoch) return true; /* else someone came or went while we asked */
    }
}

/* The bits for `to`: a name, or names. Names are gathered first, for an iterator can be asked only once. */
static bool port_mask_of(Port *self, PyObject *to, uint64_t *mask) {
    if (PyUnicode_Check(to) || PyTuple_CheckExact(to) || PyFrozenSet_CheckExact(to)) return port_mask(self, to, mask);
    PyObject *names = PySequence_Tuple(to);
    bool ok = names && port_mask(self, names, mask);
    Py_XDECREF(names);
    return ok;
}

static void port_note_meant(const bus_sender *sender, uint64_t mask, uint32_t *meant) {
    for (uint64_t left = mask; left; left &= left - 1) {
        uint32_t slot = (uint32_t)__builtin_ctzll(left);
        meant[slot] = sender->outbox.outlets[slot].incarnation;
    }
}

/* Who left while we waited is skipped; whoever has its slot now was not meant. */
static uint64_t port_still_meant(const bus_sender *sender, uint64_t mask, const uint32_t *meant) {
    for (uint64_t left = mask; left; left &= left - 1) {
        uint32_t slot = (uint32_t)__builtin_ctzll(left);
        if (!(sender->active >> slot & 1) || sender->outbox.outlets[slot].incarnation != meant[slot]) mask &= ~((uint64_t)1 << slot);
    }
    return mask;
}

typedef struct {
    PyObject *to, *timeout, *policy;
} port_terms;

/* True: worth trying again. False: an error is set. */
static bool port_wait_for_room(Port *self, const port_load *load, const port_terms *terms, uint64_t *deadline) {
    bus_watchlist list;
    bool may_wait = !terms->policy || PyUnicode_CompareWithASCIIString(terms->policy, "raise") != 0;
    if (may_wait && !*deadline && !port_deadline(terms->timeout, deadline)) return false;
    if (may_wait && *deadline) {
        bus_watch_room(&self->peer, &list);
        bus_bell *bell = &bus_slot_at(self->peer.view, self->peer.me)->room;
        enum port_waited waited = port_wait(self, bell, &list, *deadline, true);
        if (waited != PORT_EXPIRED) return waited == PORT_LOOK_AGAIN;
    }
    PyObject *limit = may_wait && terms->timeout ? terms->timeout : Py_None;
    port_refuse(self, "_refuse_full", "(IIIOO)", self->peer.sender.full, load->sent, load->count, limit,
                may_wait ? Py_True : Py_False);
    return false;
}

static bool port_send(Port *self, uint64_t mask, const port_terms *terms, enum bus_kind kind, port_load *load,
                      uint64_t *seq) {
    bus_sender *sender = &self->peer.sender;
    uint32_t meant[BUS_PEERS_MAX];
    uint64_t deadline = 0;
    while (load->sent < load->count) {
        uint32_t count = load_next_tick(self, load);
        enum bus_sent sent = bus_send(sender, mask, kind, load->pieces + load->sent, count, seq);
        if (sent == BUS_SENT) {
            load->sent += count;
            continue;
        }
        if (sent == BUS_LOST) return port_refuse(self, "_refuse_lost", "()"), false;
        port_note_meant(sender, mask, meant);
        if (!port_wait_for_room(self, load, terms, &deadline)) return false;
        if (!bus_sender_refresh(sender)) return PyErr_NoMemory(), false;
        mask = port_still_meant(sender, mask, meant);
    }
    return true;
}

static bool port_policy_is_known(PyObject *policy) {
    if (!policy || (PyUnicode_Check(policy) && (PyUnicode_CompareWithASCIIString(policy, "wait") == 0 ||
                                                PyUnicode_CompareWithASCIIString(policy, "raise") == 0)))
        return true;
    PyErr_Format(PyExc_ValueError, "policy is 'wait' or 'raise', not %R", policy);
    return false;
}

static PyObject *port_queue_load(Port *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names, bool many) {
    port_terms terms = {NULL, NULL, NULL};
    port_load load;
    uint64_t mask = 0, seq = 0;
    const port_keyword allowed[] = {{"to", &terms.to}, {"timeout", &terms.timeout}, {"policy", &terms.policy}, {0}};
    const char *function = many ? "queue_many" : "queue";
    if (nargs != 1) return PyErr_Format(PyExc_TypeError, "%s() takes one positional argument", function);
    if (!port_keywords(function, args + nargs, names, allowed) || !port_policy_is_known(terms.policy)) return NULL;
    if (!terms.to) return PyErr_Format(PyExc_TypeError, "%s() needs the keyword argument 'to'", function);
    if (!port_is_usable(self)) return NULL;
    port_watch_in_passing(self);
    bool ok = (many ? load_many(self, &load, args[0]) : load_one(self, &load, args[0])) &&
              port_mask_of(self, terms.to, &mask) && port_send(self, mask, &terms, BUS_DATA, &load, &seq);
    load_release(&load);
    return ok ? PyLong_FromUnsignedLongLong(seq) : NULL;
}

static PyObject *port_queue(Port *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
    return port_queue_load(self, args, nargs, names, false);
}

static PyObject *port_queue_many(Port *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
    return port_queue_load(self, args, nargs, names, true);
}

/* A self-addressed barrier: its transaction, or 0 if our own ring is full. */
static PyObject *port_queue_barrier(Port *self, PyObject *Py_UNUSED(ignored)) {
    bus_piece nothing = {"", 0};
    uint64_t seq;
    if (!port_is_usable(self)) return NULL;
    if (!bus_sender_refresh(&self->peer.sender)) return PyErr_NoMemory();
    switch (bus_send(&self->peer.sender, (uint64_t)1 << self->peer.me, BUS_BARRIER, &nothing, 1, &seq)) {
    case BUS_LOST: return port_refuse(self, "_refuse_lost", "()"), NULL;
    case BUS_SENT: return PyLong_FromUnsignedLongLong(self->peer.sender.transaction);
    default: return PyLong_FromLong(0);
    }
}

#endif
