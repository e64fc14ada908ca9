/* Encodes chunks of one shape and writes them to new files. */

struct write_plan {
    const char **paths;
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

/* Writes a new file. Removes it if writing fails. */
static enum status write_file(const char *path, const char *data, size_t length) {
    int file;
    do {
        file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (file < 0 && errno == EINTR);
    if (file < 0) return UNUSUAL;
    int failed = 0;
    while (length > 0 && !failed) {
        ssize_t done = write(file, data, length);
        if (done < 0 && errno == EINTR) continue;
        failed = done <= 0;
        if (!failed) {
            data += done;
            length -= (size_t)done;
        }
    }
    if (close(file) != 0) failed = 1;
    if (failed) unlink(path);
    return failed ? UNUSUAL : DONE;
}

static enum status write_item(struct scratch *scratch, const struct write_plan *plan, size_t item) {
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
    return data == NULL ? UNUSUAL : write_file(plan->paths[item], data, length);
}

PyDoc_STRVAR(write_doc,
             "write(paths, source, offsets, shape, strides, itemsize, fill, codec, options)\n"
             "Encodes chunks of one shape, each at its offset from the address `source`, and writes them to new\n"
             "files. Returns one status byte per chunk: DONE; ABSENT if it holds nothing but `fill` and is not\n"
             "written (never if `fill` is None); UNUSUAL if it is left to Python. `options` are (level,) for gzip,\n"
             "(level, checksum) for Zstandard, (compressor, level, shuffle, blocksize, typesize) for Blosc.");

static PyObject *py_write(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *paths, *offsets, *shape, *strides, *fill, *options, *result = NULL;
    struct write_plan plan = {0};
    unsigned long long source;
    Py_ssize_t itemsize, typesize = 0, blocksize = 0;
    int codec, other;
    if (!PyArg_ParseTuple(arguments, "O!KO!OOnOiO!", &PyList_Type, &paths, &source, &PyList_Type, &offsets, &shape,
                          &strides, &itemsize, &fill, &codec, &PyTuple_Type, &options) ||
        !check_codec(codec) || !parse_numbers(shape, plan.shape, &plan.rank) ||
        !parse_numbers(strides, plan.strides, &other))
        return NULL;
    if (codec == ZSTD && !PyArg_ParseTuple(options, "ip", &plan.level, &plan.checksum)) return NULL;
    if (codec == GZIP && !PyArg_ParseTuple(options, "i", &plan.level)) return NULL;
    if (codec == BLOSC && !PyArg_ParseTuple(options, "yiinn", &plan.compressor, &plan.level, &plan.shuffle, &blocksize,
                                            &typesize))
        return NULL;
    plan.count = (size_t)PyList_Size(paths);
    int fits = other == plan.rank && itemsize > 0 && plan.count == (size_t)PyList_Size(offsets) && typesize >= 0 &&
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
    plan.paths = calloc(plan.count + 1, sizeof(char *));
    plan.status = calloc(plan.count + 1, 1);
    struct scratch *scratch = acquire_scratch();
    if (places == NULL || plan.paths == NULL || plan.status == NULL || scratch == NULL) {
        PyErr_NoMemory();
        goto end;
    }
    for (size_t i = 0; i < plan.count; i++) {
        places[i] = PyLong_AsLongLong(PyList_GetItem(offsets, (Py_ssize_t)i));
        if ((plan.paths[i] = parse_path(PyList_GetItem(paths, (Py_ssize_t)i))) == NULL) goto end;
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
    PyEval_RestoreThread(state);
    result = PyBytes_FromStringAndSize((const char *)plan.status, (Py_ssize_t)plan.count);
end:
    release_scratch(scratch);
    free(places);
    free(plan.paths);
    free(plan.status);
    return result;
}

PyDoc_STRVAR(write_files_doc,
             "write_files(paths, values)\n"
             "Writes values to new files. Returns one status byte per value, DONE or UNUSUAL.");

static PyObject *py_write_files(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *paths, *values, *result = NULL;
    if (!PyArg_ParseTuple(arguments, "O!O!", &PyList_Type, &paths, &PyList_Type, &values)) return NULL;
    Py_ssize_t count = PyList_Size(paths), held = 0;
    if (PyList_Size(values) != count) {
        PyErr_SetString(PyExc_ValueError, "sizes do not match");
        return NULL;
    }
    const char **names = calloc((size_t)count + 1, sizeof(char *));
    Py_buffer *buffers = calloc((size_t)count + 1, sizeof(Py_buffer));
    char *statuses = calloc((size_t)count + 1, 1);
    if (names == NULL || buffers == NULL || statuses == NULL) {
        PyErr_NoMemory();
        goto end;
    }
    for (; held < count; held++) {
        if ((names[held] = parse_path(PyList_GetItem(paths, held))) == NULL ||
            PyObject_GetBuffer(PyList_GetItem(values, held), &buffers[held], PyBUF_SIMPLE) != 0)
            goto end;
    }
    PyThreadState *state = PyEval_SaveThread();
    for (Py_ssize_t i = 0; i < count; i++)
        statuses[i] = (char)write_file(names[i], buffers[i].buf, (size_t)buffers[i].len);
    PyEval_RestoreThread(state);
    result = PyBytes_FromStringAndSize(statuses, count);
end:
    for (Py_ssize_t i = 0; i < held; i++) PyBuffer_Release(&buffers[i]);
    free(names);
    free(buffers);
    free(statuses);
    return result;
}
