/* Reads a socket datagram by datagram into one buffer, and asks the guard only for frames that it does not know.
 *
 * A guard says beforehand of which frames it would hand on as they are: `passes` maps a source to (where, bytes): a frame
 * from there that has these bytes at this place. It is looked up for every frame, so that it may change at any time. */
#ifndef RINGCAST_DATAGRAMS_READER_H
#define RINGCAST_DATAGRAMS_READER_H

#include <Python.h>
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <structmember.h>
#include <sys/socket.h>

enum { MOST_SOURCES = 64 };

/* Where datagrams came from, as the network says it and as Python does. Bounded. */
typedef struct {
    struct sockaddr_storage address;
    socklen_t size;
    PyObject *source;
} KnownSource;

typedef struct {
    PyObject_HEAD
    PyObject *view; /* of the buffer */
    Py_buffer buffer;
    bool has_buffer;
    int fd; /* -1: closed */
    int most, small, again;
    int alone; /* so many more wakes expect one small datagram and no second */
    /* this wake */
    PyObject *guard, *passes;
    int reads;
    bool is_over;
    Py_ssize_t last_size;
    int error; /* what ended it, beside that nothing more is there */
    long long frames_in, bytes_in;
    KnownSource known[MOST_SOURCES];
    int last, next;
} Reader;

static PyObject *make_source(const struct sockaddr_storage *address) {
    char host[INET6_ADDRSTRLEN];
    if (address->ss_family == AF_INET) {
        const struct sockaddr_in *four = (const struct sockaddr_in *)address;
        if (inet_ntop(AF_INET, &four->sin_addr, host, sizeof host) != NULL)
            return Py_BuildValue("si", host, ntohs(four->sin_port));
    } else if (address->ss_family == AF_INET6) {
        const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)address;
        if (inet_ntop(AF_INET6, &six->sin6_addr, host, sizeof host) != NULL)
            return Py_BuildValue("si", host, ntohs(six->sin6_port));
    }
    return PyErr_Format(PyExc_ValueError, "a source of address family %d", (int)address->ss_family);
}

/* Borrowed. */
static PyObject *source_of(Reader *self, const struct sockaddr_storage *address, socklen_t size) {
    KnownSource *known = &self->known[self->last];
    if (known->source != NULL && known->size == size && memcmp(&known->address, address, size) == 0)
        return known->source;
    for (int i = 0; i < MOST_SOURCES && self->known[i].source != NULL; i++) {
        known = &self->known[i];
        if (known->size == size && memcmp(&known->address, address, size) == 0) {
            self->last = i;
            return known->source;
        }
    }
    PyObject *source = make_source(address);
    if (source == NULL) return NULL;
    known = &self->known[self->next];
    self->last = self->next;
    self->next = (self->next + 1) % MOST_SOURCES;
    memcpy(&known->address, address, size);
    known->size = size;
    Py_XSETREF(known->source, source);
    return source;
}

/* 1: the guard has said that it would hand on this frame of this source; 0: it must be asked; -1: an error. */
static int passes(Reader *self, PyObject *source, Py_ssize_t size) {
    if (self->passes == NULL) return 0;
    PyObject *found = PyDict_GetItemWithError(self->passes, source);
    if (found == NULL) return PyErr_Occurred() ? -1 : 0;
    if (!PyTuple_CheckExact(found) || PyTuple_GET_SIZE(found) != 2) return 0;
    PyObject *expected = PyTuple_GET_ITEM(found, 1);
    Py_ssize_t at = PyLong_AsSsize_t(PyTuple_GET_ITEM(found, 0));
    if (at < 0 || !PyBytes_CheckExact(expected)) return PyErr_Occurred() ? -1 : 0;
    Py_ssize_t length = PyBytes_GET_SIZE(expected);
    if (size < at || size - at < length) return 0;
    return memcmp((char *)self->buffer.buf + at, PyBytes_AS_STRING(expected), (size_t)length) == 0;
}

/* What is handed on of what was read; None: nothing. */
static PyObject *guarded(Reader *self, const struct sockaddr_storage *address, socklen_t address_size, Py_ssize_t size) {
    PyObject *frame = PySequence_GetSlice(self->view, 0, size);
    if (frame == NULL || self->guard == NULL) return frame;
    PyObject *source = source_of(self, address, address_size);
    int known = source == NULL ? -1 : passes(self, source, size);
    if (known > 0) return frame;
    PyObject *taken = NULL;
    if (known == 0) {
        PyObject *guard = Py_NewRef(self->guard);
        Py_INCREF(source);
        taken = PyObject_CallFunctionObjArgs(guard, source, frame, source, NULL);
        Py_DECREF(source);
        Py_DECREF(guard);
    }
    Py_DECREF(frame);
    return taken;
}

/* One read; its size, or -1 and the wake is over. */
static Py_ssize_t read_one(Reader *self, struct sockaddr_storage *address, socklen_t *address_size) {
    ssize_t size;
    int error;
    do {
        *address_size = sizeof *address;
        Py_BEGIN_ALLOW_THREADS;
        size = recvfrom(self->fd, self->buffer.buf, (size_t)self->buffer.len, 0, (struct sockaddr *)address,
                        address_size);
        error = errno;
        Py_END_ALLOW_THREADS;
    } while (size < 0 && error == EINTR);
    if (size >= 0) return size;
    self->is_over = true;
    if (error != EAGAIN && error != EWOULDBLOCK) {
        self->error = error;
    } else if (self->reads == 1 && self->last_size <= self->small) {
        self->alone = self->again;
    }
    return -1;
}

static PyObject *reader_next(Reader *self) {
    struct sockaddr_storage address;
    socklen_t address_size;
    while (!self->is_over && self->fd >= 0 && self->reads < self->most) {
        Py_ssize_t size = read_one(self, &address, &address_size);
        if (size < 0) return NULL;
        self->reads++;
        self->last_size = size;
        self->frames_in++;
        self->bytes_in += size;
        if (self->reads == 1 && self->alone && size <= self->small) {
            self->alone--;
            self->is_over = true;
        }
        PyObject *frame = guarded(self, &address, address_size, size);
        if (frame == NULL) self->is_over = true;
        if (frame != Py_None) return frame;
        Py_DECREF(frame);
    }
    return NULL;
}

/* ---- a wake */

static PyObject *reader_wake(Reader *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 2) return PyErr_Format(PyExc_TypeError, "takes a guard and what passes");
    if (!self->has_buffer) return PyErr_Format(PyExc_RuntimeError, "a reader that was never given its parts");
    Py_XSETREF(self->guard, args[0] == Py_None ? NULL : Py_NewRef(args[0]));
    Py_XSETREF(self->passes, PyDict_CheckExact(args[1]) ? Py_NewRef(args[1]) : NULL);
    self->reads = self->error = 0;
    self->frames_in = self->bytes_in = 0;
    self->last_size = 0;
    self->is_over = false;
    return Py_NewRef((PyObject *)self);
}

static PyObject *reader_close(Reader *self, PyObject *Py_UNUSED(nothing)) {
    self->fd = -1;
    Py_RETURN_NONE;
}

/* ---- the type */

static int reader_init(Reader *self, PyObject *args, PyObject *Py_UNUSED(names)) {
    PyObject *buffer;
    int fd, most, small, again;
    if (self->has_buffer) return PyErr_Format(PyExc_RuntimeError, "a reader is made once"), -1;
    if (!PyArg_ParseTuple(args, "iOiii", &fd, &buffer, &most, &small, &again)) return -1;
    self->view = PyMemoryView_FromObject(buffer);
    if (self->view == NULL || PyObject_GetBuffer(self->view, &self->buffer, PyBUF_WRITABLE)) return -1;
    self->has_buffer = true;
    self->fd = fd;
    self->most = most;
    self->small = small;
    self->again = again;
    self->is_over = true;
    return 0;
}

static int reader_traverse(Reader *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->view);
    Py_VISIT(self->guard);
    Py_VISIT(self->passes);
    return 0;
}

static int reader_clear(Reader *self) {
    self->fd = -1;
    Py_CLEAR(self->guard);
    Py_CLEAR(self->passes);
    return 0;
}

static void reader_dealloc(Reader *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    reader_clear(self);
    if (self->has_buffer) PyBuffer_Release(&self->buffer);
    Py_CLEAR(self->view);
    for (int i = 0; i < MOST_SOURCES; i++) Py_CLEAR(self->known[i].source);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

static PyMethodDef reader_methods[] = {
    {"wake", (PyCFunction)(void (*)(void))reader_wake, METH_FASTCALL, "Begin a wake: the frames of it."},
    {"close", (PyCFunction)reader_close, METH_NOARGS, "Read nothing more."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef reader_members[] = {
    {"frames_in", T_LONGLONG, offsetof(Reader, frames_in), READONLY, "read in this wake"},
    {"bytes_in", T_LONGLONG, offsetof(Reader, bytes_in), READONLY, "read in this wake"},
    {"error", T_INT, offsetof(Reader, error), READONLY, "what ended this wake; 0: nothing more was there"},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot reader_slots[] = {
    {Py_tp_init, reader_init},         {Py_tp_iter, PyObject_SelfIter},   {Py_tp_iternext, reader_next},
    {Py_tp_traverse, reader_traverse}, {Py_tp_clear, reader_clear},       {Py_tp_dealloc, reader_dealloc},
    {Py_tp_methods, reader_methods},   {Py_tp_members, reader_members},   {Py_tp_new, PyType_GenericNew},
    {Py_tp_doc, "Reads the datagrams of one wake."},
    {0, NULL},
};

static PyType_Spec reader_spec = {
    .name = "ringcast.native._datagrams.Reader",
    .basicsize = sizeof(Reader),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = reader_slots,
};

#endif
