/* The kernel: opens, reads, decodes and places the chunks of local files in worker threads that do not need the
 * interpreter; decodes and places chunks in memory; and encodes, writes and publishes them.
 *
 * It is one translation unit. The parts are `.c` files that are included below, in this order:
 *   codec_api.c  pointers to the functions of codec libraries, which Python passes in
 *   scratch.c    buffers and codec contexts of one thread, kept from call to call
 *   threads.c    worker threads and the loop over work items
 *   copy.c       copies of boxes of elements between memory with any strides
 *   unlinked.c   opens a file if no part of its path is a link
 *   read.c       reads, decodes and places one chunk or inner chunk
 *   blosc_parts.c  reads and decodes only some blocks of a Blosc frame
 *   scatter.c    reads rows of an uncompressed chunk to places in any order
 *   points.c     reads single elements of one-dimensional arrays; searches masks
 *   arguments.c  conversion of Python arguments
 *   entries.c    the functions that Python calls to read
 *   locate.c     finds the chunks, chunk keys and offsets that a key of integers and slices selects
 *   publish.c    writes files and renames them under the lock of their directory, as the local store does; fork handlers
 *   write.c      encodes chunks and writes them
 *   values.c     reads many small files, such as metadata documents
 *   descriptor.c the owner of an open file
 *
 * Rules:
 * - The kernel handles the common cases only. For anything else (a file that is too long, a frame that does not decode
 *   to the expected size, no memory) it reports UNUSUAL; Python then handles that chunk and raises the error, if any.
 * - The kernel contains no metadata, no fill values of absent chunks and no error messages for users: Python passes
 *   sizes, strides and limits. Of Zarr it knows three things: how to join chunk indices to a key (locate.c), how to
 *   number inner chunks in a shard index (read.c, locate.c), and how the local store locks a directory (publish.c).
 * - It trusts no size found in data: it writes only to memory whose bounds the caller passed.
 * - It contains no codec. It calls the libraries that Python uses as well, through function pointers (`use`). Without
 *   them it reads only uncompressed chunks.
 */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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
#include <sys/uio.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif
#include <time.h>
#include <unistd.h>

#define INTERFACE 8 /* increase with each change of the entries; Python does not use a kernel with another number */

/* These constants are exported to Python (`add_constants`), which defines no copies of them. */
enum codec { RAW, BLOSC, ZSTD, GZIP };
enum status {
    DONE,    /* the chunk is read or written */
    ABSENT,  /* there is no such chunk; when writing: it holds nothing but the fill value and is not written */
    UNUSUAL, /* left to Python */
    TO_DO,   /* set by the caller: to be read */
};
#define MAX_DIMENSIONS 64                  /* as many as NumPy supports */
#define MAX_CHUNK_BYTES ((int64_t)1 << 62) /* larger chunks could overflow the sums of offsets in `locate` */
#define PIECE_NUMBERS 4                    /* `struct piece` as Python passes it: a list of so many integers */
#define AXIS_NUMBERS 5                     /* `struct axis` as Python passes it: so many integers of 64 bits */
#define NO_LINKS (1 << 30)                 /* a flag for opening a chunk: fail if a part of its path is a link */
#define DECODING_NUMBERS 4                 /* how to decode a chunk, as Python passes it to `read_one`, likewise */

#include "codec_api.c"
#include "scratch.c"
#include "threads.c"
#include "copy.c"
#include "unlinked.c"
#include "read.c"
#include "blosc_parts.c"
#include "scatter.c"
#include "points.c"
#include "arguments.c"
#include "entries.c"
#include "locate.c"
#include "publish.c"
#include "write.c"
#include "values.c"
#include "descriptor.c"

static PyMethodDef methods[] = {
    {"decode", py_decode, METH_VARARGS, decode_doc},
    {"find", py_find, METH_VARARGS, find_doc},
    {"is_folder", (PyCFunction)(void (*)(void))py_is_folder, METH_FASTCALL, is_folder_doc},
    {"is_unlinked", py_is_unlinked, METH_O, is_unlinked_doc},
    {"locate", (PyCFunction)(void (*)(void))py_locate, METH_FASTCALL, locate_doc},
    {"read", py_read, METH_VARARGS, read_doc},
    {"read_one", (PyCFunction)(void (*)(void))py_read_one, METH_FASTCALL, read_one_doc},
    {"write", py_write, METH_VARARGS, write_doc},
    {"write_files", py_write_files, METH_VARARGS, write_files_doc},
    {"read_value", (PyCFunction)(void (*)(void))py_read_value, METH_FASTCALL, read_value_doc},
    {"read_values", (PyCFunction)(void (*)(void))py_read_values, METH_FASTCALL, read_values_doc},
    {"take", py_take, METH_VARARGS, take_doc},
    {"use_openat2", py_use_openat2, METH_O, use_openat2_doc},
    {"use", py_use, METH_VARARGS, use_doc},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_kernel", "Reads and writes chunks of local files without the interpreter.", -1, methods,
    NULL, NULL, NULL, NULL,
};

/* 0 with an exception. */
static int add_constants(PyObject *module) {
#define ADD(name) (PyModule_AddIntConstant(module, #name, name) == 0)
    int added = ADD(RAW) && ADD(BLOSC) && ADD(ZSTD) && ADD(GZIP) && ADD(DONE) && ADD(ABSENT) && ADD(UNUSUAL) &&
                ADD(TO_DO) && ADD(MAX_DIMENSIONS) && ADD(PIECE_NUMBERS) && ADD(AXIS_NUMBERS) &&
                ADD(DECODING_NUMBERS) && ADD(NO_LINKS) && ADD(INTERFACE);
#undef ADD
    PyObject *largest = PyLong_FromLongLong(MAX_CHUNK_BYTES), *names = codec_functions();
    added = added && largest != NULL && PyModule_AddObjectRef(module, "MAX_CHUNK_BYTES", largest) == 0 &&
            names != NULL && PyModule_AddObjectRef(module, "CODEC_FUNCTIONS", names) == 0;
    PyObject *descriptor = PyType_FromSpec(&descriptor_spec);
    added = added && descriptor != NULL && PyModule_AddObjectRef(module, "Descriptor", descriptor) == 0;
    Py_XDECREF(descriptor);
    Py_XDECREF(largest);
    Py_XDECREF(names);
    return added;
}

PyMODINIT_FUNC PyInit__kernel(void) {
    static int registered; /* the module may be loaded a second time, under another name */
    if (!registered && pthread_atfork(before_fork, after_fork, after_fork_in_child) != 0) return PyErr_NoMemory();
    registered = 1;
    PyObject *module = PyModule_Create(&definition);
    if (module != NULL && !add_constants(module)) Py_CLEAR(module);
    return module;
}
