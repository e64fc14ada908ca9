/* Chunks, or inner chunks of an open file: read, decoded and placed, one at a time. */

#define SLAB ((int64_t)1 << 18) /* bytes of an uncompressed chunk that are read at once, to stay in the cache */
#define GAP 8192 /* bytes that are read sooner than another call is made */

/* A chunk along one dimension: where the box begins in it and in the block, in bytes; how many elements are taken; and
 * its share in the number of the chunk within its shard. */
struct piece {
    int64_t source, target, count, number;
};

/* Chunks that are all combinations of pieces, one of each dimension: files of their own, or parts of one open file. */
struct group {
    const char **paths; /* NULL: they are parts of */
    int file;
    const uint64_t *entries; /* where each part begins, and how long it is */
    size_t entry_count;
    Py_buffer buffer; /* which the entries are in */
    int64_t target;
    struct piece *pieces; /* of all dimensions */
    int64_t lengths[MOST_DIMENSIONS];
    size_t first, count; /* of its chunks among those of all groups */
};

struct take;

struct reading {
    struct work work;
    const struct group *groups;
    size_t group_count;
    const struct take *takes; /* instead of groups */
    enum codec codec;
    int64_t decoded, limit;
    int rank, flags;
    size_t itemsize;
    int64_t source_strides[MOST_DIMENSIONS], target_strides[MOST_DIMENSIONS];
    char *target;
    int64_t low, high; /* offsets between which the target's memory lies */
    int64_t room;      /* elements of the target, of takes */
};

/* One of the combinations. */
struct box {
    int64_t source, target, number;
    int64_t shape[MOST_DIMENSIONS];
};

static int read_all(int file, char *target, int64_t length, int64_t start) {
    while (length > 0) {
        ssize_t found = pread(file, target, (size_t)length, (off_t)start);
        if (found < 0 && errno == EINTR) continue;
        if (found <= 0) return 0;
        target += found;
        start += found;
        length -= found;
    }
    return 1;
}

/* An uncompressed chunk, whose elements begin at `start`: no more of it is read than is wanted, gaps included. */
static enum status read_raw(struct worker *worker, const struct reading *plan, int file, int64_t start, char *target,
                            const int64_t *shape) {
    size_t run;
    if (split_box(plan->target_strides, plan->source_strides, shape, plan->rank, plan->itemsize, &run) == 0)
        return read_all(file, target, (int64_t)run, start) ? DONE : UNUSUAL;
    /* Slab by slab along the first dimension: each is still in the cache when it is copied, and what lies between
     * distant ones is not read. */
    int64_t stride = plan->source_strides[0], count = shape[0];
    int64_t slab = span_of(plan->source_strides + 1, shape + 1, plan->rank - 1, plan->itemsize);
    int64_t together = stride - slab > GAP || stride <= 0 ? 1 : 1 + (SLAB > slab ? (SLAB - slab) / stride : 0);
    if (together > count) together = count;
    char *memory = room_for(&worker->encoded, &worker->encoded_room, (size_t)((together - 1) * stride + slab));
    if (memory == NULL) return UNUSUAL;
    int64_t part[MOST_DIMENSIONS];
    memcpy(part, shape, sizeof(int64_t) * (size_t)plan->rank);
    for (int64_t done = 0; done < count; done += together) {
        part[0] = count - done < together ? count - done : together;
        if (!read_all(file, memory, (part[0] - 1) * stride + slab, start + done * stride)) return UNUSUAL;
        copy_box(target + done * plan->target_strides[0], plan->target_strides, memory, plan->source_strides, part,
                 plan->rank, plan->itemsize);
    }
    return DONE;
}

static uint32_t little(const unsigned char *bytes) {
    return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

/* Whether the library may be given a frame: what codecs/bytes_to_bytes/blosc_frames.py checks, and that it decodes to `decoded`. */
static int is_sound_blosc(const unsigned char *frame, int64_t length, int64_t decoded) {
    if (length < 16 || frame[0] != 2 || (int64_t)little(frame + 12) != length || (int64_t)little(frame + 4) != decoded)
        return 0;
    uint32_t block = little(frame + 8), typesize = frame[3];
    int splits = !(frame[2] & 0x12) && typesize > 0 && typesize <= 16 && block / typesize >= 128;
    return decoded > 0 && decoded <= INT32_MAX - 16 && (!splits || block % typesize == 0);
}

static int decode(struct worker *worker, const struct reading *plan, const char *data, int64_t length, char *target) {
    int64_t found = -1;
    if (plan->codec == BLOSC) {
        if (is_sound_blosc((const unsigned char *)data, length, plan->decoded))
            found = blosc_decompress_ctx(data, target, (size_t)plan->decoded, 1);
    } else if (plan->codec == GZIP) { /* a single member, and nothing behind it */
        size_t used = 0, made = 0;
        if (worker->inflater == NULL) worker->inflater = gzip_create_decoder();
        if (worker->inflater != NULL &&
            gzip_decompress(worker->inflater, data, (size_t)length, target, (size_t)plan->decoded, &used, &made) == 0 &&
            used == (size_t)length)
            found = (int64_t)made;
    } else {
        if (worker->dctx == NULL) worker->dctx = zstd_create_dctx();
        if (worker->dctx != NULL && length > 0) {
            size_t result = zstd_decompress(worker->dctx, target, (size_t)plan->decoded, data, (size_t)length);
            found = zstd_is_error(result) ? -1 : (int64_t)result;
        }
    }
    return found == plan->decoded;
}

/* A chunk of `length` bytes at `start` in an open file. */
static enum status read_open(struct worker *worker, const struct reading *plan, int file, int64_t start, int64_t length,
                             const struct box *box) {
    int64_t first = box->target, last = box->target;
    for (int d = 0; d < plan->rank; d++) {
        int64_t stride = plan->source_strides[d];
        if (box->shape[d] < 1 || stride < 0) return UNUSUAL;
        if (box->shape[d] > 1 && (stride == 0 || box->shape[d] - 1 > plan->decoded / stride))
            return UNUSUAL; /* before the sums below become too large for what they are counted in */
        int64_t reach = (box->shape[d] - 1) * plan->target_strides[d];
        *(reach < 0 ? &first : &last) += reach;
    }
    if (box->source < 0 || box->source > plan->decoded || start < 0 || start > INT64_MAX - plan->decoded) return UNUSUAL;
    int64_t inside = box->source + span_of(plan->source_strides, box->shape, plan->rank, plan->itemsize);
    if (inside > plan->decoded || first < plan->low || last > plan->high - (int64_t)plan->itemsize)
        return UNUSUAL; /* a mistake of the caller's, but not one to damage memory with */
    char *target = plan->target + box->target;
    if (plan->codec == RAW)
        return length == plan->decoded ? read_raw(worker, plan, file, start + box->source, target, box->shape) : UNUSUAL;
    if (length > plan->limit || length <= 0) return UNUSUAL;
    char *data = room_for(&worker->encoded, &worker->encoded_room, (size_t)length);
    if (data == NULL || !read_all(file, data, length, start)) return UNUSUAL;
    size_t run;
    if (split_box(plan->target_strides, plan->source_strides, box->shape, plan->rank, plan->itemsize, &run) == 0 &&
        (int64_t)run == plan->decoded)
        return decode(worker, plan, data, length, target) ? DONE : UNUSUAL; /* straight to its place */
    char *chunk = room_for(&worker->decoded, &worker->decoded_room, (size_t)plan->decoded);
    if (chunk == NULL || !decode(worker, plan, data, length, chunk)) return UNUSUAL;
    copy_box(target, plan->target_strides, chunk + box->source, plan->source_strides, box->shape, plan->rank,
             plan->itemsize);
    return DONE;
}

/* Opens a file that holds a chunk, which the caller closes, and says how long it is; if that is not DONE, there is none. */
static enum status open_chunk(const char *path, int flags, int *file, int64_t *length) {
    do {
        *file = open(path, flags);
    } while (*file < 0 && errno == EINTR);
    if (*file < 0) return errno == ENOENT ? ABSENT : UNUSUAL;
    struct stat found;
    if (fstat(*file, &found) == 0 && S_ISREG(found.st_mode)) {
        *length = (int64_t)found.st_size;
        return DONE;
    }
    close(*file);
    return UNUSUAL;
}

/* A chunk that is a file of its own. */
static enum status read_path(struct worker *worker, const struct reading *plan, const char *path,
                             const struct box *box) {
    int file;
    int64_t length;
    enum status status = open_chunk(path, plan->flags, &file, &length);
    if (status == DONE) {
        status = read_open(worker, plan, file, 0, length, box);
        close(file);
    }
    return status;
}

static enum status read_item(struct worker *worker, const struct work *work, size_t item) {
    const struct reading *plan = (const struct reading *)work;
    size_t low = 0, high = plan->group_count; /* whose chunk it is */
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        *(plan->groups[middle].first <= item ? &low : &high) = middle;
    }
    const struct group *group = plan->groups + low;
    int64_t place = (int64_t)(item - group->first), rest = place;
    struct box box = {.target = group->target};
    const struct piece *pieces = group->pieces;
    for (int d = 0; d < plan->rank; d++) pieces += group->lengths[d];
    for (int d = plan->rank - 1; d >= 0; d--) {
        pieces -= group->lengths[d];
        const struct piece *piece = pieces + rest % group->lengths[d];
        rest /= group->lengths[d];
        box.source += piece->source;
        box.target += piece->target;
        box.number += piece->number;
        box.shape[d] = piece->count;
    }
    if (group->paths != NULL) return read_path(worker, plan, group->paths[place], &box);
    if (box.number < 0 || (size_t)box.number >= group->entry_count) return UNUSUAL;
    uint64_t start = group->entries[2 * box.number], length = group->entries[2 * box.number + 1];
    if (start == UINT64_MAX && length == UINT64_MAX) return ABSENT;
    if (start > INT64_MAX || length > INT64_MAX) return UNUSUAL;
    return read_open(worker, plan, group->file, (int64_t)start, (int64_t)length, &box);
}
