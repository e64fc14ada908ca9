/* The functions that Python calls to read. */

static void free_groups(struct group *groups, size_t count) {
    for (size_t i = 0; i < count; i++) {
        free(groups[i].paths);
        free(groups[i].pieces);
        if (groups[i].buffer.obj != NULL) PyBuffer_Release(&groups[i].buffer);
        if (groups[i].memory.obj != NULL) PyBuffer_Release(&groups[i].memory);
    }
    free(groups);
}

/* Parses the pieces of all dimensions; 0 with an exception. */
static int parse_pieces(PyObject *dimensions, int rank, struct group *group) {
    Py_ssize_t all = 0;
    group->count = 1;
    if (PyTuple_Size(dimensions) != rank) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "wrong number of dimensions");
        return 0;
    }
    for (int d = 0; d < rank; d++) {
        Py_ssize_t length = PyList_Size(PyTuple_GetItem(dimensions, d));
        if (length < PIECE_NUMBERS || length % PIECE_NUMBERS != 0) {
            if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "a piece is a list of PIECE_NUMBERS integers");
            return 0;
        }
        group->lengths[d] = length / PIECE_NUMBERS;
        group->count *= (size_t)length / PIECE_NUMBERS;
        all += length / PIECE_NUMBERS;
    }
    struct piece *piece = group->pieces = calloc((size_t)all + 1, sizeof(struct piece));
    if (piece == NULL) {
        PyErr_NoMemory();
        return 0;
    }
    for (int d = 0; d < rank; d++) {
        PyObject *given = PyTuple_GetItem(dimensions, d);
        for (Py_ssize_t i = 0; i < group->lengths[d]; i++, piece++) {
            piece->source = PyLong_AsLongLong(PyList_GetItem(given, PIECE_NUMBERS * i));
            piece->target = PyLong_AsLongLong(PyList_GetItem(given, PIECE_NUMBERS * i + 1));
            piece->count = PyLong_AsLongLong(PyList_GetItem(given, PIECE_NUMBERS * i + 2));
            piece->number = PyLong_AsLongLong(PyList_GetItem(given, PIECE_NUMBERS * i + 3));
        }
    }
    return !PyErr_Occurred();
}

/* Parses the place of stored bytes: the descriptor of an open file, or a buffer, which the caller releases if it has an
 * object. 0 with an exception. */
static int parse_source(PyObject *given, struct source *source, Py_buffer *memory) {
    if (PyLong_Check(given)) {
        source->file = (int)PyLong_AsLong(given);
        return !PyErr_Occurred();
    }
    if (PyObject_GetBuffer(given, memory, PyBUF_SIMPLE) != 0) return 0;
    source->memory = memory->buf != NULL ? memory->buf : "";
    source->size = (int64_t)memory->len;
    return 1;
}

/* Parses one group of `read`; 0 with an exception. The caller frees it in both cases. */
static int parse_group(PyObject *given, int rank, size_t first, struct group *group) {
    PyObject *files, *dimensions, *entries;
    long long target;
    if (!PyArg_ParseTuple(given, "OLO!O", &files, &target, &PyTuple_Type, &dimensions, &entries)) return 0;
    group->target = target;
    group->first = first;
    if (!parse_pieces(dimensions, rank, group)) return 0;
    if (!PyList_Check(files)) {
        if (!parse_source(files, &group->shard, &group->memory)) return 0;
        if (PyObject_GetBuffer(entries, &group->buffer, PyBUF_SIMPLE) != 0) return 0;
        group->entries = group->buffer.buf;
        group->entry_count = (size_t)group->buffer.len / (2 * sizeof(uint64_t));
        return 1;
    }
    if (PyList_Size(files) != (Py_ssize_t)group->count) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "wrong number of paths");
        return 0;
    }
    group->paths = calloc(group->count + 1, sizeof(char *));
    if (group->paths == NULL) {
        PyErr_NoMemory();
        return 0;
    }
    for (size_t i = 0; i < group->count; i++)
        if ((group->paths[i] = parse_path(PyList_GetItem(files, (Py_ssize_t)i))) == NULL) return 0;
    return 1;
}

/* Sets the fields that `read` and `take` share. */
static void init_plan(struct read_plan *plan, enum status (*act)(struct scratch *, const struct work *, size_t),
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
             "read(groups, flags, status, codec, decoded, limit, itemsize, source_strides, target_strides, target,\n"
             "     low, high, threads, gathered, source_offsets, target_offsets)\n"
             "Reads chunks in up to `threads` threads. A group covers all combinations of pieces, one per dimension.\n"
             "It is a tuple of: the paths of the chunks, or a shard as the descriptor of an open file or as a\n"
             "buffer with its bytes; an offset from the address `target`; for each dimension a list with\n"
             "PIECE_NUMBERS integers per piece (offset in the decoded chunk, offset in the target, elements, what it\n"
             "adds to the number of the inner chunk); and for a shard its index, pairs of an offset and a length.\n"
             "Along the dimension `gathered`, unless it is -1, indices select: the first integer of a piece is the\n"
             "position of its first index in the buffers of 64-bit offsets, and the second is 0.\n"
             "`status` has one byte per chunk. The kernel reads those that are TO_DO, and sets each to DONE, ABSENT,\n"
             "or UNUSUAL if it leaves the chunk to Python.");

static PyObject *py_read(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *given, *source_strides, *target_strides, *result = NULL;
    Py_buffer status, from, to;
    struct read_plan *plan = calloc(1, sizeof(struct read_plan)); /* on the heap: see `run` */
    struct group *groups = NULL;
    long long decoded, limit, low, high;
    unsigned long long target;
    int codec, threads, other;
    Py_ssize_t itemsize, group_count, parsed = 0;
    size_t chunks = 0;
    if (plan == NULL) return PyErr_NoMemory();
    if (!PyArg_ParseTuple(arguments, "O!iw*iLLnOOKLLiiy*y*", &PyList_Type, &given, &plan->flags, &status, &codec,
                          &decoded, &limit, &itemsize, &source_strides, &target_strides, &target, &low, &high,
                          &threads, &plan->gathered, &from, &to)) {
        free(plan);
        return NULL;
    }
    if (!parse_numbers(source_strides, plan->source_strides, &plan->rank) ||
        !parse_numbers(target_strides, plan->target_strides, &other) || !check_codec(codec))
        goto end;
    group_count = PyList_Size(given);
    groups = calloc((size_t)group_count + 1, sizeof(struct group));
    if (groups == NULL) {
        PyErr_NoMemory();
        goto end;
    }
    for (; parsed < group_count; parsed++) {
        struct group *group = groups + parsed;
        if (!parse_group(PyList_GetItem(given, parsed), plan->rank, chunks, group)) {
            parsed++;
            goto end;
        }
        chunks += group->count;
    }
    if (other != plan->rank || chunks != (size_t)status.len || itemsize < 1 || plan->gathered >= plan->rank ||
        from.len != to.len) {
        PyErr_SetString(PyExc_ValueError, "sizes do not match");
        goto end;
    }
    init_plan(plan, read_item, &status, codec, decoded, limit, itemsize, (uintptr_t)target);
    plan->groups = groups;
    plan->group_count = (size_t)group_count;
    plan->low = low;
    plan->high = high;
    if (plan->gathered >= 0) {
        plan->from = from.buf;
        plan->to = to.buf;
        plan->offset_count = from.len / (Py_ssize_t)sizeof(int64_t);
    }
    if (chunks == 0 || run(&plan->work, threads)) result = Py_NewRef(Py_None);
end:
    free_groups(groups, (size_t)parsed);
    PyBuffer_Release(&from);
    PyBuffer_Release(&to);
    PyBuffer_Release(&status);
    free(plan);
    return result;
}

PyDoc_STRVAR(take_doc,
             "take(chunks, flags, status, codec, decoded, limit, itemsize, stride, target, length, threads)\n"
             "Reads single elements of one-dimensional chunks. Each chunk is a tuple (path, sources, places, count).\n"
             "`sources` are 64-bit indices in the chunk, with a count of -1; or a mask of bytes with `count`\n"
             "bytes that are not 0; or None for the first `count` elements. `places` are 64-bit indices in the target\n"
             "of `length` elements, or one integer, the index of the first of consecutive elements. `status` as for\n"
             "`read`.");

static PyObject *py_take(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *given, *result = NULL;
    Py_buffer status;
    struct read_plan *plan = calloc(1, sizeof(struct read_plan)); /* on the heap: see `run` */
    long long decoded, limit, stride, length;
    unsigned long long target;
    int codec, threads;
    Py_ssize_t itemsize, parsed = 0;
    if (plan == NULL) return PyErr_NoMemory();
    if (!PyArg_ParseTuple(arguments, "O!iw*iLLnLKLi", &PyList_Type, &given, &plan->flags, &status, &codec, &decoded,
                          &limit, &itemsize, &stride, &target, &length, &threads)) {
        free(plan);
        return NULL;
    }
    struct points *points = NULL;
    Py_ssize_t count = PyList_Size(given);
    if (!check_codec(codec)) goto end;
    if (count != status.len || itemsize < 1 || decoded < itemsize || length < 1 ||
        length > INT64_MAX / ((stride < 0 ? -(stride + 1) : stride) + 2 + itemsize)) {
        PyErr_SetString(PyExc_ValueError, "sizes do not match");
        goto end;
    }
    points = calloc((size_t)count + 1, sizeof(struct points));
    if (points == NULL) {
        PyErr_NoMemory();
        goto end;
    }
    for (; parsed < count; parsed++) {
        struct points *some = points + parsed;
        PyObject *path, *sources, *places;
        long long marked;
        if (!PyArg_ParseTuple(PyList_GetItem(given, parsed), "OOOL", &path, &sources, &places, &marked) ||
            (some->path = parse_path(path)) == NULL ||
            (sources != Py_None && PyObject_GetBuffer(sources, &some->sources, PyBUF_SIMPLE) != 0))
            goto end;
        some->whole = sources == Py_None;
        some->masked = marked >= 0;
        if (some->whole && !some->masked) {
            PyErr_SetString(PyExc_ValueError, "sizes do not match");
            goto end;
        }
        some->count = some->masked ? marked : some->sources.len / (Py_ssize_t)sizeof(int64_t);
        if (PyLong_Check(places)) {
            some->first = PyLong_AsLongLong(places);
        } else if (PyObject_GetBuffer(places, &some->places, PyBUF_SIMPLE) != 0 ||
                   some->places.len != some->sources.len || some->masked) {
            if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "sizes do not match");
            parsed++;
            goto end;
        }
        if (PyErr_Occurred()) {
            parsed++;
            goto end;
        }
    }
    init_plan(plan, read_points_item, &status, codec, decoded, limit, itemsize, (uintptr_t)target);
    plan->points = points;
    plan->rank = 1;
    plan->source_strides[0] = itemsize;
    plan->target_strides[0] = stride;
    plan->room = length;
    plan->low = stride < 0 ? (length - 1) * stride : 0;
    plan->high = (stride < 0 ? 0 : (length - 1) * stride) + itemsize;
    if (count == 0 || run(&plan->work, threads)) result = Py_NewRef(Py_None);
end:
    for (Py_ssize_t i = 0; i < parsed; i++) {
        if (points[i].sources.obj != NULL) PyBuffer_Release(&points[i].sources);
        if (points[i].places.obj != NULL) PyBuffer_Release(&points[i].places);
    }
    free(points);
    PyBuffer_Release(&status);
    free(plan);
    return result;
}

/* One chunk: its own file, or `length` bytes at `start` of an open file or of memory. */
struct one_chunk {
    struct read_plan plan;
    struct box box;
    const char *path; /* NULL: use `source` */
    struct source source;
    Py_buffer memory; /* holds the memory of `source` */
    int64_t start, length;
};

/* Parses the file or memory and how to decode it: file, flags, start, length, decoding. 0 with an exception. The caller
 * releases the memory in both cases. */
static int parse_one_chunk(PyObject *const *given, struct one_chunk *one) {
    if (PyUnicode_Check(given[0])) {
        if ((one->path = parse_path(given[0])) == NULL) return 0;
    } else if (!parse_source(given[0], &one->source, &one->memory)) {
        return 0;
    }
    one->plan.flags = (int)PyLong_AsLong(given[1]);
    one->start = PyLong_AsLongLong(given[2]);
    one->length = PyLong_AsLongLong(given[3]);
    char *packed;
    Py_ssize_t size;
    int64_t numbers[DECODING_NUMBERS]; /* codec, decoded, limit, itemsize */
    if (PyErr_Occurred() || PyBytes_AsStringAndSize(given[4], &packed, &size) != 0) return 0;
    if (size != (Py_ssize_t)sizeof numbers) {
        PyErr_SetString(PyExc_ValueError, "sizes do not match");
        return 0;
    }
    memcpy(numbers, packed, sizeof numbers);
    if (numbers[1] < 0 || numbers[3] < 1 || numbers[3] > INT_MAX) {
        PyErr_SetString(PyExc_ValueError, "sizes do not match");
        return 0;
    }
    if (!check_codec(numbers[0])) return 0;
    one->plan.codec = (enum codec)numbers[0];
    one->plan.decoded = numbers[1];
    one->plan.limit = numbers[2];
    one->plan.itemsize = (size_t)numbers[3];
    return 1;
}

/* Sets the target to a buffer that holds exactly the box: contiguous, of any shape, or with the shape of the box and
 * any strides. 0 if its size or shape is another. */
static int set_target(struct read_plan *plan, const struct box *box, const Py_buffer *out) {
    int64_t size = (int64_t)plan->itemsize;
    plan->target = out->buf;
    for (int d = plan->rank - 1; d >= 0; d--) {
        int64_t length = box->shape[d];
        plan->target_strides[d] = size;
        if (length < 1 || size > INT64_MAX / length) return 0;
        size *= length;
    }
    plan->high = size;
    if (out->len != size) return 0;
    if (PyBuffer_IsContiguous(out, 'C')) return 1;
    if (out->ndim != plan->rank || out->itemsize != (Py_ssize_t)plan->itemsize) return 0;
    plan->high = (int64_t)plan->itemsize;
    for (int d = 0; d < plan->rank; d++) {
        if (out->shape[d] != box->shape[d]) return 0;
        plan->target_strides[d] = out->strides[d];
        int64_t reach = (box->shape[d] - 1) * out->strides[d];
        *(reach < 0 ? &plan->low : &plan->high) += reach;
    }
    return 1;
}

PyDoc_STRVAR(read_one_doc,
             "read_one(out, file, flags, start, length, decoding, strides, offset, shape)\n"
             "Reads one chunk into the buffer `out`, in the calling thread. The chunk is the file at a path, or\n"
             "`length` bytes at `start` of an open file (a descriptor) or of a buffer. The elements are a box of\n"
             "`shape`, `strides` bytes apart, from byte `offset` of the decoded chunk on. `decoding` has\n"
             "DECODING_NUMBERS integers of 64 bits: codec, decoded size, largest encoded size and itemsize. Returns\n"
             "the status.");

static PyObject *py_read_one(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    if (count != 9) {
        PyErr_SetString(PyExc_TypeError, "expected 9 arguments");
        return NULL;
    }
    struct one_chunk one = {0};
    int shapes;
    Py_buffer out = {0};
    struct scratch *scratch = NULL;
    PyObject *result = NULL;
    if (!parse_one_chunk(arguments + 1, &one)) goto end;
    one.box.source = PyLong_AsLongLong(arguments[7]);
    if (PyErr_Occurred() || !parse_numbers(arguments[6], one.plan.source_strides, &one.plan.rank) ||
        !parse_numbers(arguments[8], one.box.shape, &shapes) ||
        PyObject_GetBuffer(arguments[0], &out, PyBUF_WRITABLE | PyBUF_STRIDES) != 0)
        goto end;
    scratch = acquire_scratch();
    if (scratch == NULL) {
        PyErr_NoMemory();
    } else if (shapes != one.plan.rank || !set_target(&one.plan, &one.box, &out)) {
        PyErr_SetString(PyExc_ValueError, "sizes do not match");
    } else {
        PyThreadState *state = PyEval_SaveThread();
        enum status status = one.path != NULL
                                 ? read_path(scratch, &one.plan, one.path, &one.box)
                                 : read_open(scratch, &one.plan, &one.source, one.start, one.length, &one.box);
        PyEval_RestoreThread(state);
        result = PyLong_FromLong((long)status);
    }
    release_scratch(scratch);
end:
    if (out.obj != NULL) PyBuffer_Release(&out);
    if (one.memory.obj != NULL) PyBuffer_Release(&one.memory);
    return result;
}

PyDoc_STRVAR(decode_doc,
             "decode(codec, data, size)\n"
             "The decoded bytes of a compressed chunk; None unless there are exactly `size`.");

static PyObject *py_decode(PyObject *module, PyObject *arguments) {
    (void)module;
    int codec;
    Py_buffer data;
    Py_ssize_t size;
    struct read_plan plan = {0};
    if (!PyArg_ParseTuple(arguments, "iy*n", &codec, &data, &size)) return NULL;
    PyObject *result = NULL;
    struct scratch *scratch = acquire_scratch();
    if (!check_codec(codec)) {
    } else if (codec == RAW || size < 1) {
        PyErr_SetString(PyExc_ValueError, "sizes do not match");
    } else if (scratch == NULL) {
        PyErr_NoMemory();
    } else if ((result = PyBytes_FromStringAndSize(NULL, size)) != NULL) {
        plan.codec = (enum codec)codec;
        plan.decoded = (int64_t)size;
        if (!decode(scratch, &plan, data.buf, (int64_t)data.len, PyBytes_AsString(result))) {
            Py_DECREF(result);
            result = Py_NewRef(Py_None);
        }
    }
    release_scratch(scratch);
    PyBuffer_Release(&data);
    return result;
}

PyDoc_STRVAR(find_doc,
             "find(mask, most, threads)\n"
             "How many bytes of a mask are not 0, and their 64-bit indices, or None if there are more than `most`.");

static PyObject *py_find(PyObject *module, PyObject *arguments) {
    (void)module;
    Py_buffer mask;
    long long most;
    int threads;
    if (!PyArg_ParseTuple(arguments, "y*Li", &mask, &most, &threads)) return NULL;
    size_t parts = (size_t)((mask.len + MASK_PART - 1) / MASK_PART);
    PyObject *indices = NULL, *result = NULL;
    struct search *search = calloc(1, sizeof(struct search)); /* on the heap: see `run` */
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
        indices = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(count * (int64_t)sizeof(int64_t)));
        if (indices == NULL) goto end;
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
