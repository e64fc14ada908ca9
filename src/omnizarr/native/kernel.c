/* The loop over chunks, for the plainest of them: files that are opened, read, decoded and placed by several threads,
 * none of which needs the interpreter.
 *
 * It is one piece of code in several files, each about one thing, which are put together below. Its rules:
 * - It does what is usual and nothing else. Whatever is not (a file too long, a frame that does not decode to what is
 *   expected, no memory) is marked UNUSUAL, and the caller does that chunk again in Python, which knows what to say.
 * - It knows nothing of Zarr. A chunk is some bytes of a file, a way to decode them, and a box of elements to copy.
 * - No size that is found in data is trusted: what is written to memory is bounded by what the caller gave room for.
 * - It brings no codec along. Those of the library that Python uses as well are called, by the addresses of their
 *   functions (`use`); without them only chunks that are not compressed are taken.
 */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum codec { RAW, BLOSC, ZSTD, GZIP };
enum status { DONE, ABSENT, UNUSUAL, TO_DO };

#define MOST_DIMENSIONS 64 /* as many as NumPy has */

#include "borrowed.h"
#include "workers.h"
#include "helpers.h"
#include "boxes.h"
#include "reading.h"
#include "taking.h"
#include "arguments.h"
#include "calls.h"
#include "locating.h"
#include "writing.h"
#include "publishing.h"

static PyMethodDef methods[] = {
    {"decode", py_decode, METH_VARARGS, decode_doc},
    {"find", py_find, METH_VARARGS, find_doc},
    {"locate", (PyCFunction)(void (*)(void))py_locate, METH_FASTCALL, locate_doc},
    {"publish", py_publish, METH_VARARGS, publish_doc},
    {"read", py_read, METH_VARARGS, read_doc},
    {"read_one", (PyCFunction)(void (*)(void))py_read_one, METH_FASTCALL, read_one_doc},
    {"read_small", (PyCFunction)(void (*)(void))py_read_small, METH_FASTCALL, read_small_doc},
    {"write", py_write, METH_VARARGS, write_doc},
    {"write_files", py_write_files, METH_VARARGS, write_files_doc},
    {"take", py_take, METH_VARARGS, take_doc},
    {"use", py_use, METH_VARARGS, use_doc},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_kernel", "The loop over chunks, without the interpreter.", -1, methods, NULL, NULL, NULL,
    NULL,
};

PyMODINIT_FUNC PyInit__kernel(void) {
    static int registered; /* it may be loaded by another name, too */
    if (!registered && pthread_atfork(before_fork, after_fork, after_fork_in_child) != 0) return PyErr_NoMemory();
    registered = 1;
    return PyModule_Create(&definition);
}
