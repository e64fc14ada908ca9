/* Reads, decodes and places one chunk, or one inner chunk of an open shard. */

#define SLAB_BYTES ((int64_t)1 << 18) /* read at once from an uncompressed chunk, so that they stay in the CPU cache */
#define MAX_GAP 8192 /* bytes; reading and skipping so many is faster than another call */

/* What is read of one chunk along one dimension: its offset in the decoded chunk and in the block, in bytes; how many
 * elements; and what this dimension adds to the number of the inner chunk in its shard. */
struct piece {
    int64_t source, target, count, number;
};

/* All combinations of pieces, one per dimension: chunks in their own files, or inner chunks of one open shard. */
struct group {
    const char **paths; /* NULL: the chunks are inner chunks of `file` */
    int file;
    const uint64_t *entries; /* shard index: offset and length of each inner chunk */
    size_t entry_count;
    Py_buffer buffer; /* holds `entries` */
    int64_t target;
    struct piece *pieces; /* of all dimensions */
    int64_t lengths[MAX_DIMENSIONS];
    size_t first, count; /* its chunks among the work items of all groups */
};

struct points;

struct read_plan {
    struct work work;
    const struct group *groups;
    size_t group_count;
    const struct points *points; /* instead of groups */
    enum codec codec;
    int64_t decoded, limit;
    int rank, flags;
    size_t itemsize;
    int64_t source_strides[MAX_DIMENSIONS], target_strides[MAX_DIMENSIONS];
    char *target;
    int64_t low, high; /* the target's memory, as offsets from `target` */
    int64_t room;      /* elements of the target, if `points` are read */
};

/* One combination of pieces: byte offsets in chunk and target, number of the inner chunk, elements per dimension. */
struct box {
    int64_t source, target, number;
    int64_t shape[MAX_DIMENSIONS];
};

/* Reads exactly `length` bytes; 0 if that fails. */
static int read_all(int file, char *target, int64_t length, int64_t start) {
    while (length > 0) {
        ssize_t count = pread(file, target, (size_t)length, (off_t)start);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return 0;
        target += count;
        start += count;
        length -= count;
    }
    return 1;
}

/* Reads a box of an uncompressed chunk. `start` is the file offset of its first element. Gaps longer than MAX_GAP are
 * not read. */
static enum status read_raw(struct scratch *scratch, const struct read_plan *plan, int file, int64_t start,
                            char *target, const int64_t *shape) {
    size_t run;
    if (split_box(plan->target_strides, plan->source_strides, shape, plan->rank, plan->itemsize, &run) == 0)
        return read_all(file, target, (int64_t)run, start) ? DONE : UNUSUAL;
    /* Slab by slab along the first dimension: each is still in the CPU cache when it is copied, and gaps between
     * distant slabs are not read. */
    int64_t stride = plan->source_strides[0], count = shape[0];
    int64_t slab = span_of(plan->source_strides + 1, shape + 1, plan->rank - 1, plan->itemsize);
    int64_t together = 1;
    if (stride > 0 && stride - slab <= MAX_GAP && SLAB_BYTES > slab) together += (SLAB_BYTES - slab) / stride;
    if (together > count) together = count;
    char *memory = reserve(&scratch->encoded, &scratch->encoded_capacity, (size_t)((together - 1) * stride + slab));
    if (memory == NULL) return UNUSUAL;
    int64_t part[MAX_DIMENSIONS];
    memcpy(part, shape, sizeof(int64_t) * (size_t)plan->rank);
    for (int64_t done = 0; done < count; done += together) {
        part[0] = count - done < together ? count - done : together;
        if (!read_all(file, memory, (part[0] - 1) * stride + slab, start + done * stride)) return UNUSUAL;
        copy_box(target + done * plan->target_strides[0], plan->target_strides, memory, plan->source_strides, part,
                 plan->rank, plan->itemsize);
    }
    return DONE;
}

static uint32_t little_endian(const unsigned char *bytes) {
    return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

/* Whether the Blosc library can safely decode a frame: the checks of codecs/bytes_to_bytes/blosc_frames.py, and that it
 * declares `decoded` bytes. */
static int is_valid_blosc(const unsigned char *frame, int64_t length, int64_t decoded) {
    if (length < 16 || frame[0] != 2 || (int64_t)little_endian(frame + 12) != length ||
        (int64_t)little_endian(frame + 4) != decoded)
        return 0;
    uint32_t block = little_endian(frame + 8), typesize = frame[3];
    int splits = !(frame[2] & 0x12) && typesize > 0 && typesize <= 16 && block / typesize >= 128;
    return decoded > 0 && decoded <= INT32_MAX - 16 && (!splits || block % typesize == 0);
}

/* Decodes a chunk; 0 unless it yields exactly `plan->decoded` bytes. */
static int decode(struct scratch *scratch, const struct read_plan *plan, const char *data, int64_t length,
                  char *target) {
    int64_t size = -1;
    if (plan->codec == BLOSC) {
        if (is_valid_blosc((const unsigned char *)data, length, plan->decoded))
            size = blosc_decompress_ctx(data, target, (size_t)plan->decoded, 1);
    } else if (plan->codec == GZIP) { /* exactly one member, without trailing bytes */
        size_t used = 0, made = 0;
        if (scratch->inflater == NULL) scratch->inflater = gzip_create_decoder();
        if (scratch->inflater != NULL &&
            gzip_decompress(scratch->inflater, data, (size_t)length, target, (size_t)plan->decoded, &used, &made) ==
                0 &&
            used == (size_t)length)
            size = (int64_t)made;
    } else {
        if (scratch->dctx == NULL) scratch->dctx = zstd_create_dctx();
        if (scratch->dctx != NULL && length > 0) {
            size_t result = zstd_decompress(scratch->dctx, target, (size_t)plan->decoded, data, (size_t)length);
            size = zstd_is_error(result) ? -1 : (int64_t)result;
        }
    }
    return size == plan->decoded;
}

/* Reads a box of the chunk that is `length` bytes at `start` of an open file. */
static enum status read_open(struct scratch *scratch, const struct read_plan *plan, int file, int64_t start,
                             int64_t length, const struct box *box) {
    int64_t first = box->target, last = box->target;
    for (int d = 0; d < plan->rank; d++) {
        int64_t stride = plan->source_strides[d];
        if (box->shape[d] < 1 || stride < 0) return UNUSUAL;
        if (box->shape[d] > 1 && (stride == 0 || box->shape[d] - 1 > plan->decoded / stride))
            return UNUSUAL; /* prevents overflow of the sums below */
        int64_t reach = (box->shape[d] - 1) * plan->target_strides[d];
        *(reach < 0 ? &first : &last) += reach;
    }
    if (box->source < 0 || box->source > plan->decoded || start < 0 || start > INT64_MAX - plan->decoded)
        return UNUSUAL;
    int64_t inside = box->source + span_of(plan->source_strides, box->shape, plan->rank, plan->itemsize);
    if (inside > plan->decoded || first < plan->low || last > plan->high - (int64_t)plan->itemsize)
        return UNUSUAL; /* a bug in the caller; prevents writing outside the target */
    char *target = plan->target + box->target;
    if (plan->codec == RAW)
        return length == plan->decoded ? read_raw(scratch, plan, file, start + box->source, target, box->shape)
                                       : UNUSUAL;
    if (length > plan->limit || length <= 0) return UNUSUAL;
    char *data = reserve(&scratch->encoded, &scratch->encoded_capacity, (size_t)length);
    if (data == NULL || !read_all(file, data, length, start)) return UNUSUAL;
    size_t run;
    if (split_box(plan->target_strides, plan->source_strides, box->shape, plan->rank, plan->itemsize, &run) == 0 &&
        (int64_t)run == plan->decoded)
        return decode(scratch, plan, data, length, target) ? DONE : UNUSUAL; /* directly to its place in the block */
    char *chunk = reserve(&scratch->decoded, &scratch->decoded_capacity, (size_t)plan->decoded);
    if (chunk == NULL || !decode(scratch, plan, data, length, chunk)) return UNUSUAL;
    copy_box(target, plan->target_strides, chunk + box->source, plan->source_strides, box->shape, plan->rank,
             plan->itemsize);
    return DONE;
}

/* Opens the file of a chunk. If the result is DONE, the caller must close `*file`, which has `*length` bytes. */
static enum status open_chunk(const char *path, int flags, int *file, int64_t *length) {
    do {
        *file = open(path, flags);
    } while (*file < 0 && errno == EINTR);
    if (*file < 0) return errno == ENOENT ? ABSENT : UNUSUAL;
    struct stat status;
    if (fstat(*file, &status) == 0 && S_ISREG(status.st_mode)) {
        *length = (int64_t)status.st_size;
        return DONE;
    }
    close(*file);
    return UNUSUAL;
}

/* Reads a box of a chunk in its own file. */
static enum status read_path(struct scratch *scratch, const struct read_plan *plan, const char *path,
                             const struct box *box) {
    int file;
    int64_t length;
    enum status status = open_chunk(path, plan->flags, &file, &length);
    if (status == DONE) {
        status = read_open(scratch, plan, file, 0, length, box);
        close(file);
    }
    return status;
}

/* Reads the chunk that is work item `item` of all groups. */
static enum status read_item(struct scratch *scratch, const struct work *work, size_t item) {
    const struct read_plan *plan = (const struct read_plan *)work;
    size_t low = 0, high = plan->group_count; /* binary search for the group of this chunk */
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
    if (group->paths != NULL) return read_path(scratch, plan, group->paths[place], &box);
    if (box.number < 0 || (size_t)box.number >= group->entry_count) return UNUSUAL;
    uint64_t start = group->entries[2 * box.number], length = group->entries[2 * box.number + 1];
    if (start == UINT64_MAX && length == UINT64_MAX) return ABSENT;
    if (start > INT64_MAX || length > INT64_MAX) return UNUSUAL;
    return read_open(scratch, plan, group->file, (int64_t)start, (int64_t)length, &box);
}
