/* ringcast.native._bus.Segment: a bus file mapped into this process, and its list of slots.
 *
 * The mapping lives until the object dies, also after close(), because another thread may still sleep on a word in it.
 * It is made from a descriptor of its own: a mapping, and every copy that a fork makes of it, keeps its open file and so
 * the locks of that file alive.
 */
#ifndef RINGCAST_BUS_SEGMENT_H
#define RINGCAST_BUS_SEGMENT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "bus_peer.h"

#define BUS_SLOT_LOCK 16 /* slot s is locked by byte BUS_SLOT_LOCK + s of the file */

typedef struct {
    PyObject_HEAD
    bus_view view;
    bus_ringers ringers;
    int lock_fd; /* borrowed from the caller, who closes it; -1 after close() */
} Segment;

/* Open-file-description locks: the kernel drops them with the last descriptor, whatever ended the process. */
static bool segment_is_held(int lock_fd, uint32_t slot) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = BUS_SLOT_LOCK + slot, .l_len = 1};
    return fcntl(lock_fd, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK; /* in doubt: alive */
}

/* The caller has read the header before; what counts is what is mapped. Unmapped when the object dies. */
static int segment_check(const bus_view *view) {
    bool sane = view->header->version == BUS_VERSION && view->peers_max >= 1 && view->peers_max <= BUS_PEERS_MAX &&
                view->ring_bytes >= 4096 && view->ring_bytes <= (uint64_t)1 << 30 &&
                (view->ring_bytes & (view->ring_bytes - 1)) == 0 && view->words >= 16 && view->words <= (uint32_t)1 << 20 &&
                view->frames >= 1 && (uint64_t)view->frames * view->peers_max <= view->words &&
                view->length >= bus_shell_at(view, view->peers_max);
    if (!sane) PyErr_SetString(PyExc_ValueError, "the file is damaged or too short");
    return sane ? 0 : -1;
}

static int segment_map(Segment *self, int fd) {
    struct stat file;
    if (fstat(fd, &file) != 0) return PyErr_SetFromErrno(PyExc_OSError), -1;
    if ((size_t)file.st_size < sizeof(bus_header)) return PyErr_SetString(PyExc_ValueError, "file too short"), -1;
    void *base = mmap(NULL, (size_t)file.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED) return PyErr_SetFromErrno(PyExc_OSError), -1;
    bus_header *header = base;
    self->view = (bus_view){.base = base, .length = (size_t)file.st_size, .header = header,
                            .peers_max = header->peers_max, .words = header->words, .frames = header->frames,
                            .ring_bytes = header->ring_bytes, .stall_ns = header->stall_ns, .evict_ns = header->evict_ns};
    return segment_check(&self->view);
}

static int segment_init(Segment *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"map_fd", "lock_fd", "fifo_prefix", NULL};
    int map_fd, lock_fd;
    const char *prefix;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "iis", names, &map_fd, &lock_fd, &prefix)) return -1;
    if (self->view.base) return PyErr_SetString(PyExc_TypeError, "a segment is mapped once"), -1;
    if (strlen(prefix) >= sizeof self->ringers.prefix) return PyErr_SetString(PyExc_ValueError, "path too long"), -1;
    bus_ringers_open(&self->ringers, prefix);
    self->lock_fd = lock_fd;
    return segment_map(self, map_fd);
}

static void segment_dealloc(Segment *self) {
    if (self->view.base) {
        bus_ringers_close(&self->ringers);
        munmap(self->view.base, self->view.length);
    }
    PyTypeObject *type = Py_TYPE(self);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

static PyObject *segment_close(Segment *self, PyObject *Py_UNUSED(ignored)) {
    self->lock_fd = -1;
    if (self->view.base) bus_ringers_close(&self->ringers);
    Py_RETURN_NONE;
}

static bool segment_is_usable(const Segment *self) {
    if (self->view.base && self->lock_fd >= 0) return true;
    PyErr_SetString(PyExc_ValueError, "the segment is closed");
    return false;
}

/* A name as it stands in the file, which may be damaged. */
static PyObject *bus_name_text(const char *name) {
    return PyUnicode_DecodeUTF8(name, (Py_ssize_t)strlen(name), "replace");
}

/* One row (slot, phase, incarnation, cause, pid, name), or NULL without an error if the slot changed hands meanwhile. */
static PyObject *segment_row(const bus_view *view, uint32_t slot, uint64_t state) {
    char name[BUS_NAME_BYTES];
    uint64_t pid = atomic_load_explicit(&bus_slot_at(view, slot)->pid, memory_order_acquire);
    bus_name_read(view, slot, name);
    if (bus_state_incarnation(bus_slot_state(view, slot)) != bus_state_incarnation(state)) return NULL;
    unsigned cause = bus_state_cause(state) < BUS_CAUSES ? bus_state_cause(state) : BUS_NO_CAUSE; /* damaged memory */
    return Py_BuildValue("IIIIKN", slot, bus_state_phase(state), bus_state_incarnation(state), cause,
                         (unsigned long long)pid, bus_name_text(name));
}

static PyObject *segment_slots(Segment *self, PyObject *Py_UNUSED(ignored)) {
    if (!segment_is_usable(self)) return NULL;
    PyObject *rows = PyList_New(0);
    for (uint32_t slot = 0; rows && slot < self->view.peers_max; slot++) {
        uint64_t state = bus_slot_state(&self->view, slot);
        if (bus_state_phase(state) == BUS_FREE) continue;
        PyObject *row = segment_row(&self->view, slot, state);
        if (!row && !PyErr_Occurred()) continue;
        if (!row || PyList_Append(rows, row) != 0) Py_CLEAR(rows);
        Py_XDECREF(row);
    }
    return rows;
}

static PyObject *segment_reap(Segment *self, PyObject *Py_UNUSED(ignored)) {
    if (!segment_is_usable(self)) return NULL;
    bus_reap(&self->view, &self->ringers, segment_is_held, self->lock_fd, BUS_PEERS_MAX);
    Py_RETURN_NONE;
}

/* The lowest slot that may be given out, or None. */
static PyObject *segment_reusable_slot(Segment *self, PyObject *Py_UNUSED(ignored)) {
    if (!segment_is_usable(self)) return NULL;
    for (uint32_t slot = 0; slot < self->view.peers_max; slot++)
        if (bus_is_reusable(&self->view, segment_is_held, self->lock_fd, slot)) return PyLong_FromUnsignedLong(slot);
    Py_RETURN_NONE;
}

static PyObject *segment_shell(Segment *self, PyObject *argument) {
    unsigned long slot = PyLong_AsUnsignedLong(argument);
    if (PyErr_Occurred() || !segment_is_usable(self)) return NULL;
    uint64_t start = bus_shell_at(&self->view, (uint32_t)slot);
    return Py_BuildValue("KK", start, bus_shell_at(&self->view, (uint32_t)slot + 1) - start);
}

/* Says that the memory of this slot's shell, and so of all below it, is there. */
static PyObject *segment_reserve(Segment *self, PyObject *argument) {
    unsigned long slot = PyLong_AsUnsignedLong(argument);
    if (PyErr_Occurred() || !segment_is_usable(self)) return NULL;
    bus_atomic *shells = &self->view.header->shells;
    if (atomic_load_explicit(shells, memory_order_relaxed) <= slot) /* relaxed: all of this is under the attach lock */
        atomic_store_explicit(shells, slot + 1, memory_order_relaxed);
    Py_RETURN_NONE;
}

static PyObject *segment_counter(Segment *self, PyObject *Py_UNUSED(ignored)) {
    if (!segment_is_usable(self)) return NULL;
    return PyLong_FromUnsignedLongLong(atomic_load_explicit(&self->view.header->counter, memory_order_relaxed));
}

static PyObject *segment_evict(Segment *self, PyObject *args) {
    unsigned slot, incarnation;
    if (!PyArg_ParseTuple(args, "II", &slot, &incarnation) || !segment_is_usable(self)) return NULL;
    return PyBool_FromLong(bus_begin_leaving(&self->view, &self->ringers, slot, incarnation, BUS_EVICTED));
}

static PyMethodDef segment_methods[] = {
    {"close", (PyCFunction)segment_close, METH_NOARGS, NULL},
    {"slots", (PyCFunction)segment_slots, METH_NOARGS, NULL},
    {"reap", (PyCFunction)segment_reap, METH_NOARGS, NULL},
    {"reusable_slot", (PyCFunction)segment_reusable_slot, METH_NOARGS, NULL},
    {"shell", (PyCFunction)segment_shell, METH_O, NULL},
    {"reserve", (PyCFunction)segment_reserve, METH_O, NULL},
    {"counter", (PyCFunction)segment_counter, METH_NOARGS, NULL},
    {"evict", (PyCFunction)segment_evict, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot segment_slots_of_type[] = {
    {Py_tp_init, segment_init},
    {Py_tp_new, PyType_GenericNew},
    {Py_tp_dealloc, segment_dealloc},
    {Py_tp_methods, segment_methods},
    {0, NULL},
};

static PyType_Spec segment_spec = {
    .name = "ringcast.native._bus.Segment",
    .basicsize = sizeof(Segment),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = segment_slots_of_type,
};

#endif
