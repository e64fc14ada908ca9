/* Single elements of one dimension: by their indices, or by a mask; and what a mask marks. */

#define UPPER UINT64_C(0x8080808080808080) /* bit of each byte of a word */

/* Single elements of a chunk, by their indices in it, and their places in the target: one after the other from `first`
 * on, or as `places` says. Or by a mask, a byte for each element, of which `count` are not 0; or all of them, up to
 * `count`. */
struct take {
    const char *path;
    Py_buffer sources, places;
    int64_t first, count;
    int masked, whole;
};

/* Parts of a mask, in which what is not 0 is counted, or listed. */
struct search {
    struct work work;
    const unsigned char *mask;
    int64_t length;
    int64_t *counts;  /* of each part; once it is known, where its first one goes */
    int64_t *indices; /* NULL: they are being counted */
};

static inline uint64_t word_at(const unsigned char *bytes) {
    uint64_t word;
    memcpy(&word, bytes, 8);
    return word;
}

/* A bit for each of 64 bytes, the first one lowest: whether it is not 0. */
static inline uint64_t marks_of(const unsigned char *mask) {
    uint64_t any = 0, marks = 0;
    for (int i = 0; i < 64; i += 8) any |= word_at(mask + i);
    if (any == 0) return 0;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    for (int i = 0; i < 64; i += 8) {
        /* the upper bit of each byte that is not 0; then all of them side by side */
        uint64_t word = word_at(mask + i), upper = (((word & ~UPPER) + ~UPPER) | word) & UPPER;
        marks |= (upper >> 7) * UINT64_C(0x0102040810204080) >> 56 << i;
    }
#else
    for (int i = 0; i < 64; i++) marks |= (uint64_t)(mask[i] != 0) << i;
#endif
    return marks;
}

/* Copies the elements where a mask is not 0; 0 if there are not `count` of them. No more are copied, even if somebody
 * changes the mask meanwhile. */
static inline int take_marked(const unsigned char *mask, int64_t length, int64_t count, const char *chunk, size_t size,
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

#define PART ((int64_t)1 << 18) /* bytes of a mask that a thread looks at in one go */

static enum status search_part(struct worker *worker, const struct work *work, size_t item) {
    (void)worker;
    const struct search *search = (const struct search *)work;
    int64_t i = (int64_t)item * PART, end = search->length - i < PART ? search->length : i + PART;
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
    /* somebody has changed the mask since they were counted: what is given then is of no use, but does no harm */
    while (place < behind) *place++ = 0;
    return DONE;
}

static int take_masked(const struct reading *plan, const struct take *take, const char *chunk) {
    int64_t stride = plan->target_strides[0], length = (int64_t)take->sources.len;
    if (length > plan->decoded / (int64_t)plan->itemsize || take->first < 0 || take->first > plan->room ||
        take->count > plan->room - take->first)
        return 0;
    char *target = plan->target + take->first * stride;
#define TAKE(size) return take_marked(take->sources.buf, length, take->count, chunk, size, target, stride)
    switch (plan->itemsize) { /* a constant size becomes a plain move */
    case 1: TAKE(1);
    case 2: TAKE(2);
    case 4: TAKE(4);
    case 8: TAKE(8);
    case 16: TAKE(16);
    default: TAKE(plan->itemsize);
    }
#undef TAKE
}

/* Whether all elements are in the chunk, and have a place. */
static int are_inside(const struct reading *plan, const struct take *take) {
    const int64_t *sources = take->sources.buf, *places = take->places.buf;
    int64_t most = plan->decoded / (int64_t)plan->itemsize, room = plan->room;
    for (int64_t i = 0; i < take->count; i++) {
        int64_t source = sources[i], place = places == NULL ? take->first + i : places[i];
        if (source < 0 || source >= most || place < 0 || place >= room) return 0;
    }
    return 1;
}

/* Copies elements from a decoded chunk; 0 if one is not in it, or has no place. */
static int take_elements(const struct reading *plan, const struct take *take, const char *chunk) {
    if (take->masked) return take_masked(plan, take, chunk);
    const int64_t *sources = take->sources.buf, *places = take->places.buf;
    int64_t size = (int64_t)plan->itemsize, stride = plan->target_strides[0];
    if (!are_inside(plan, take)) return 0;
#define TAKE(width)                                                                                     \
    for (int64_t i = 0; i < take->count; i++)                                                           \
    memcpy(plan->target + (places == NULL ? take->first + i : places[i]) * stride, chunk + sources[i] * size, width)
    switch (size) {
    case 1: TAKE(1); break;
    case 2: TAKE(2); break;
    case 4: TAKE(4); break;
    case 8: TAKE(8); break;
    case 16: TAKE(16); break;
    default: TAKE((size_t)size); break;
    }
#undef TAKE
    return 1;
}

/* The same from an uncompressed file, of which so little is wanted that it is not read as a whole. */
static int pick_elements(const struct reading *plan, const struct take *take, int file) {
    const int64_t *sources = take->sources.buf, *places = take->places.buf;
    int64_t size = (int64_t)plan->itemsize, stride = plan->target_strides[0];
    if (!are_inside(plan, take)) return 0;
    for (int64_t i = 0; i < take->count; i++) {
        char *target = plan->target + (places == NULL ? take->first + i : places[i]) * stride;
        if (!read_all(file, target, size, sources[i] * size)) return 0;
    }
    return 1;
}

static enum status take_open(struct worker *worker, const struct reading *plan, const struct take *take, int file,
                             int64_t length) {
    if (take->whole) {
        if (take->first < 0 || take->first >= plan->room) return UNUSUAL;
        struct box box = {.target = take->first * plan->target_strides[0], .shape = {take->count}};
        return read_open(worker, plan, file, 0, length, &box);
    }
    if (plan->codec == RAW) {
        if (length != plan->decoded) return UNUSUAL;
        if (!take->masked && take->count < length / GAP) return pick_elements(plan, take, file) ? DONE : UNUSUAL;
    } else if (length <= 0 || length > plan->limit) {
        return UNUSUAL;
    }
    char *chunk = room_for(&worker->encoded, &worker->encoded_room, (size_t)length);
    if (chunk == NULL || !read_all(file, chunk, length, 0)) return UNUSUAL;
    if (plan->codec != RAW) {
        const char *data = chunk;
        chunk = room_for(&worker->decoded, &worker->decoded_room, (size_t)plan->decoded);
        if (chunk == NULL || !decode(worker, plan, data, length, chunk)) return UNUSUAL;
    }
    return take_elements(plan, take, chunk) ? DONE : UNUSUAL;
}

static enum status read_take(struct worker *worker, const struct work *work, size_t item) {
    const struct reading *plan = (const struct reading *)work;
    const struct take *take = plan->takes + item;
    int file;
    int64_t length;
    enum status status = open_chunk(take->path, plan->flags, &file, &length);
    if (status == DONE) {
        status = take_open(worker, plan, take, file, length);
        close(file);
    }
    return status;
}
