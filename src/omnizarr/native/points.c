/* Reads single elements of one-dimensional arrays, by their indices or by a mask; searches masks. */

#define HIGH_BITS UINT64_C(0x8080808080808080) /* the highest bit of each byte of a word */

/* The elements to read from one chunk. `sources` are their indices in the chunk; if `masked`, a mask with one byte per
 * element and `count` bytes that are not 0; if `whole`, unused: the first `count` elements. `places` are their indices
 * in the target; without a buffer, consecutive from `first`. */
struct points {
    const char *path;
    Py_buffer sources, places;
    int64_t first, count;
    int masked, whole;
};

/* Counts the bytes of a mask that are not 0, or lists their indices; each work item is one part of the mask. */
struct search {
    struct work work;
    const unsigned char *mask;
    int64_t length;
    int64_t *counts;  /* of each part; in the second pass, the place of its first index */
    int64_t *indices; /* NULL in the first pass, which counts */
};

static inline uint64_t word_at(const unsigned char *bytes) {
    uint64_t word;
    memcpy(&word, bytes, 8);
    return word;
}

/* One bit for each of 64 bytes, the first byte lowest: whether the byte is not 0. */
static inline uint64_t marks_of(const unsigned char *mask) {
    uint64_t any = 0, marks = 0;
    for (int i = 0; i < 64; i += 8) any |= word_at(mask + i);
    if (any == 0) return 0;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    for (int i = 0; i < 64; i += 8) {
        /* sets the highest bit of each byte that is not 0, then gathers these bits */
        uint64_t word = word_at(mask + i), upper = (((word & ~HIGH_BITS) + ~HIGH_BITS) | word) & HIGH_BITS;
        marks |= (upper >> 7) * UINT64_C(0x0102040810204080) >> 56 << i;
    }
#else
    for (int i = 0; i < 64; i++) marks |= (uint64_t)(mask[i] != 0) << i;
#endif
    return marks;
}

/* Copies the elements where a mask is not 0; 0 if there are not exactly `count`. Copies at most `count`, even if
 * another thread changes the mask meanwhile. */
static inline int copy_marked(const unsigned char *mask, int64_t length, int64_t count, const char *chunk, size_t size,
                              char *target, int64_t stride) {
    int64_t i = 0;
    for (; length - i >= 64; i += 64) {
        uint64_t marks = marks_of(mask + i);
        if (marks == 0) continue;
        count -= __builtin_popcountll(marks);
        if (count < 0) return 0;
        const char *source = chunk + i * (int64_t)size;
        if (marks == UINT64_MAX && stride == (int64_t)size) {
            memcpy(target, source, 64 * size);
            target += 64 * stride;
            continue;
        }
        for (; marks != 0; marks &= marks - 1, target += stride)
            memcpy(target, source + (size_t)__builtin_ctzll(marks) * size, size);
    }
    for (; i < length; i++) {
        if (!mask[i]) continue;
        if (count-- == 0) return 0;
        memcpy(target, chunk + i * (int64_t)size, size);
        target += stride;
    }
    return count == 0;
}

#define MASK_PART ((int64_t)1 << 18) /* bytes of a mask per work item */

static enum status search_part(struct scratch *scratch, const struct work *work, size_t item) {
    (void)scratch;
    const struct search *search = (const struct search *)work;
    int64_t i = (int64_t)item * MASK_PART, end = search->length - i < MASK_PART ? search->length : i + MASK_PART;
    if (search->indices == NULL) {
        int64_t count = 0;
        for (; end - i >= 64; i += 64) count += __builtin_popcountll(marks_of(search->mask + i));
        for (; i < end; i++) count += search->mask[i] != 0;
        search->counts[item] = count;
        return DONE;
    }
    int64_t *place = search->indices + search->counts[item], *const behind = search->indices + search->counts[item + 1];
    for (; i < end; i += 64) {
        uint64_t marks = 0;
        if (end - i >= 64)
            marks = marks_of(search->mask + i);
        else
            for (int64_t k = i; k < end; k++) marks |= (uint64_t)(search->mask[k] != 0) << (k - i);
        for (; marks != 0 && place < behind; marks &= marks - 1) *place++ = i + __builtin_ctzll(marks);
    }
    /* another thread changed the mask after the first pass: the result is meaningless, but initialized */
    while (place < behind) *place++ = 0;
    return DONE;
}

static int copy_masked(const struct read_plan *plan, const struct points *points, const char *chunk) {
    int64_t stride = plan->target_strides[0], length = (int64_t)points->sources.len;
    if (length > plan->decoded / (int64_t)plan->itemsize || points->first < 0 || points->first > plan->room ||
        points->count > plan->room - points->first)
        return 0;
    char *target = plan->target + points->first * stride;
#define COPY(size) return copy_marked(points->sources.buf, length, points->count, chunk, size, target, stride)
    switch (plan->itemsize) { /* memcpy of a constant size compiles to plain moves */
    case 1: COPY(1);
    case 2: COPY(2);
    case 4: COPY(4);
    case 8: COPY(8);
    case 16: COPY(16);
    default: COPY(plan->itemsize);
    }
#undef COPY
}

/* Whether all elements lie in the chunk, and their places in the target. */
static int are_in_bounds(const struct read_plan *plan, const struct points *points) {
    const int64_t *sources = points->sources.buf, *places = points->places.buf;
    int64_t most = plan->decoded / (int64_t)plan->itemsize, room = plan->room;
    for (int64_t i = 0; i < points->count; i++) {
        int64_t source = sources[i], place = places == NULL ? points->first + i : places[i];
        if (source < 0 || source >= most || place < 0 || place >= room) return 0;
    }
    return 1;
}

/* Copies elements from a decoded chunk; 0 if an index is out of bounds. */
static int copy_points(const struct read_plan *plan, const struct points *points, const char *chunk) {
    if (points->masked) return copy_masked(plan, points, chunk);
    const int64_t *sources = points->sources.buf, *places = points->places.buf;
    int64_t size = (int64_t)plan->itemsize, stride = plan->target_strides[0];
    if (!are_in_bounds(plan, points)) return 0;
#define COPY(width)                                                                                     \
    for (int64_t i = 0; i < points->count; i++)                                                           \
    memcpy(plan->target + (places == NULL ? points->first + i : places[i]) * stride, chunk + sources[i] * size, width)
    switch (size) {
    case 1: COPY(1); break;
    case 2: COPY(2); break;
    case 4: COPY(4); break;
    case 8: COPY(8); break;
    case 16: COPY(16); break;
    default: COPY((size_t)size); break;
    }
#undef COPY
    return 1;
}

/* Reads elements one by one from an uncompressed file: faster than reading all of it for a few elements. */
static int read_points(const struct read_plan *plan, const struct points *points,
                       const struct source *source) {
    const int64_t *sources = points->sources.buf, *places = points->places.buf;
    int64_t size = (int64_t)plan->itemsize, stride = plan->target_strides[0];
    if (!are_in_bounds(plan, points)) return 0;
    for (int64_t i = 0; i < points->count; i++) {
        char *target = plan->target + (places == NULL ? points->first + i : places[i]) * stride;
        if (!read_all(source, target, size, sources[i] * size)) return 0;
    }
    return 1;
}

static enum status read_points_open(struct scratch *scratch, const struct read_plan *plan, const struct points *points,
                                    const struct source *source, int64_t length) {
    if (points->whole) {
        if (points->first < 0 || points->first >= plan->room) return UNUSUAL;
        struct box box = {.target = points->first * plan->target_strides[0], .shape = {points->count}};
        return read_open(scratch, plan, source, 0, length, &box);
    }
    if (plan->codec == RAW) {
        if (length != plan->decoded) return UNUSUAL;
        if (!points->masked && points->count < length / MAX_GAP)
            return read_points(plan, points, source) ? DONE : UNUSUAL;
    } else if (length <= 0 || length > plan->limit) {
        return UNUSUAL;
    }
    char *chunk = reserve(&scratch->encoded, &scratch->encoded_capacity, (size_t)length);
    if (chunk == NULL || !read_all(source, chunk, length, 0)) return UNUSUAL;
    if (plan->codec != RAW) {
        const char *data = chunk;
        chunk = reserve(&scratch->decoded, &scratch->decoded_capacity, (size_t)plan->decoded);
        if (chunk == NULL || !decode(scratch, plan, data, length, chunk)) return UNUSUAL;
    }
    return copy_points(plan, points, chunk) ? DONE : UNUSUAL;
}

static enum status read_points_item(struct scratch *scratch, const struct work *work, size_t item) {
    const struct read_plan *plan = (const struct read_plan *)work;
    const struct points *points = plan->points + item;
    int file;
    int64_t length;
    enum status status = open_chunk(points->path, plan->flags, &file, &length);
    if (status == DONE) {
        struct source source = {.file = file};
        status = read_points_open(scratch, plan, points, &source, length);
        close(file);
    }
    return status;
}
