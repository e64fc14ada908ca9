/* Encodes chunks of one shape and writes them to new files. */

struct write_plan {
    struct target target;
    const char **temporaries, **names;
    const int64_t *offsets; /* of each chunk in the source */
    unsigned char *status;
    size_t count;
    enum codec codec;
    const char *source;
    int64_t strides[MAX_DIMENSIONS], shape[MAX_DIMENSIONS], packed[MAX_DIMENSIONS];
    int rank;
    size_t itemsize, size;
    const char *fill; /* NULL: write also chunks that hold nothing but the fill value */
    int level, shuffle, checksum;
    size_t typesize, blocksize;
    const char *compressor;
};

/* Whether a chunk holds nothing but the fill value. */
static int is_filled(const char *chunk, const struct write_plan *plan) {
    size_t size = plan->itemsize;
    return memcmp(chunk, plan->fill, size) == 0 && memcmp(chunk, chunk + size, plan->size - size) == 0;
}

/* The encoded bytes of a chunk, in the scratch or, uncompressed, in the chunk itself; NULL if encoding fails. */
static const char *encode(struct scratch *scratch, const struct write_plan *plan, const char *chunk, size_t *length) {
    if (plan->codec == RAW) {
        *length = plan->size;
        return chunk;
    }
    if (plan->codec == GZIP && (scratch->deflater == NULL || scratch->level != plan->level)) {
        if (scratch->deflater != NULL) gzip_free_encoder(scratch->deflater);
        scratch->deflater = gzip_create_encoder(plan->level);
        scratch->level = plan->level;
        if (scratch->deflater == NULL) return NULL;
    }
    size_t room = plan->codec == BLOSC  ? plan->size + 16
                  : plan->codec == ZSTD ? zstd_bound(plan->size)
                                        : gzip_bound(scratch->deflater, plan->size);
    char *data = reserve(&scratch->encoded, &scratch->encoded_capacity, room);
    if (data == NULL) return NULL;
    if (plan->codec == BLOSC) {
        int size = blosc_compress_ctx(plan->level, plan->shuffle, plan->typesize, plan->size, chunk, data, room,
                                      plan->compressor, plan->blocksize, 1);
        *length = (size_t)size;
        return size > 0 ? data : NULL;
    }
    if (plan->codec == GZIP) {
        *length = gzip_compress(scratch->deflater, chunk, plan->size, data, room);
        return *length > 0 ? data : NULL;
    }
    if (scratch->cctx == NULL) scratch->cctx = zstd_create_cctx();
    if (scratch->cctx == NULL || zstd_is_error(zstd_set(scratch->cctx, ZSTD_LEVEL, plan->level)) ||
        zstd_is_error(zstd_set(scratch->cctx, ZSTD_CHECKSUM, plan->checksum)))
        return NULL;
    *length = zstd_compress(scratch->cctx, data, room, chunk, plan->size);
    return zstd_is_error(*length) ? NULL : data;
}

static enum status write_item(struct scratch *scratch, struct write_plan *plan, size_t item) {
    const char *chunk = plan->source + plan->offsets[item];
    size_t run, length;
    if (plan->codec == BLOSC && plan->size > INT32_MAX - 16) return UNUSUAL; /* the limit of a Blosc frame */
    if (split_box(plan->packed, plan->strides, plan->shape, plan->rank, plan->itemsize, &run) != 0) {
        char *memory = reserve(&scratch->decoded, &scratch->decoded_capacity, plan->size);
        if (memory == NULL) return UNUSUAL;
        copy_box(memory, plan->packed, chunk, plan->strides, plan->shape, plan->rank, plan->itemsize);
        chunk = memory;
    }
    if (plan->fill != NULL && is_filled(chunk, plan)) return ABSENT;
    const char *data = encode(scratch, plan, chunk, &length);
    if (data == NULL) return UNUSUAL;
    return write_file(&plan->target, plan->temporaries[item], plan->names[item], data, length);
}

PyDoc_STRVAR(write_doc,
             "write(target, temporaries, names, source, offsets, shape, strides, itemsize, fill, codec, options)\n"
             "Encodes chunks of one shape, each at its offset from the address `source`, writes each to a temporary\n"
             "file and renames it, under the lock of the directory. Returns one status byte per chunk: DONE; ABSENT if\n"
             "it holds nothing but `fill` and is not written (never if `fill` is None); UNUSUAL if it is left to\n"
             "Python: no file is left. `target` is as for `write_files`. `options` are (level,) for gzip, (level,\n"
             "checksum) for Zstandard, (compressor, level, shuffle, blocksize, typesize) for Blosc.");

static PyObject *py_write(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *target, *temporaries, *names, *offsets, *shape, *strides, *fill, *options, *result = NULL;
    struct write_plan plan = {0};
    unsigned long long source;
    Py_ssize_t itemsize, typesize = 0, blocksize = 0;
    int codec, other;
    if (!PyArg_ParseTuple(arguments, "O!O!O!KO!OOnOiO!", &PyTuple_Type, &target, &PyList_Type, &temporaries,
                          &PyList_Type, &names, &source, &PyList_Type, &offsets, &shape, &strides, &itemsize, &fill,
                          &codec, &PyTuple_Type, &options) ||
        !parse_target(target, &plan.target) || !check_codec(codec) || !parse_numbers(shape, plan.shape, &plan.rank) ||
        !parse_numbers(strides, plan.strides, &other))
        return NULL;
    if (codec == ZSTD && !PyArg_ParseTuple(options, "ip", &plan.level, &plan.checksum)) return NULL;
    if (codec == GZIP && !PyArg_ParseTuple(options, "i", &plan.level)) return NULL;
    if (codec == BLOSC && !PyArg_ParseTuple(options, "yiinn", &plan.compressor, &plan.level, &plan.shuffle, &blocksize,
                                            &typesize))
        return NULL;
    plan.count = (size_t)PyList_Size(names);
    int fits = other == plan.rank && plan.count == (size_t)PyList_Size(temporaries) && itemsize > 0 && plan.count == (size_t)PyList_Size(offsets) && typesize >= 0 &&
               blocksize >= 0 && (fill == Py_None || (PyBytes_Check(fill) && PyBytes_Size(fill) == itemsize));
    plan.size = (size_t)itemsize;
    for (int d = plan.rank - 1; d >= 0 && fits; d--) {
        plan.packed[d] = (int64_t)plan.size;
        fits = plan.shape[d] > 0 && (size_t)plan.shape[d] <= (size_t)INT64_MAX / plan.size;
        if (fits) plan.size *= (size_t)plan.shape[d];
    }
    if (!fits) {
        PyErr_SetString(PyExc_ValueError, "sizes do not match");
        return NULL;
    }
    int64_t *places = calloc(plan.count + 1, sizeof(int64_t));
    plan.temporaries = calloc(plan.count + 1, sizeof(char *));
    plan.names = calloc(plan.count + 1, sizeof(char *));
    plan.status = calloc(plan.count + 1, 1);
    struct scratch *scratch = acquire_scratch();
    if (places == NULL || plan.temporaries == NULL || plan.names == NULL || plan.status == NULL || scratch == NULL) {
        PyErr_NoMemory();
        goto end;
    }
    for (size_t i = 0; i < plan.count; i++) {
        places[i] = PyLong_AsLongLong(PyList_GetItem(offsets, (Py_ssize_t)i));
        if ((plan.temporaries[i] = parse_path(PyList_GetItem(temporaries, (Py_ssize_t)i))) == NULL ||
            (plan.names[i] = parse_path(PyList_GetItem(names, (Py_ssize_t)i))) == NULL)
            goto end;
    }
    if (PyErr_Occurred()) goto end;
    plan.offsets = places;
    plan.codec = (enum codec)codec;
    plan.source = (const char *)(uintptr_t)source;
    plan.itemsize = (size_t)itemsize;
    plan.fill = fill == Py_None ? NULL : PyBytes_AsString(fill);
    plan.typesize = (size_t)typesize;
    plan.blocksize = (size_t)blocksize;
    PyThreadState *state = PyEval_SaveThread();
    for (size_t i = 0; i < plan.count; i++) plan.status[i] = (unsigned char)write_item(scratch, &plan, i);
    close_target(&plan.target);
    PyEval_RestoreThread(state);
    result = PyBytes_FromStringAndSize((const char *)plan.status, (Py_ssize_t)plan.count);
end:
    release_scratch(scratch);
    free(places);
    free(plan.temporaries);
    free(plan.names);
    free(plan.status);
    return result;
}

PyDoc_STRVAR(write_files_doc,
             "write_files(target, temporaries, names, values)\n"
             "Writes each value to a temporary file and renames it, under the lock of the directory. Returns one status\n"
             "byte per value: DONE; ABSENT if the old file has another state; UNUSUAL if it is left to Python. Unless\n"
             "DONE, no file is left. `target` is (folder, guarded, state, follow): the directory of all names; whether\n"
             "to lock temporary files; None, or the state that the old file must have: () for no file, or (device,\n"
             "inode, size, modification time in nanoseconds); whether to follow a link to find it. Waits for the lock\n"
             "for a millisecond at most.");

static PyObject *py_write_files(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *given, *old, *new, *values, *result = NULL;
    struct target target = {0};
    if (!PyArg_ParseTuple(arguments, "O!O!O!O!", &PyTuple_Type, &given, &PyList_Type, &old, &PyList_Type, &new,
                          &PyList_Type, &values) ||
        !parse_target(given, &target))
        return NULL;
    Py_ssize_t count = PyList_Size(values), held = 0;
    if (PyList_Size(old) != count || PyList_Size(new) != count || (target.states >= 0 && count != 1)) {
        PyErr_SetString(PyExc_ValueError, "sizes do not match");
        return NULL;
    }
    const char **temporaries = calloc((size_t)count + 1, sizeof(char *));
    const char **names = calloc((size_t)count + 1, sizeof(char *));
    Py_buffer *buffers = calloc((size_t)count + 1, sizeof(Py_buffer));
    char *statuses = calloc((size_t)count + 1, 1);
    if (temporaries == NULL || names == NULL || buffers == NULL || statuses == NULL) {
        PyErr_NoMemory();
        goto end;
    }
    for (; held < count; held++) {
        if ((temporaries[held] = parse_path(PyList_GetItem(old, held))) == NULL ||
            (names[held] = parse_path(PyList_GetItem(new, held))) == NULL ||
            PyObject_GetBuffer(PyList_GetItem(values, held), &buffers[held], PyBUF_SIMPLE) != 0)
            goto end;
    }
    PyThreadState *state = PyEval_SaveThread();
    for (Py_ssize_t i = 0; i < count; i++)
        statuses[i] = (char)write_file(&target, temporaries[i], names[i], buffers[i].buf, (size_t)buffers[i].len);
    close_target(&target);
    PyEval_RestoreThread(state);
    result = PyBytes_FromStringAndSize(statuses, count);
end:
    for (Py_ssize_t i = 0; i < held; i++) PyBuffer_Release(&buffers[i]);
    free(temporaries);
    free(names);
    free(buffers);
    free(statuses);
    return result;
}
