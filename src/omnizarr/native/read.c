/* Reads, decodes and places one chunk, or one inner chunk of an open shard. */

#define SLAB_BYTES ((int64_t)1 << 18) /* read at once from an uncompressed chunk, so that they stay in the CPU cache */
#define MAX_GAP 8192 /* bytes; reading and skipping so many is faster than another call */
#define BLOSC_MEMCPYED 0x02 /* flag of a Blosc frame: stored without compression */

/* What is read of one chunk along one dimension: its offset in the decoded chunk and in the block, in bytes; how many
 * elements; and what this dimension adds to the number of the inner chunk in its shard. */
struct piece {
    int64_t source, target, count, number;
};

/* Where stored bytes are: in an open file, or in memory. */
struct source {
    int file;
    const char *memory; /* NULL: in the file */
    int64_t size;       /* of the memory */
};

/* All combinations of pieces, one per dimension: chunks in their own files, or inner chunks of one shard. */
struct group {
    const char **paths; /* NULL: the chunks are inner chunks of `shard` */
    struct source shard;
    const char *entries; /* shard index: offset and length of each inner chunk, at any address */
    size_t entry_count;
    Py_buffer buffer, memory; /* hold `entries` and the memory of `shard` */
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
    /* NULL, or the offsets in the decoded chunk and in the target of the elements that indices take along the dimension
     * `gathered`. The `source` of a piece there is the number of its first offset, and its `target` is 0. */
    const int64_t *from, *to;
    int64_t offset_count;
    int gathered;
    enum codec codec;
    int64_t decoded, limit;
    int rank, flags;
    size_t itemsize;
    int64_t source_strides[MAX_DIMENSIONS], target_strides[MAX_DIMENSIONS];
    char *target;
    int64_t low, high; /* the target's memory, as offsets from `target` */
    int64_t room;      /* elements of the target, if `points` are read */
};

/* One combination of pieces: byte offsets in chunk and target, number of the inner chunk, elements per dimension. If
 * `plan->from` is set: the first of `repeats` offsets; the box lies at each of them. */
struct box {
    int64_t source, target, number;
    int64_t first, repeats;
    int64_t shape[MAX_DIMENSIONS];
};

/* A pointer to `length` bytes at `start` of memory; NULL if they are not there, or if the source is a file. */
static const char *bytes_in_memory(const struct source *source, int64_t length, int64_t start) {
    if (source->memory == NULL || start < 0 || length < 0 || start > source->size || length > source->size - start)
        return NULL;
    return source->memory + start;
}

/* Reads exactly `length` bytes; 0 if that fails. */
static int read_all(const struct source *source, char *target, int64_t length, int64_t start) {
    if (source->memory != NULL) {
        const char *bytes = bytes_in_memory(source, length, start);
        if (bytes != NULL) memcpy(target, bytes, (size_t)length);
        return bytes != NULL;
    }
    while (length > 0) {
        ssize_t count = pread(source->file, target, (size_t)length, (off_t)start);
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
static enum status read_raw(struct scratch *scratch, const struct read_plan *plan, const struct source *source,
                            int64_t start, char *target, const int64_t *shape) {
    size_t run;
    if (source->memory != NULL) {
        int64_t span = span_of(plan->source_strides, shape, plan->rank, plan->itemsize);
        const char *elements = bytes_in_memory(source, span, start);
        if (elements == NULL) return UNUSUAL;
        copy_box(target, plan->target_strides, elements, plan->source_strides, shape, plan->rank, plan->itemsize);
        return DONE;
    }
    int rest = split_box(plan->target_strides, plan->source_strides, shape, plan->rank, plan->itemsize, &run);
    if (rest == 0) return read_all(source, target, (int64_t)run, start) ? DONE : UNUSUAL;
    /* Slab by slab along the first dimension: each is still in the CPU cache when it is copied, and gaps between
     * distant slabs are not read. */
    int64_t stride = plan->source_strides[0], count = shape[0];
    int64_t slab = span_of(plan->source_strides + 1, shape + 1, plan->rank - 1, plan->itemsize);
    int64_t together = 1;
    if (stride > 0 && stride - slab <= MAX_GAP && SLAB_BYTES > slab) together += (SLAB_BYTES - slab) / stride;
    if (together > count) together = count;
    if (together == 1 && rest == 1) { /* each slab is contiguous, and also in the target */
        for (int64_t i = 0; i < count; i++)
            if (!read_all(source, target + i * plan->target_strides[0], (int64_t)run, start + i * stride))
                return UNUSUAL;
        return DONE;
    }
    char *memory = reserve(&scratch->encoded, &scratch->encoded_capacity, (size_t)((together - 1) * stride + slab));
    if (memory == NULL) return UNUSUAL;
    int64_t part[MAX_DIMENSIONS];
    memcpy(part, shape, sizeof(int64_t) * (size_t)plan->rank);
    for (int64_t done = 0; done < count; done += together) {
        part[0] = count - done < together ? count - done : together;
        if (!read_all(source, memory, (part[0] - 1) * stride + slab, start + done * stride)) return UNUSUAL;
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
    int splits = !(frame[2] & (0x10 | BLOSC_MEMCPYED)) && typesize > 0 && typesize <= 16 && block / typesize >= 128;
    return decoded > 0 && decoded <= INT32_MAX - 16 && (!splits || block % typesize == 0);
}

/* Decodes a Blosc frame; 0 unless it yields exactly `decoded` bytes. */
static int decode_blosc(const void *frame, int64_t length, int64_t decoded, char *target) {
    return is_valid_blosc(frame, length, decoded) &&
           blosc_decompress_ctx(frame, target, (size_t)decoded, 1) == decoded;
}

/* Decodes a chunk; 0 unless it yields exactly `plan->decoded` bytes. */
static int decode(struct scratch *scratch, const struct read_plan *plan, const char *data, int64_t length,
                  char *target) {
    if (plan->codec == BLOSC) return decode_blosc(data, length, plan->decoded, target);
    int64_t size = -1;
    if (plan->codec == GZIP) { /* exactly one member, without trailing bytes */
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

/* Whether a box lies inside the decoded chunk and inside the target. */
static int is_in_bounds(const struct read_plan *plan, const struct box *box) {
    int64_t first = box->target, last = box->target;
    for (int d = 0; d < plan->rank; d++) {
        int64_t stride = plan->source_strides[d];
        if (box->shape[d] < 1 || stride < 0) return 0;
        if (box->shape[d] > 1 && (stride == 0 || box->shape[d] - 1 > plan->decoded / stride))
            return 0; /* prevents overflow of the sums below */
        int64_t reach = (box->shape[d] - 1) * plan->target_strides[d];
        *(reach < 0 ? &first : &last) += reach;
    }
    if (box->source < 0 || box->source > plan->decoded) return 0;
    int64_t inside = box->source + span_of(plan->source_strides, box->shape, plan->rank, plan->itemsize);
    return inside <= plan->decoded && first >= plan->low && last <= plan->high - (int64_t)plan->itemsize;
}

/* The bytes of a chunk, decoded unless that is left to the caller, in memory of `scratch` or of the source. NULL if that
 * fails. */
static const char *load(struct scratch *scratch, const struct read_plan *plan, const struct source *source,
                        int64_t start, int64_t length, int decoding) {
    const char *data = bytes_in_memory(source, length, start);
    if (data == NULL) {
        char *memory = reserve(&scratch->encoded, &scratch->encoded_capacity, (size_t)length);
        if (memory == NULL || !read_all(source, memory, length, start)) return NULL;
        data = memory;
    }
    if (!decoding || plan->codec == RAW) return data;
    char *chunk = reserve(&scratch->decoded, &scratch->decoded_capacity, (size_t)plan->decoded);
    return chunk != NULL && decode(scratch, plan, data, length, chunk) ? chunk : NULL;
}

/* In scatter.c. */
static enum status scatter_rows(struct scratch *scratch, const struct source *source, int64_t start, char *target,
                                const int64_t *from, const int64_t *to, int64_t count, int64_t length);

/* Reads a box at each of its offsets: the elements that indices take along one dimension. The chunk is decoded once. */
static enum status read_gathered(struct scratch *scratch, const struct read_plan *plan, const struct source *source,
                                 int64_t start, int64_t length, const struct box *box) {
    if (box->first < 0 || box->repeats < 1 || box->repeats > plan->offset_count - box->first || box->source < 0 ||
        box->source > plan->decoded || box->target < plan->low || box->target > plan->high)
        return UNUSUAL;
    const int64_t *from = plan->from + box->first, *to = plan->to + box->first;
    for (int64_t i = 0; i < box->repeats; i++) { /* no sum overflows: all offsets are inside the memory */
        struct box one = *box;
        if (from[i] < 0 || from[i] > plan->decoded || to[i] < plan->low || to[i] > plan->high) return UNUSUAL;
        one.source += from[i];
        one.target += to[i];
        if (!is_in_bounds(plan, &one)) return UNUSUAL;
    }
    char *target = plan->target + box->target;
    int64_t span = span_of(plan->source_strides, box->shape, plan->rank, plan->itemsize);
    if (plan->codec == RAW && box->repeats < plan->decoded / (span + MAX_GAP)) { /* few: read nothing between them */
        for (int64_t i = 0; i < box->repeats; i++)
            if (read_raw(scratch, plan, source, start + box->source + from[i], target + to[i], box->shape) != DONE)
                return UNUSUAL;
        return DONE;
    }
    size_t run;
    int rank = split_box(plan->target_strides, plan->source_strides, box->shape, plan->rank, plan->itemsize, &run);
    if (plan->codec == RAW && rank == 0) {
        enum status status =
            scatter_rows(scratch, source, start + box->source, target, from, to, box->repeats, (int64_t)run);
        if (status != TO_DO) return status;
    }
    const char *chunk = load(scratch, plan, source, start, length, 1);
    if (chunk == NULL) return UNUSUAL;
    chunk += box->source;
    for (int64_t i = 0; i < box->repeats; i++) {
        if (rank == 0)
            memcpy(target + to[i], chunk + from[i], run);
        else
            copy_rows(target + to[i], plan->target_strides, chunk + from[i], plan->source_strides, box->shape, rank,
                      run);
    }
    return DONE;
}

/* In blosc_parts.c. */
static enum status read_blosc_part(struct scratch *scratch, const struct read_plan *plan, const struct source *source,
                                   int64_t start, int64_t length, int64_t span, const struct box *box);

/* Reads a box of the chunk that is `length` bytes at `start` of an open file or of memory. */
static enum status read_open(struct scratch *scratch, const struct read_plan *plan, const struct source *source,
                             int64_t start, int64_t length, const struct box *box) {
    if (start < 0 || start > INT64_MAX - plan->decoded) return UNUSUAL;
    if (plan->codec == RAW ? length != plan->decoded : length > plan->limit || length <= 0) return UNUSUAL;
    if (plan->from != NULL) return read_gathered(scratch, plan, source, start, length, box);
    if (!is_in_bounds(plan, box)) return UNUSUAL; /* a bug in the caller; prevents writing outside the target */
    char *target = plan->target + box->target;
    if (plan->codec == RAW) return read_raw(scratch, plan, source, start + box->source, target, box->shape);
    size_t run;
    if (split_box(plan->target_strides, plan->source_strides, box->shape, plan->rank, plan->itemsize, &run) == 0 &&
        (int64_t)run == plan->decoded) { /* directly to its place in the block */
        const char *data = load(scratch, plan, source, start, length, 0);
        return data != NULL && decode(scratch, plan, data, length, target) ? DONE : UNUSUAL;
    }
    if (plan->codec == BLOSC) {
        int64_t span = span_of(plan->source_strides, box->shape, plan->rank, plan->itemsize);
        enum status status = read_blosc_part(scratch, plan, source, start, length, span, box);
        if (status != TO_DO) return status;
    }
    const char *chunk = load(scratch, plan, source, start, length, 1);
    if (chunk == NULL) return UNUSUAL;
    copy_box(target, plan->target_strides, chunk + box->source, plan->source_strides, box->shape, plan->rank,
             plan->itemsize);
    return DONE;
}

/* Opens the file of a chunk. If the result is DONE, the caller must close `*file`, which has `*length` bytes. */
static enum status open_chunk(const char *path, int flags, int *file, int64_t *length) {
    do {
        *file = flags & NO_LINKS ? open_unlinked(path, flags & ~NO_LINKS) : open(path, flags);
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
        struct source source = {.file = file};
        status = read_open(scratch, plan, &source, 0, length, box);
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
        box.number += piece->number;
        if (plan->from != NULL && d == plan->gathered) {
            box.first = piece->source;
            box.repeats = piece->count;
            box.shape[d] = 1;
            continue;
        }
        box.source += piece->source;
        box.target += piece->target;
        box.shape[d] = piece->count;
    }
    if (group->paths != NULL) return read_path(scratch, plan, group->paths[place], &box);
    if (box.number < 0 || (size_t)box.number >= group->entry_count) return UNUSUAL;
    uint64_t entry[2]; /* offset and length */
    memcpy(entry, group->entries + box.number * (int64_t)sizeof entry, sizeof entry);
    if (entry[0] == UINT64_MAX && entry[1] == UINT64_MAX) return ABSENT;
    if (entry[0] > INT64_MAX || entry[1] > INT64_MAX) return UNUSUAL;
    return read_open(scratch, plan, &group->shard, (int64_t)entry[0], (int64_t)entry[1], &box);
}
