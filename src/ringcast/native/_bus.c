/* ringcast.native._bus: the shared-memory bus of seed 002. The algorithm is in bus_*.h, which do not know of Python;
 * bus_segment.h and bus_port*.h make it a module. See docs/design/bus.md and _bus.pyi. */
#define _GNU_SOURCE
#include "bus_port_dequeue.h"
#include "bus_port_queue.h"

static PyObject *port_leave(Port *self, PyObject *Py_UNUSED(ignored)) {
    if (!port_is_usable(self)) return NULL;
    bus_begin_leaving(self->peer.view, self->peer.ringers, self->peer.me, self->peer.incarnation, BUS_DETACHED);
    Py_RETURN_NONE;
}

/* Ends every use of the port, waiting threads included; what the slot says about us is not touched. */
static PyObject *port_close(Port *self, PyObject *Py_UNUSED(ignored)) {
    if (!self->is_open) Py_RETURN_NONE;
    self->is_open = false;
    bus_ring_all(self->peer.view, self->peer.ringers);
    Py_RETURN_NONE;
}

/* In the child of a fork: the peer is still the parent's, so nothing shared may be touched. */
static PyObject *port_forget(Port *self, PyObject *Py_UNUSED(ignored)) {
    self->is_open = false;
    Py_RETURN_NONE;
}

static PyObject *port_arm(Port *self, bus_bell *bell) {
    bus_bell_arm(bell, self->peer.incarnation);
    Py_RETURN_NONE;
}

static PyObject *port_arm_mail(Port *self, PyObject *Py_UNUSED(ignored)) {
    return port_is_usable(self) ? port_arm(self, &bus_slot_at(self->peer.view, self->peer.me)->mail) : NULL;
}

static PyObject *port_arm_room(Port *self, PyObject *Py_UNUSED(ignored)) {
    return port_is_usable(self) ? port_arm(self, &bus_slot_at(self->peer.view, self->peer.me)->room) : NULL;
}

static PyObject *port_watch(Port *self, PyObject *send_waits) {
    if (!port_is_usable(self)) return NULL;
    self->send_waits = self->send_waits || PyObject_IsTrue(send_waits) == 1;
    if (bus_clock_ns() - self->peer.watched_ns < BUS_WATCH_NS) Py_RETURN_NONE; /* a loop may be rung much more often */
    bus_watch(&self->peer, self->send_waits);
    self->send_waits = false;
    Py_RETURN_NONE;
}

/* Waits a moment at most for anybody to come or go. */
static PyObject *port_wait_for_change(Port *self, PyObject *argument) {
    uint64_t deadline;
    bus_watchlist list = {.count = 0};
    if (!port_is_usable(self) || !port_deadline(argument, &deadline)) return NULL;
    bus_watchlist_add(&list, &self->peer.view->header->epoch, self->peer.sender.epoch);
    if (!bus_sender_refresh(&self->peer.sender)) return PyErr_NoMemory();
    bus_bell *bell = &bus_slot_at(self->peer.view, self->peer.me)->mail;
    return port_wait(self, bell, &list, deadline, false) == PORT_FAILED ? NULL : Py_NewRef(Py_None);
}

/* For those who try without waiting and look again: after a look that found nothing, and after a refused send. */
static PyObject *port_wait_mail(Port *self, PyObject *argument) {
    uint64_t deadline;
    if (!port_is_usable(self) || !port_deadline(argument, &deadline)) return NULL;
    return port_wait_for_mail(self, deadline) == PORT_FAILED ? NULL : Py_NewRef(Py_None);
}

static PyObject *port_wait_room(Port *self, PyObject *argument) {
    uint64_t deadline;
    bus_watchlist list;
    if (!port_is_usable(self) || !port_deadline(argument, &deadline)) return NULL;
    bus_watch_room(&self->peer, &list);
    bus_bell *bell = &bus_slot_at(self->peer.view, self->peer.me)->room;
    return port_wait(self, bell, &list, deadline, true) == PORT_FAILED ? NULL : Py_NewRef(Py_None);
}

static PyObject *port_get_barrier(Port *self, void *Py_UNUSED(closure)) {
    return PyLong_FromUnsignedLongLong(self->barrier);
}

static PyObject *port_get_number(Port *self, void *Py_UNUSED(closure)) {
    return PyLong_FromUnsignedLongLong(self->peer.sender.number);
}

static PyObject *port_get_incarnation(Port *self, void *Py_UNUSED(closure)) {
    return PyLong_FromUnsignedLong(self->peer.incarnation);
}

#define FAST(name) (PyCFunction)(void (*)(void))name, METH_FASTCALL | METH_KEYWORDS

static PyMethodDef port_methods[] = {
    {"queue", FAST(port_queue), PyDoc_STR("queue(payload, *, to, timeout=None, policy='wait') -> int")},
    {"queue_many", FAST(port_queue_many), PyDoc_STR("queue_many(payloads, *, to, timeout=None, policy='wait') -> int")},
    {"dequeue", FAST(port_dequeue), PyDoc_STR("dequeue(*, timeout=None) -> Message | PeerLeft")},
    {"dequeue_many", FAST(port_dequeue_many), PyDoc_STR("dequeue_many(limit=1024, *, timeout=None) -> list")},
    {"dequeue_runs", FAST(port_dequeue_runs), PyDoc_STR("dequeue_runs(limit=1024, *, timeout=None) -> list")},
    {"_queue_barrier", (PyCFunction)port_queue_barrier, METH_NOARGS, NULL},
    {"_take_to_barrier", (PyCFunction)port_take_to_barrier, METH_O, NULL},
    {"_give_back", (PyCFunction)port_give_back, METH_O, NULL},
    {"_leave", (PyCFunction)port_leave, METH_NOARGS, NULL},
    {"_close", (PyCFunction)port_close, METH_NOARGS, NULL},
    {"_forget", (PyCFunction)port_forget, METH_NOARGS, NULL},
    {"_arm_mail", (PyCFunction)port_arm_mail, METH_NOARGS, NULL},
    {"_arm_room", (PyCFunction)port_arm_room, METH_NOARGS, NULL},
    {"_watch", (PyCFunction)port_watch, METH_O, NULL},
    {"_wait_for_mail", (PyCFunction)port_wait_mail, METH_O, NULL},
    {"_wait_for_room", (PyCFunction)port_wait_room, METH_O, NULL},
    {"_wait_for_change", (PyCFunction)port_wait_for_change, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef port_fields[] = {
    {"_barrier", (getter)port_get_barrier, NULL, NULL, NULL},
    {"_number", (getter)port_get_number, NULL, NULL, NULL},
    {"_incarnation", (getter)port_get_incarnation, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot port_slots[] = {
    {Py_tp_init, port_init},       {Py_tp_new, PyType_GenericNew}, {Py_tp_dealloc, port_dealloc},
    {Py_tp_methods, port_methods}, {Py_tp_getset, port_fields},    {0, NULL},
};

static PyType_Spec port_spec = {
    .name = "ringcast.native._bus.Port",
    .basicsize = sizeof(Port),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = port_slots,
};

/* Bytes of the control part and of the whole file. */
static PyObject *bus_sizes(PyObject *Py_UNUSED(module), PyObject *args) {
    unsigned peers_max, words;
    unsigned long long ring_bytes;
    if (!PyArg_ParseTuple(args, "IKI", &peers_max, &ring_bytes, &words)) return NULL;
    return Py_BuildValue("KK", bus_control_bytes(peers_max), bus_shell_start(peers_max, ring_bytes, words, peers_max));
}

static PyObject *bus_longest_of(PyObject *Py_UNUSED(module), PyObject *ring_bytes) {
    unsigned long long bytes = PyLong_AsUnsignedLongLong(ring_bytes);
    return PyErr_Occurred() ? NULL : PyLong_FromUnsignedLongLong(bus_longest(bytes));
}

#ifdef BUS_STEPS
/* Test build only: raise `signal` when the named step is reached for the nth time from now. */
static PyObject *bus_stop_at(PyObject *Py_UNUSED(module), PyObject *args) {
    const char *name;
    if (!PyArg_ParseTuple(args, "sli", &name, &bus_step_left, &bus_step_signal)) return NULL;
    snprintf(bus_step_name, sizeof bus_step_name, "%s", name);
    Py_RETURN_NONE;
}
#endif

static PyMethodDef bus_functions[] = {
    {"sizes", bus_sizes, METH_VARARGS, NULL},
    {"longest", bus_longest_of, METH_O, NULL},
#ifdef BUS_STEPS
    {"stop_at", bus_stop_at, METH_VARARGS, NULL},
#endif
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef bus_module = {PyModuleDef_HEAD_INIT, .m_name = "_bus", .m_size = -1, .m_methods = bus_functions};

PyMODINIT_FUNC PyInit__bus(void) {
    PyObject *module = PyModule_Create(&bus_module);
    PyObject *segment = PyType_FromSpec(&segment_spec), *port = PyType_FromSpec(&port_spec);
    if (!module || !segment || !port || PyModule_AddObjectRef(module, "Segment", segment) != 0 ||
        PyModule_AddObjectRef(module, "Port", port) != 0 ||
        PyModule_AddIntConstant(module, "VERSION", BUS_VERSION) != 0 ||
        PyModule_AddIntConstant(module, "SLOT_LOCK", BUS_SLOT_LOCK) != 0)
        Py_CLEAR(module);
    port_segment_type = (PyTypeObject *)segment; /* the module keeps it alive */
    Py_XDECREF(port);
    return module;
}
