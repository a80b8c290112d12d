/* Frames to one destination, without Python between them. */
#ifndef RINGCAST_DATAGRAMS_SENDER_H
#define RINGCAST_DATAGRAMS_SENDER_H

#include <Python.h>
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

enum { MOST_AT_ONCE = 64 };

static PyObject *packed_address(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count) {
    if (count != 2 || !PyUnicode_Check(args[0])) return PyErr_Format(PyExc_TypeError, "takes a host and a port");
    const char *host = PyUnicode_AsUTF8(args[0]);
    long port = host == NULL ? -1 : PyLong_AsLong(args[1]);
    if (PyErr_Occurred()) return NULL;
    if (port < 0 || port > 65535) return PyErr_Format(PyExc_ValueError, "no port: %ld", port);
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    if (inet_pton(AF_INET, host, &four.sin_addr) == 1) return PyBytes_FromStringAndSize((char *)&four, sizeof four);
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
    if (inet_pton(AF_INET6, host, &six.sin6_addr) == 1) return PyBytes_FromStringAndSize((char *)&six, sizeof six);
    Py_RETURN_NONE;
}

/* (fd, address, frames, first) -> (how many were sent, their bytes, 0 or the error that stopped it). */
static PyObject *send_all(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count) {
    if (count != 4 || !PyBytes_CheckExact(args[1]) || !PyList_CheckExact(args[2]))
        return PyErr_Format(PyExc_TypeError, "takes a descriptor, an address, a list of frames and where to begin");
    int fd = (int)PyLong_AsLong(args[0]);
    Py_ssize_t first = PyLong_AsSsize_t(args[3]);
    if (PyErr_Occurred()) return NULL;
    const struct sockaddr *to = (const struct sockaddr *)PyBytes_AS_STRING(args[1]);
    socklen_t to_size = (socklen_t)PyBytes_GET_SIZE(args[1]);
    PyObject *held[MOST_AT_ONCE];
    long long sent = 0, nbytes = 0;
    int error = 0;
    Py_ssize_t at = first < 0 ? 0 : first, end = PyList_GET_SIZE(args[2]);
    while (at < end && !error) {
        int some = 0, done = 0;
        for (; some < MOST_AT_ONCE && at + some < end; some++) {
            held[some] = PyList_GET_ITEM(args[2], at + some);
            if (!PyBytes_Check(held[some])) break;
        }
        if (some == 0) return PyErr_Format(PyExc_TypeError, "a frame that is not bytes");
        for (int i = 0; i < some; i++) Py_INCREF(held[i]);
        Py_BEGIN_ALLOW_THREADS;
        for (; done < some; done++) {
            size_t size = (size_t)PyBytes_GET_SIZE(held[done]);
            ssize_t taken = sendto(fd, PyBytes_AS_STRING(held[done]), size, 0, to, to_size);
            while (taken < 0 && errno == EINTR) taken = sendto(fd, PyBytes_AS_STRING(held[done]), size, 0, to, to_size);
            if (taken < 0) {
                error = errno;
                break;
            }
            nbytes += taken;
        }
        Py_END_ALLOW_THREADS;
        for (int i = 0; i < some; i++) Py_DECREF(held[i]);
        sent += done;
        at += done;
        end = PyList_GET_SIZE(args[2]);
    }
    return Py_BuildValue("LLi", sent, nbytes, error);
}

#endif
