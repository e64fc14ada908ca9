/* How Python asks for what is read. */

static void free_groups(struct group *groups, size_t count) {
    for (size_t i = 0; i < count; i++) {
        free(groups[i].paths);
        free(groups[i].pieces);
        if (groups[i].buffer.obj != NULL) PyBuffer_Release(&groups[i].buffer);
    }
    free(groups);
}

/* The pieces of all dimensions; 0 with an exception. */
static int take_pieces(PyObject *dimensions, int rank, struct group *group) {
    Py_ssize_t all = 0;
    group->count = 1;
    if (PyTuple_Size(dimensions) != rank) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "another number of dimensions is expected");
        return 0;
    }
    for (int d = 0; d < rank; d++) {
        Py_ssize_t length = PyList_Size(PyTuple_GetItem(dimensions, d));
        if (length < 4 || length % 4 != 0) {
            if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "a piece has four numbers");
            return 0;
        }
        group->lengths[d] = length / 4;
        group->count *= (size_t)length / 4;
        all += length / 4;
    }
    struct piece *piece = group->pieces = calloc((size_t)all + 1, sizeof(struct piece));
    if (piece == NULL) {
        PyErr_NoMemory();
        return 0;
    }
    for (int d = 0; d < rank; d++) {
        PyObject *given = PyTuple_GetItem(dimensions, d);
        for (Py_ssize_t i = 0; i < group->lengths[d]; i++, piece++) {
            piece->source = PyLong_AsLongLong(PyList_GetItem(given, 4 * i));
            piece->target = PyLong_AsLongLong(PyList_GetItem(given, 4 * i + 1));
            piece->count = PyLong_AsLongLong(PyList_GetItem(given, 4 * i + 2));
            piece->number = PyLong_AsLongLong(PyList_GetItem(given, 4 * i + 3));
        }
    }
    return !PyErr_Occurred();
}

static int take_group(PyObject *given, int rank, size_t first, struct group *group) {
    PyObject *files, *dimensions, *entries;
    long long target;
    if (!PyArg_ParseTuple(given, "OLO!O", &files, &target, &PyTuple_Type, &dimensions, &entries)) return 0;
    group->target = target;
    group->first = first;
    if (!take_pieces(dimensions, rank, group)) return 0;
    if (PyLong_Check(files)) {
        group->file = (int)PyLong_AsLong(files);
        if (PyObject_GetBuffer(entries, &group->buffer, PyBUF_SIMPLE) != 0) return 0;
        group->entries = group->buffer.buf;
        group->entry_count = (size_t)group->buffer.len / (2 * sizeof(uint64_t));
        return 1;
    }
    if (PyList_Size(files) != (Py_ssize_t)group->count) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "another number of paths is expected");
        return 0;
    }
    group->paths = calloc(group->count + 1, sizeof(char *));
    if (group->paths == NULL) {
        PyErr_NoMemory();
        return 0;
    }
    for (size_t i = 0; i < group->count; i++)
        if ((group->paths[i] = path_of(PyList_GetItem(files, (Py_ssize_t)i))) == NULL) return 0;
    return 1;
}

/* What all that read many chunks are told; the rest of the plan is theirs. */
static void set_up(struct reading *plan, enum status (*act)(struct worker *, const struct work *, size_t),
                   const Py_buffer *status, int codec, int64_t decoded, int64_t limit, Py_ssize_t itemsize,
                   uintptr_t target) {
    plan->work.act = act;
    plan->work.status = status->buf;
    plan->work.count = (size_t)status->len;
    plan->codec = (enum codec)codec;
    plan->decoded = decoded;
    plan->limit = limit;
    plan->itemsize = (size_t)itemsize;
    plan->target = (char *)target;
}

PyDoc_STRVAR(read_doc,
             "read(groups, flags, status, codec, decoded, limit, itemsize, source_strides, target_strides, target, low,\n"
             "     high, threads)\n"
             "Reads chunks. A group is all combinations of pieces, one of each dimension: the paths of the chunks, or\n"
             "the number of an open file; an offset from the address `target`; for each dimension a list with four\n"
             "numbers for each piece (offset in the decoded chunk, offset in the target, elements, share in the number\n"
             "of the chunk); and where the chunks are in an open file, pairs of a start and a length.\n"
             "`status`, 3 for all that is to be read, becomes 0 where all went well, 1 where there is no chunk, 2 for\n"
             "what is left to others.");

static PyObject *py_read(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *given, *source_strides, *target_strides, *result = NULL;
    Py_buffer status;
    struct reading *plan = calloc(1, sizeof(struct reading)); /* see `run` */
    struct group *groups = NULL;
    long long decoded, limit, low, high;
    unsigned long long target;
    int codec, threads, other;
    Py_ssize_t itemsize, group_count, taken = 0;
    size_t chunks = 0;
    if (plan == NULL) return PyErr_NoMemory();
    if (!PyArg_ParseTuple(arguments, "O!iw*iLLnOOKLLi", &PyList_Type, &given, &plan->flags, &status, &codec, &decoded,
                          &limit, &itemsize, &source_strides, &target_strides, &target, &low, &high, &threads)) {
        free(plan);
        return NULL;
    }
    if (!numbers_of(source_strides, plan->source_strides, &plan->rank) ||
        !numbers_of(target_strides, plan->target_strides, &other) || !is_known(codec))
        goto end;
    group_count = PyList_Size(given);
    groups = calloc((size_t)group_count + 1, sizeof(struct group));
    if (groups == NULL) {
        PyErr_NoMemory();
        goto end;
    }
    for (; taken < group_count; taken++) {
        struct group *group = groups + taken;
        if (!take_group(PyList_GetItem(given, taken), plan->rank, chunks, group)) {
            taken++;
            goto end;
        }
        chunks += group->count;
    }
    if (other != plan->rank || chunks != (size_t)status.len || itemsize < 1) {
        PyErr_SetString(PyExc_ValueError, "sizes do not match");
        goto end;
    }
    set_up(plan, read_item, &status, codec, decoded, limit, itemsize, (uintptr_t)target);
    plan->groups = groups;
    plan->group_count = (size_t)group_count;
    plan->low = low;
    plan->high = high;
    if (chunks == 0 || run(&plan->work, threads)) result = Py_NewRef(Py_None);
end:
    free_groups(groups, (size_t)taken);
    PyBuffer_Release(&status);
    free(plan);
    return result;
}

PyDoc_STRVAR(take_doc,
             "take(chunks, flags, status, codec, decoded, limit, itemsize, stride, target, length, threads)\n"
             "Reads single elements of chunks, each a tuple of its path, the indices of the elements in it, their places\n"
             "in the target of `length` elements (an integer, from which on they lie one after the other, or as many),\n"
             "and -1. Indices are of 64 bits. Or, instead of indices, a mask of bytes, and instead of -1 how many of them\n"
             "are not 0; or None, and how many of the first are taken. `status` as for `read`.");

static PyObject *py_take(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *given, *result = NULL;
    Py_buffer status;
    struct reading *plan = calloc(1, sizeof(struct reading)); /* see `run` */
    long long decoded, limit, stride, length;
    unsigned long long target;
    int codec, threads;
    Py_ssize_t itemsize, taken = 0;
    if (plan == NULL) return PyErr_NoMemory();
    if (!PyArg_ParseTuple(arguments, "O!iw*iLLnLKLi", &PyList_Type, &given, &plan->flags, &status, &codec, &decoded,
                          &limit, &itemsize, &stride, &target, &length, &threads)) {
        free(plan);
        return NULL;
    }
    struct take *takes = NULL;
    Py_ssize_t count = PyList_Size(given);
    if (!is_known(codec)) goto end;
    if (count != status.len || itemsize < 1 || decoded < itemsize || length < 1 ||
        length > INT64_MAX / ((stride < 0 ? -(stride + 1) : stride) + 2 + itemsize)) {
        PyErr_SetString(PyExc_ValueError, "sizes do not match");
        goto end;
    }
    takes = calloc((size_t)count + 1, sizeof(struct take));
    if (takes == NULL) {
        PyErr_NoMemory();
        goto end;
    }
    for (; taken < count; taken++) {
        struct take *take = takes + taken;
        PyObject *path, *sources, *places;
        long long marked;
        if (!PyArg_ParseTuple(PyList_GetItem(given, taken), "OOOL", &path, &sources, &places, &marked) ||
            (take->path = path_of(path)) == NULL ||
            (sources != Py_None && PyObject_GetBuffer(sources, &take->sources, PyBUF_SIMPLE) != 0))
            goto end;
        take->whole = sources == Py_None;
        take->masked = marked >= 0;
        if (take->whole && !take->masked) {
            PyErr_SetString(PyExc_ValueError, "sizes do not match");
            goto end;
        }
        take->count = take->masked ? marked : take->sources.len / (Py_ssize_t)sizeof(int64_t);
        if (PyLong_Check(places)) {
            take->first = PyLong_AsLongLong(places);
        } else if (PyObject_GetBuffer(places, &take->places, PyBUF_SIMPLE) != 0 ||
                   take->places.len != take->sources.len || take->masked) {
            if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "sizes do not match");
            taken++;
            goto end;
        }
        if (PyErr_Occurred()) {
            taken++;
            goto end;
        }
    }
    set_up(plan, read_take, &status, codec, decoded, limit, itemsize, (uintptr_t)target);
    plan->takes = takes;
    plan->rank = 1;
    plan->source_strides[0] = itemsize;
    plan->target_strides[0] = stride;
    plan->room = length;
    plan->low = stride < 0 ? (length - 1) * stride : 0;
    plan->high = (stride < 0 ? 0 : (length - 1) * stride) + itemsize;
    if (count == 0 || run(&plan->work, threads)) result = Py_NewRef(Py_None);
end:
    for (Py_ssize_t i = 0; i < taken; i++) {
        if (takes[i].sources.obj != NULL) PyBuffer_Release(&takes[i].sources);
        if (takes[i].places.obj != NULL) PyBuffer_Release(&takes[i].places);
    }
    free(takes);
    PyBuffer_Release(&status);
    free(plan);
    return result;
}

/* A single chunk: a file of its own, or a part of one that is open. */
struct single {
    struct reading plan;
    struct box box;
    const char *path; /* NULL: it is in */
    int file;
    int64_t start, length;
};

/* What both calls below are given of it, in this order: file, flags, start, length, codec, decoded, limit, itemsize. */
static int take_single(PyObject *const *given, struct single *single) {
    if (PyLong_Check(given[0]))
        single->file = (int)PyLong_AsLong(given[0]);
    else if ((single->path = path_of(given[0])) == NULL)
        return 0;
    single->plan.flags = (int)PyLong_AsLong(given[1]);
    single->start = PyLong_AsLongLong(given[2]);
    single->length = PyLong_AsLongLong(given[3]);
    int codec = (int)PyLong_AsLong(given[4]);
    single->plan.decoded = PyLong_AsLongLong(given[5]);
    single->plan.limit = PyLong_AsLongLong(given[6]);
    single->plan.itemsize = (size_t)PyLong_AsLongLong(given[7]);
    if (PyErr_Occurred() || !is_known(codec)) return 0;
    single->plan.codec = (enum codec)codec;
    return 1;
}

/* Its status, for Python; NULL with an exception. */
static PyObject *read_single(const struct single *single) {
    struct worker *worker = take_worker();
    if (worker == NULL) return PyErr_NoMemory();
    PyThreadState *state = PyEval_SaveThread();
    enum status status = single->path == NULL ? read_open(worker, &single->plan, single->file, single->start,
                                                          single->length, &single->box)
                                              : read_path(worker, &single->plan, single->path, &single->box);
    PyEval_RestoreThread(state);
    give_back(worker);
    return PyLong_FromLong((long)status);
}

PyDoc_STRVAR(read_one_doc,
             "read_one(file, flags, start, length, codec, decoded, limit, itemsize, offset, shape, source_strides,\n"
             "         target_strides, target)\n"
             "Reads a single chunk, in the caller's thread: from a path, or `length` bytes from `start` on of an open\n"
             "file. The status that `read` would give it.");

static PyObject *py_read_one(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    if (count != 13) {
        PyErr_SetString(PyExc_TypeError, "expected 13 arguments");
        return NULL;
    }
    struct single one = {.plan = {.low = INT64_MIN, .high = INT64_MAX}};
    int other, shapes;
    if (!take_single(arguments, &one)) return NULL;
    one.box.source = PyLong_AsLongLong(arguments[8]);
    one.plan.target = (char *)(uintptr_t)PyLong_AsUnsignedLongLong(arguments[12]);
    if (PyErr_Occurred() || !numbers_of(arguments[9], one.box.shape, &shapes) ||
        !numbers_of(arguments[10], one.plan.source_strides, &one.plan.rank) ||
        !numbers_of(arguments[11], one.plan.target_strides, &other))
        return NULL;
    if (other != one.plan.rank || shapes != one.plan.rank) {
        PyErr_SetString(PyExc_ValueError, "sizes do not match");
        return NULL;
    }
    return read_single(&one);
}

PyDoc_STRVAR(read_small_doc,
             "read_small(out, file, flags, start, length, codec, decoded, limit, itemsize, strides, offset, shape)\n"
             "`read_one` for a box that fills `out`, a buffer of just its size.");

static PyObject *py_read_small(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    if (count != 12) {
        PyErr_SetString(PyExc_TypeError, "expected 12 arguments");
        return NULL;
    }
    struct single one = {0};
    int shapes;
    if (!take_single(arguments + 1, &one)) return NULL;
    one.box.source = PyLong_AsLongLong(arguments[10]);
    if (PyErr_Occurred() || !numbers_of(arguments[9], one.plan.source_strides, &one.plan.rank) ||
        !numbers_of(arguments[11], one.box.shape, &shapes))
        return NULL;
    int64_t size = (int64_t)one.plan.itemsize;
    for (int d = one.plan.rank - 1; d >= 0 && size >= 0; d--) {
        int64_t length = one.box.shape[d];
        one.plan.target_strides[d] = size;
        size = length < 0 || (length > 0 && size > INT64_MAX / length) ? -1 : size * length;
    }
    Py_buffer out;
    if (PyObject_GetBuffer(arguments[0], &out, PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS) != 0) return NULL;
    PyObject *result = NULL;
    if (shapes == one.plan.rank && out.len == size) {
        one.plan.target = out.buf;
        one.plan.high = size;
        result = read_single(&one);
    } else {
        PyErr_SetString(PyExc_ValueError, "sizes do not match");
    }
    PyBuffer_Release(&out);
    return result;
}

PyDoc_STRVAR(decode_doc,
             "decode(codec, data, size)\n"
             "The bytes that data of a compressed chunk become, if they are so many; else None.");

static PyObject *py_decode(PyObject *module, PyObject *arguments) {
    (void)module;
    int codec;
    Py_buffer data;
    Py_ssize_t size;
    struct reading plan = {0};
    if (!PyArg_ParseTuple(arguments, "iy*n", &codec, &data, &size)) return NULL;
    PyObject *result = NULL;
    struct worker *worker = take_worker();
    if (!is_known(codec)) {
    } else if (codec == RAW || size < 1) {
        PyErr_SetString(PyExc_ValueError, "sizes do not match");
    } else if (worker == NULL) {
        PyErr_NoMemory();
    } else if ((result = PyBytes_FromStringAndSize(NULL, size)) != NULL) {
        plan.codec = (enum codec)codec;
        plan.decoded = (int64_t)size;
        if (!decode(worker, &plan, data.buf, (int64_t)data.len, PyBytes_AsString(result))) {
            Py_DECREF(result);
            result = Py_NewRef(Py_None);
        }
    }
    give_back(worker);
    PyBuffer_Release(&data);
    return result;
}

PyDoc_STRVAR(find_doc,
             "find(mask, most, threads)\n"
             "How many bytes are not 0; and the indices of those, each in 64 bits, or None if there are more than `most`.");

static PyObject *py_find(PyObject *module, PyObject *arguments) {
    (void)module;
    Py_buffer mask;
    long long most;
    int threads;
    if (!PyArg_ParseTuple(arguments, "y*Li", &mask, &most, &threads)) return NULL;
    size_t parts = (size_t)((mask.len + PART - 1) / PART);
    PyObject *indices = NULL, *result = NULL;
    struct search *search = calloc(1, sizeof(struct search)); /* see `run` */
    int64_t *counts = calloc(parts + 1, sizeof(int64_t)), count = 0;
    unsigned char *status = malloc(parts + 1);
    if (search == NULL || counts == NULL || status == NULL) {
        PyErr_NoMemory();
        goto end;
    }
    search->work.act = search_part;
    search->work.status = status;
    search->work.count = parts;
    search->mask = mask.buf;
    search->length = (int64_t)mask.len;
    search->counts = counts;
    memset(status, TO_DO, parts + 1);
    if (!run(&search->work, threads)) goto end;
    for (size_t i = 0; i <= parts; i++) {
        int64_t before = count;
        count += counts[i];
        counts[i] = before;
    }
    if (count <= most) {
        if ((indices = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(count * (int64_t)sizeof(int64_t)))) == NULL) goto end;
        search->indices = (int64_t *)(void *)PyBytes_AsString(indices);
        memset(status, TO_DO, parts + 1);
        atomic_store(&search->work.next, 0);
        if (!run(&search->work, threads)) goto end;
    }
    result = Py_BuildValue("LO", (long long)count, indices == NULL ? Py_None : indices);
end:
    Py_XDECREF(indices);
    free(search);
    free(counts);
    free(status);
    PyBuffer_Release(&mask);
    return result;
}
