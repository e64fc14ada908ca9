/* The loop over chunks, for the plainest of them: files that are opened, read, decoded and placed by several threads,
 * none of which needs the interpreter.
 *
 * Rules of this file:
 * - It does what is usual and nothing else. Whatever is not (a file too long, a frame that does not decode to what is
 *   expected, no memory) is marked UNUSUAL, and the caller does that chunk again in Python, which knows what to say.
 * - It knows nothing of Zarr. A chunk is some bytes of a file, a way to decode them, and a box of elements to copy.
 * - No size that is found in data is trusted: what is written to memory is bounded by what the caller gave room for.
 * - It brings no codec along. Those of the library that Python uses as well are called, by the addresses of their
 *   functions (`use`); without them only chunks that are not compressed are taken.
 */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include <errno.h>
#include <fcntl.h>
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
#include <time.h>
#include <unistd.h>

enum codec { RAW, BLOSC, ZSTD, GZIP };
enum status { DONE, ABSENT, UNUSUAL, TO_DO };

#define UPPER UINT64_C(0x8080808080808080) /* bit of each byte of a word */
#define MOST_DIMENSIONS 64 /* as many as NumPy has */
#define MOST_THREADS 256
#define SLAB ((int64_t)1 << 18)  /* bytes of an uncompressed chunk that are read at once, to stay in the cache */
#define GAP 8192                 /* bytes that are read sooner than another call is made */
#define KEPT_BYTES ((size_t)1 << 22) /* of memory that a worker keeps for the next call */
#define KEPT_WORKERS 8
#define LARGE_PAGE ((size_t)1 << 21)
#define ATTENTION 50000000       /* nanoseconds after which one looks for signals, such as Ctrl-C */

/* -- what is borrowed from other libraries */

static int (*blosc_decompress_ctx)(const void *, void *, size_t, int);
static int (*blosc_compress_ctx)(int, int, size_t, size_t, const void *, void *, size_t, const char *, size_t, int);
static void *(*zstd_create_dctx)(void);
static size_t (*zstd_free_dctx)(void *);
static size_t (*zstd_decompress)(void *, void *, size_t, const void *, size_t);
static void *(*zstd_create_cctx)(void);
static size_t (*zstd_free_cctx)(void *);
static size_t (*zstd_set)(void *, int, int);
static size_t (*zstd_compress)(void *, void *, size_t, const void *, size_t);
static size_t (*zstd_bound)(size_t);
static unsigned (*zstd_is_error)(size_t);
static size_t (*zstd_sizeof_cctx)(const void *);

static void *(*gzip_create_decoder)(void);
static void (*gzip_free_decoder)(void *);
static int (*gzip_decompress)(void *, const void *, size_t, void *, size_t, size_t *, size_t *);
static void *(*gzip_create_encoder)(int);
static void (*gzip_free_encoder)(void *);
static size_t (*gzip_compress)(void *, const void *, size_t, void *, size_t);
static size_t (*gzip_bound)(void *, size_t);

enum { ZSTD_LEVEL = 100, ZSTD_CHECKSUM = 201 }; /* ZSTD_c_compressionLevel, ZSTD_c_checksumFlag */

/* -- workers */

/* What a thread works with; kept from call to call, since new memory costs more than a small read. */
struct worker {
    char *encoded, *decoded;
    size_t encoded_room, decoded_room;
    void *dctx, *cctx, *inflater, *deflater;
    int level; /* of the deflater */
};

/* Taken from and given back under the interpreter's lock. */
static struct worker *idle[KEPT_WORKERS];
static int idle_count;

static void free_worker(struct worker *worker) {
    if (worker == NULL) return;
    if (worker->dctx != NULL) zstd_free_dctx(worker->dctx);
    if (worker->cctx != NULL) zstd_free_cctx(worker->cctx);
    if (worker->inflater != NULL) gzip_free_decoder(worker->inflater);
    if (worker->deflater != NULL) gzip_free_encoder(worker->deflater);
    free(worker->encoded);
    free(worker->decoded);
    free(worker);
}

static struct worker *take_worker(void) {
    return idle_count > 0 ? idle[--idle_count] : calloc(1, sizeof(struct worker));
}

static void give_back(struct worker *worker) {
    if (worker == NULL) return;
    size_t memory = worker->encoded_room + worker->decoded_room;
    if (worker->cctx != NULL) memory += zstd_sizeof_cctx(worker->cctx); /* high levels take many times the chunk */
    if (idle_count == KEPT_WORKERS || memory > KEPT_BYTES)
        free_worker(worker);
    else
        idle[idle_count++] = worker;
}

/* Memory; much of it in large pages, as NumPy takes it, since to touch it for the first time takes long otherwise. */
static char *allocated(size_t size) {
#ifdef MADV_HUGEPAGE
    if (size >= LARGE_PAGE && size <= SIZE_MAX / 2) {
        size_t whole = (size + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
        void *memory = NULL;
        if (posix_memalign(&memory, LARGE_PAGE, whole) != 0) return NULL;
        madvise(memory, whole, MADV_HUGEPAGE);
        return memory;
    }
#endif
    return malloc(size > 0 ? size : 1);
}

/* Room for so many bytes; what lay there is lost. NULL if there is no memory. */
static char *room_for(char **memory, size_t *room, size_t size) {
    if (*memory == NULL || *room < size) {
        free(*memory);
        *room = 0;
        *memory = allocated(size);
        if (*memory != NULL) *room = size;
    }
    return *memory;
}

/* -- boxes */

static void copy_rows(char *target, const int64_t *target_strides, const char *source, const int64_t *source_strides,
                      const int64_t *shape, int rank, size_t run) {
    int64_t count = shape[0], there = target_strides[0], here = source_strides[0];
    if (rank > 1) {
        for (int64_t i = 0; i < count; i++, target += there, source += here)
            copy_rows(target, target_strides + 1, source, source_strides + 1, shape + 1, rank - 1, run);
        return;
    }
#define ROWS(size)                                                                        \
    _Pragma("GCC unroll 8") for (int64_t i = 0; i < count; i++) memcpy(target + i * there, source + i * here, size)
    switch (run) { /* a constant size becomes a plain move */
    case 1: ROWS(1); break;
    case 2: ROWS(2); break;
    case 4: ROWS(4); break;
    case 8: ROWS(8); break;
    case 16: ROWS(16); break;
    case 32: ROWS(32); break;
    case 64: ROWS(64); break;
    case 128: ROWS(128); break;
    default: ROWS(run); break;
    }
#undef ROWS
}

/* How many dimensions, from the first, are left to loop over when all that is contiguous on both sides is one run of
 * `run` bytes. */
static int split_box(const int64_t *target_strides, const int64_t *source_strides, const int64_t *shape, int rank,
                     size_t itemsize, size_t *run) {
    *run = itemsize;
    while (rank > 0 && (shape[rank - 1] == 1 || (target_strides[rank - 1] == (int64_t)*run &&
                                                 source_strides[rank - 1] == (int64_t)*run)))
        *run *= (size_t)shape[--rank];
    return rank;
}

static void copy_box(char *target, const int64_t *target_strides, const char *source, const int64_t *source_strides,
                     const int64_t *shape, int rank, size_t itemsize) {
    size_t run;
    rank = split_box(target_strides, source_strides, shape, rank, itemsize, &run);
    if (rank == 0)
        memcpy(target, source, run);
    else
        copy_rows(target, target_strides, source, source_strides, shape, rank, run);
}

/* From the first byte of a box to behind its last. */
static int64_t span_of(const int64_t *strides, const int64_t *shape, int rank, size_t itemsize) {
    int64_t span = (int64_t)itemsize;
    for (int d = 0; d < rank; d++) span += (shape[d] - 1) * strides[d];
    return span;
}

/* -- reading */

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

/* Single elements of a chunk, by their indices in it, and their places in the target: one after the other from `first`
 * on, or as `places` says. Or by a mask, a byte for each element, of which `count` are not 0. */
struct take {
    const char *path;
    Py_buffer sources, places;
    int64_t first, count;
    int masked;
};

/* Parts of a mask, in which what is not 0 is counted, or listed. */
struct search {
    const unsigned char *mask;
    int64_t length;
    int64_t *counts;  /* of each part; once it is known, where its first one goes */
    int64_t *indices; /* NULL: they are being counted */
};

struct reading {
    const struct group *groups;
    const struct take *takes;    /* instead of groups */
    const struct search *search; /* instead of both */
    size_t group_count, count;
    unsigned char *status;
    enum codec codec;
    int64_t decoded, limit;
    int rank, flags;
    size_t itemsize;
    int64_t source_strides[MOST_DIMENSIONS], target_strides[MOST_DIMENSIONS];
    char *target;
    int64_t low, high; /* offsets between which the target's memory lies */
    atomic_size_t next;
    atomic_int stopped;
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

/* Whether the library may be given a frame: what codecs/blosc_frames.py checks, and that it decodes to `decoded`. */
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
    int64_t inside = box->source + span_of(plan->source_strides, box->shape, plan->rank, plan->itemsize);
    if (box->source < 0 || inside > plan->decoded || first < plan->low || last > plan->high - (int64_t)plan->itemsize)
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

/* A chunk that is a file of its own. */
static enum status read_path(struct worker *worker, const struct reading *plan, const char *path,
                             const struct box *box) {
    int file;
    do {
        file = open(path, plan->flags);
    } while (file < 0 && errno == EINTR);
    if (file < 0) return errno == ENOENT ? ABSENT : UNUSUAL;
    struct stat found;
    enum status status = UNUSUAL;
    if (fstat(file, &found) == 0 && S_ISREG(found.st_mode))
        status = read_open(worker, plan, file, 0, (int64_t)found.st_size, box);
    close(file);
    return status;
}

static enum status read_item(struct worker *worker, const struct reading *plan, size_t item) {
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

static void search_part(const struct search *search, size_t item) {
    int64_t i = (int64_t)item * PART, end = search->length - i < PART ? search->length : i + PART;
    if (search->indices == NULL) {
        int64_t count = 0;
        for (; end - i >= 64; i += 64) count += __builtin_popcountll(marks_of(search->mask + i));
        for (; i < end; i++) count += search->mask[i] != 0;
        search->counts[item] = count;
        return;
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
}

static int take_masked(const struct reading *plan, const struct take *take, const char *chunk) {
    int64_t stride = plan->target_strides[0], length = (int64_t)take->sources.len;
    if (length > plan->decoded / (int64_t)plan->itemsize || take->first < 0 || take->first > plan->high ||
        take->count > plan->high - take->first)
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
    int64_t most = plan->decoded / (int64_t)plan->itemsize, room = plan->high; /* in elements here */
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

static enum status read_take(struct worker *worker, const struct reading *plan, const struct take *take) {
    int file;
    do {
        file = open(take->path, plan->flags);
    } while (file < 0 && errno == EINTR);
    if (file < 0) return errno == ENOENT ? ABSENT : UNUSUAL;
    struct stat found;
    enum status status = UNUSUAL;
    if (fstat(file, &found) == 0 && S_ISREG(found.st_mode))
        status = take_open(worker, plan, take, file, (int64_t)found.st_size);
    close(file);
    return status;
}

static void read_next(struct worker *worker, struct reading *plan, size_t item) {
    if (plan->status[item] != TO_DO) return;
    enum status status = DONE;
    if (plan->search != NULL)
        search_part(plan->search, item);
    else
        status = plan->takes == NULL ? read_item(worker, plan, item) : read_take(worker, plan, plan->takes + item);
    plan->status[item] = (unsigned char)status;
}

/* A thread that helps whoever needs it, and waits for the next one then: to start a thread takes as long as to read a
 * few chunks, and one that has not yet come when the work is done need not be waited for. */
struct helper {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct reading *plan; /* to work on; NULL: nothing */
    struct worker *worker;
    int busy, dismissed;
};

/* Taken from and given back under the interpreter's lock. */
static struct helper *waiting[KEPT_WORKERS];
static int waiting_count;

/* A child has none of its parent's threads. */
static void forget_helpers(void) { waiting_count = 0; }

static void work_on(struct reading *plan, struct worker *worker) {
    size_t item;
    while (!atomic_load_explicit(&plan->stopped, memory_order_relaxed) &&
           (item = atomic_fetch_add(&plan->next, 1)) < plan->count)
        read_next(worker, plan, item);
}

static void *help(void *given) {
    struct helper *helper = given;
    pthread_mutex_lock(&helper->lock);
    while (!helper->dismissed) {
        if (helper->plan == NULL) {
            pthread_cond_wait(&helper->changed, &helper->lock);
            continue;
        }
        struct reading *plan = helper->plan;
        helper->busy = 1;
        pthread_mutex_unlock(&helper->lock);
        work_on(plan, helper->worker);
        pthread_mutex_lock(&helper->lock);
        helper->busy = 0;
        helper->plan = NULL;
        pthread_cond_broadcast(&helper->changed);
    }
    pthread_mutex_unlock(&helper->lock);
    pthread_mutex_destroy(&helper->lock);
    pthread_cond_destroy(&helper->changed);
    free(helper);
    return NULL;
}

/* A thread that waits; NULL if there are to be no more. */
static struct helper *take_helper(void) {
    if (waiting_count > 0) return waiting[--waiting_count];
    struct helper *helper = calloc(1, sizeof(struct helper));
    if (helper == NULL) return NULL;
    pthread_mutex_init(&helper->lock, NULL);
    pthread_cond_init(&helper->changed, NULL);
    sigset_t all, before; /* signals are for threads of Python */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread;
    int failed = pthread_create(&thread, NULL, help, helper);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed) {
        free(helper);
        return NULL;
    }
    pthread_detach(thread);
    return helper;
}

static void tell(struct helper *helper, struct reading *plan, int dismissed) {
    pthread_mutex_lock(&helper->lock);
    helper->plan = plan;
    helper->dismissed = dismissed;
    pthread_cond_broadcast(&helper->changed);
    pthread_mutex_unlock(&helper->lock);
}

/* Waits for what a thread has begun; what it has not is taken back. */
static void await_helper(struct helper *helper) {
    pthread_mutex_lock(&helper->lock);
    while (helper->busy) pthread_cond_wait(&helper->changed, &helper->lock);
    helper->plan = NULL;
    pthread_mutex_unlock(&helper->lock);
}

static void let_go(struct helper *helper) {
    give_back(helper->worker);
    helper->worker = NULL;
    if (waiting_count < KEPT_WORKERS)
        waiting[waiting_count++] = helper;
    else
        tell(helper, NULL, 1);
}

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* The caller's own part, in which it listens to signals. 0 if one of them is an exception. Without the lock. */
static int lead(struct reading *plan, struct worker *worker, PyThreadState **state) {
    int64_t looked = now();
    size_t item;
    while ((item = atomic_fetch_add(&plan->next, 1)) < plan->count) {
        read_next(worker, plan, item);
        if (now() - looked > ATTENTION) {
            PyEval_RestoreThread(*state);
            int failed = PyErr_CheckSignals();
            *state = PyEval_SaveThread();
            if (failed) {
                atomic_store(&plan->stopped, 1);
                return 0;
            }
            looked = now();
        }
    }
    return 1;
}

/* Works on a plan with some threads, the caller's among them. 0 with an exception. */
static int run(struct reading *plan, int threads) {
    struct worker *own = take_worker();
    if (own == NULL) {
        PyErr_NoMemory();
        return 0;
    }
    /* Not on the stack, as little as the plan: when the interpreter ends, a thread that wants its lock is ended where it
     * stands, and its stack goes, while the helpers go on. */
    struct helper **helpers = threads > 1 ? calloc((size_t)threads, sizeof(struct helper *)) : NULL;
    int hired = 0;
    for (; helpers != NULL && hired < threads - 1; hired++) {
        struct helper *helper = take_helper();
        if (helper == NULL) break;
        helpers[hired] = helper;
        if ((helper->worker = take_worker()) == NULL) {
            let_go(helper);
            break;
        }
    }
    PyThreadState *state = PyEval_SaveThread();
    for (int i = 0; i < hired; i++) tell(helpers[i], plan, 0);
    int fine = lead(plan, own, &state);
    for (int i = 0; i < hired; i++) await_helper(helpers[i]);
    PyEval_RestoreThread(state);
    give_back(own);
    for (int i = 0; i < hired; i++) let_go(helpers[i]);
    free(helpers);
    return fine;
}

/* -- from Python */

static int numbers_of(PyObject *tuple, int64_t *numbers, int *count) {
    if (!PyTuple_Check(tuple) || PyTuple_Size(tuple) > MOST_DIMENSIONS) {
        PyErr_SetString(PyExc_TypeError, "expected a tuple of at most 64 integers");
        return 0;
    }
    *count = (int)PyTuple_Size(tuple);
    for (int i = 0; i < *count; i++) {
        numbers[i] = PyLong_AsLongLong(PyTuple_GetItem(tuple, i));
        if (numbers[i] == -1 && PyErr_Occurred()) return 0;
    }
    return 1;
}

static const char *path_of(PyObject *text) {
    Py_ssize_t length;
    const char *path = PyUnicode_AsUTF8AndSize(text, &length);
    if (path != NULL && strlen(path) != (size_t)length) {
        PyErr_SetString(PyExc_ValueError, "embedded null character");
        return NULL;
    }
    return path;
}

static int is_known(int codec) {
    if (codec == RAW || (codec == BLOSC && blosc_decompress_ctx) || (codec == ZSTD && zstd_decompress) ||
        (codec == GZIP && gzip_decompress))
        return 1;
    PyErr_SetString(PyExc_ValueError, "no such codec");
    return 0;
}

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
        if (!take_group(PyList_GetItem(given, taken), plan->rank, plan->count, group)) {
            taken++;
            goto end;
        }
        plan->count += group->count;
    }
    if (other != plan->rank || plan->count != (size_t)status.len || itemsize < 1) {
        PyErr_SetString(PyExc_ValueError, "sizes do not match");
        goto end;
    }
    plan->groups = groups;
    plan->group_count = (size_t)group_count;
    plan->status = status.buf;
    plan->codec = (enum codec)codec;
    plan->decoded = decoded;
    plan->limit = limit;
    plan->itemsize = (size_t)itemsize;
    plan->target = (char *)(uintptr_t)target;
    plan->low = low;
    plan->high = high;
    if (threads > MOST_THREADS) threads = MOST_THREADS;
    if (plan->count == 0 || run(plan, threads)) result = Py_NewRef(Py_None);
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
             "are not 0. `status` as for `read`.");

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
    if (count != status.len || itemsize < 1 || decoded < itemsize) {
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
            (take->path = path_of(path)) == NULL || PyObject_GetBuffer(sources, &take->sources, PyBUF_SIMPLE) != 0)
            goto end;
        take->masked = marked >= 0;
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
    plan->takes = takes;
    plan->count = (size_t)count;
    plan->status = status.buf;
    plan->codec = (enum codec)codec;
    plan->decoded = decoded;
    plan->limit = limit;
    plan->itemsize = (size_t)itemsize;
    plan->target_strides[0] = stride;
    plan->target = (char *)(uintptr_t)target;
    plan->high = length;
    if (threads > MOST_THREADS) threads = MOST_THREADS;
    if (count == 0 || run(plan, threads)) result = Py_NewRef(Py_None);
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
    struct reading plan = {.low = INT64_MIN, .high = INT64_MAX};
    struct box box = {0};
    const char *path = NULL;
    int other, shapes, codec, file = -1;
    if (PyLong_Check(arguments[0]))
        file = (int)PyLong_AsLong(arguments[0]);
    else if ((path = path_of(arguments[0])) == NULL)
        return NULL;
    plan.flags = (int)PyLong_AsLong(arguments[1]);
    int64_t start = PyLong_AsLongLong(arguments[2]), length = PyLong_AsLongLong(arguments[3]);
    codec = (int)PyLong_AsLong(arguments[4]);
    plan.decoded = PyLong_AsLongLong(arguments[5]);
    plan.limit = PyLong_AsLongLong(arguments[6]);
    plan.itemsize = (size_t)PyLong_AsLongLong(arguments[7]);
    box.source = PyLong_AsLongLong(arguments[8]);
    plan.target = (char *)(uintptr_t)PyLong_AsUnsignedLongLong(arguments[12]);
    if (PyErr_Occurred() || !is_known(codec) || !numbers_of(arguments[9], box.shape, &shapes) ||
        !numbers_of(arguments[10], plan.source_strides, &plan.rank) ||
        !numbers_of(arguments[11], plan.target_strides, &other))
        return NULL;
    if (other != plan.rank || shapes != plan.rank) {
        PyErr_SetString(PyExc_ValueError, "sizes do not match");
        return NULL;
    }
    struct worker *worker = take_worker();
    if (worker == NULL) return PyErr_NoMemory();
    plan.codec = (enum codec)codec;
    PyThreadState *state = PyEval_SaveThread();
    enum status status = path == NULL ? read_open(worker, &plan, file, start, length, &box)
                                      : read_path(worker, &plan, path, &box);
    PyEval_RestoreThread(state);
    give_back(worker);
    return PyLong_FromLong((long)status);
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

PyDoc_STRVAR(read_small_doc,
             "read_small(out, file, flags, start, length, codec, decoded, limit, itemsize, strides, offset, shape)\n"
             "`read_one` for a box that fills `out`, a buffer of just its size.");

static PyObject *py_read_small(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    if (count != 12) {
        PyErr_SetString(PyExc_TypeError, "expected 12 arguments");
        return NULL;
    }
    struct reading plan = {0};
    struct box box = {0};
    const char *path = NULL;
    int shapes, file = -1;
    if (PyLong_Check(arguments[1]))
        file = (int)PyLong_AsLong(arguments[1]);
    else if ((path = path_of(arguments[1])) == NULL)
        return NULL;
    plan.flags = (int)PyLong_AsLong(arguments[2]);
    int64_t start = PyLong_AsLongLong(arguments[3]), length = PyLong_AsLongLong(arguments[4]);
    int codec = (int)PyLong_AsLong(arguments[5]);
    plan.decoded = PyLong_AsLongLong(arguments[6]);
    plan.limit = PyLong_AsLongLong(arguments[7]);
    plan.itemsize = (size_t)PyLong_AsLongLong(arguments[8]);
    box.source = PyLong_AsLongLong(arguments[10]);
    if (PyErr_Occurred() || !is_known(codec) || !numbers_of(arguments[9], plan.source_strides, &plan.rank) ||
        !numbers_of(arguments[11], box.shape, &shapes))
        return NULL;
    int64_t size = (int64_t)plan.itemsize;
    for (int d = plan.rank - 1; d >= 0; d--) {
        plan.target_strides[d] = size;
        if (box.shape[d] < 0 || (box.shape[d] > 0 && size > INT64_MAX / box.shape[d])) size = -1;
        if (size < 0) break;
        size *= box.shape[d];
    }
    Py_buffer out;
    if (PyObject_GetBuffer(arguments[0], &out, PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS) != 0) return NULL;
    struct worker *worker = take_worker();
    PyObject *result = NULL;
    if (shapes != plan.rank || out.len != size)
        PyErr_SetString(PyExc_ValueError, "sizes do not match");
    else if (worker == NULL)
        PyErr_NoMemory();
    else {
        plan.codec = (enum codec)codec;
        plan.target = out.buf;
        plan.high = size;
        PyThreadState *state = PyEval_SaveThread();
        enum status status = path == NULL ? read_open(worker, &plan, file, start, length, &box)
                                          : read_path(worker, &plan, path, &box);
        PyEval_RestoreThread(state);
        result = PyLong_FromLong((long)status);
    }
    give_back(worker);
    PyBuffer_Release(&out);
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
    struct reading *plan = calloc(1, sizeof(struct reading)); /* see `run` */
    struct search *search = calloc(1, sizeof(struct search));
    int64_t *counts = calloc(parts + 1, sizeof(int64_t)), count = 0;
    unsigned char *status = malloc(parts + 1);
    if (plan == NULL || search == NULL || counts == NULL || status == NULL) {
        PyErr_NoMemory();
        goto end;
    }
    *search = (struct search){mask.buf, (int64_t)mask.len, counts, NULL};
    plan->search = search;
    plan->count = parts;
    plan->status = status;
    if (threads > MOST_THREADS) threads = MOST_THREADS;
    memset(status, TO_DO, parts + 1);
    if (!run(plan, threads)) goto end;
    for (size_t i = 0; i <= parts; i++) {
        int64_t before = count;
        count += counts[i];
        counts[i] = before;
    }
    if (count <= most) {
        if ((indices = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(count * (int64_t)sizeof(int64_t)))) == NULL) goto end;
        search->indices = (int64_t *)(void *)PyBytes_AsString(indices);
        memset(status, TO_DO, parts + 1);
        atomic_store(&plan->next, 0);
        if (!run(plan, threads)) goto end;
    }
    result = Py_BuildValue("LO", (long long)count, indices == NULL ? Py_None : indices);
end:
    Py_XDECREF(indices);
    free(plan);
    free(search);
    free(counts);
    free(status);
    PyBuffer_Release(&mask);
    return result;
}

/* -- where a key of integers and slices lies */

/* One dimension of an array: how long it is, its chunks and what they hold are; how far apart elements are in what they
 * hold, in bytes; and the share in the number of that within its chunk. */
struct side {
    int64_t length, chunk, inner, stride, share;
};

/* What is taken along a dimension. */
struct extent {
    int64_t start, count;
};

static char *write_number(char *text, int64_t number) {
    char digits[20];
    int count = 0;
    do {
        digits[count++] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    while (count > 0) *text++ = digits[--count];
    return text;
}

static PyObject *name_of(int64_t number) {
    char text[20];
    return PyUnicode_FromStringAndSize(text, write_number(text, number) - text);
}

/* 1 if an item of a key takes something from a dimension, in order; 0 if it is unusual, or takes nothing. */
static int find_extent(PyObject *item, int64_t length, struct extent *extent, int *kept) {
    *kept = 1;
    if (item == NULL) { /* all of it */
        *extent = (struct extent){0, length};
        return length > 0;
    }
    if (PyLong_CheckExact(item)) {
        int overflow;
        long long index = PyLong_AsLongLongAndOverflow(item, &overflow);
        if (index < 0 && !overflow) index += length;
        *extent = (struct extent){index, 1};
        *kept = 0;
        return !overflow && index >= 0 && index < length;
    }
    Py_ssize_t start, stop, step;
    if (Py_TYPE(item) != &PySlice_Type) return 0;
    if (PySlice_Unpack(item, &start, &stop, &step) != 0) {
        if (PyErr_ExceptionMatches(PyExc_TypeError) || PyErr_ExceptionMatches(PyExc_ValueError)) PyErr_Clear();
        return 0;
    }
    extent->count = (int64_t)PySlice_AdjustIndices((Py_ssize_t)length, &start, &stop, step);
    extent->start = (int64_t)start;
    return step == 1 && extent->count > 0;
}

static PyObject *tuple_of(const int64_t *numbers, int count) {
    PyObject *tuple = PyTuple_New(count);
    for (int i = 0; tuple != NULL && i < count; i++) {
        PyObject *number = PyLong_FromLongLong(numbers[i]);
        if (number == NULL || PyTuple_SetItem(tuple, i, number) != 0) Py_CLEAR(tuple);
    }
    return tuple;
}

/* The names of the chunks along a dimension, and the pieces that are taken from them, in the form that `read` takes. */
static int list_pieces(const struct side *side, const struct extent *extent, int64_t far, PyObject **names,
                       PyObject **pieces) {
    int64_t index = extent->start / side->chunk, begin = extent->start % side->chunk, done = 0;
    Py_ssize_t chunks = (Py_ssize_t)((begin + extent->count - 1) / side->chunk + 1), at = 0;
    *names = PyList_New(chunks);
    *pieces = PyList_New(4 * chunks);
    for (; *names != NULL && *pieces != NULL && at < chunks; at++) {
        int64_t most = side->chunk - begin, rest = extent->count - done;
        const int64_t numbers[] = {begin * side->stride, done * far, rest < most ? rest : most, 0};
        PyObject *name = name_of(index++);
        if (name == NULL || PyList_SetItem(*names, at, name) != 0) break;
        for (int i = 0; i < 4; i++) {
            PyObject *number = PyLong_FromLongLong(numbers[i]);
            if (number == NULL || PyList_SetItem(*pieces, 4 * at + i, number) != 0) return 0;
        }
        done += numbers[2];
        begin = 0;
    }
    return *names != NULL && *pieces != NULL && at == chunks;
}

static PyObject *pieces_of(const struct side *sides, const struct extent *extents, const int64_t *strides, int rank,
                           PyObject *counts, PyObject *shape) {
    PyObject *all_names = PyList_New(rank), *all_pieces = PyTuple_New(rank), *result = NULL;
    int d = 0;
    for (; all_names != NULL && all_pieces != NULL && d < rank; d++) {
        PyObject *names, *pieces;
        int fine = list_pieces(sides + d, extents + d, strides[d], &names, &pieces);
        if (names != NULL) PyList_SetItem(all_names, d, names);
        if (pieces != NULL) PyTuple_SetItem(all_pieces, d, pieces);
        if (!fine) break;
    }
    if (all_names != NULL && all_pieces != NULL && d == rank)
        result = PyTuple_Pack(4, counts, shape, all_names, all_pieces);
    Py_XDECREF(all_names);
    Py_XDECREF(all_pieces);
    return result;
}

PyDoc_STRVAR(locate_doc,
             "locate(key, sides, itemsize, separator, most)\n"
             "Where the elements lie that a tuple of integers and slices takes; None if there are none, or if it is not\n"
             "for this. `sides` has five numbers of 64 bits for each dimension: its length, those of a chunk and of what\n"
             "lies in one, how far apart elements are there in bytes, and the share in the number of what lies in one.\n"
             "In one chunk: how many are taken along each dimension, the shape of the result, the name of the chunk, the\n"
             "offset in what lies there, and the number of that. In several, up to `most`, that hold nothing smaller:\n"
             "the same two, the names of the chunks along each dimension, and the pieces as `read` takes them.");

static PyObject *py_locate(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    struct side sides[MOST_DIMENSIONS];
    struct extent extents[MOST_DIMENSIONS];
    int64_t counts[MOST_DIMENSIONS], shape[MOST_DIMENSIONS], strides[MOST_DIMENSIONS];
    char text[MOST_DIMENSIONS * 24], *end = text, *given;
    Py_ssize_t size, separator_size;
    if (count != 5 || !PyTuple_Check(arguments[0])) {
        PyErr_SetString(PyExc_TypeError, "expected a tuple and four other arguments");
        return NULL;
    }
    if (PyBytes_AsStringAndSize(arguments[1], &given, &size) != 0) return NULL;
    int64_t itemsize = PyLong_AsLongLong(arguments[2]), most = PyLong_AsLongLong(arguments[4]);
    const char *separator = PyUnicode_AsUTF8AndSize(arguments[3], &separator_size);
    if (PyErr_Occurred()) return NULL;
    if (size % (Py_ssize_t)sizeof(struct side) != 0 || size > (Py_ssize_t)sizeof sides || separator_size != 1) {
        PyErr_SetString(PyExc_ValueError, "sizes do not match");
        return NULL;
    }
    memcpy(sides, given, (size_t)size);
    int rank = (int)(size / (Py_ssize_t)sizeof(struct side)), visible = 0, several = 0, nested = 0;
    Py_ssize_t keys = PyTuple_Size(arguments[0]);
    if (keys > rank) Py_RETURN_NONE;
    int64_t offset = 0, number = 0, chunks = 1;
    for (int d = 0; d < rank; d++) {
        const struct side *side = sides + d;
        int kept;
        if (side->length > PY_SSIZE_T_MAX || side->chunk < 1 || side->inner < 1 ||
            !find_extent(d < keys ? PyTuple_GetItem(arguments[0], d) : NULL, side->length, extents + d, &kept)) {
            if (PyErr_Occurred()) return NULL;
            Py_RETURN_NONE;
        }
        counts[d] = extents[d].count;
        if (kept) shape[visible++] = counts[d];
        int64_t chunk = extents[d].start / side->chunk, begin = extents[d].start % side->chunk;
        int64_t along = (extents[d].start + counts[d] - 1) / side->chunk - chunk + 1;
        if (along > most / chunks) Py_RETURN_NONE;
        chunks *= along;
        nested |= side->inner != side->chunk;
        number += begin / side->inner * side->share;
        begin %= side->inner;
        several |= begin > side->inner - counts[d];
        offset += begin * side->stride;
        if (d > 0) *end++ = *separator;
        end = write_number(end, chunk);
    }
    if (several && nested) Py_RETURN_NONE;
    for (int d = rank - 1; d >= 0; d--) {
        strides[d] = itemsize;
        if (itemsize < 1 || counts[d] > INT64_MAX / itemsize) Py_RETURN_NONE;
        itemsize *= counts[d];
    }
    PyObject *taken = tuple_of(counts, rank), *result_shape = tuple_of(shape, visible), *result = NULL;
    if (taken != NULL && result_shape != NULL) {
        if (several)
            result = pieces_of(sides, extents, strides, rank, taken, result_shape);
        else
            result = Py_BuildValue("(OOs#LL)", taken, result_shape, text, (Py_ssize_t)(end - text), (long long)offset,
                                   (long long)number);
    }
    Py_XDECREF(taken);
    Py_XDECREF(result_shape);
    return result;
}

/* -- writing */

/* How chunks that are all of one shape become files. */
struct writing {
    const char **paths;
    const int64_t *offsets; /* of each chunk in the source */
    unsigned char *status;
    size_t count;
    enum codec codec;
    const char *source;
    int64_t strides[MOST_DIMENSIONS], shape[MOST_DIMENSIONS], packed[MOST_DIMENSIONS];
    int rank;
    size_t itemsize, size;
    const char *fill; /* NULL: even what holds nothing else is written */
    int level, shuffle, checksum;
    size_t typesize, blocksize;
    const char *compressor;
};

/* Whether memory holds nothing but an element, over and over. */
static int is_filled(const char *chunk, const struct writing *plan) {
    size_t size = plan->itemsize;
    return memcmp(chunk, plan->fill, size) == 0 && memcmp(chunk, chunk + size, plan->size - size) == 0;
}

/* What is stored of a chunk, in the worker's memory or where it is; NULL if that fails. */
static const char *encode(struct worker *worker, const struct writing *plan, const char *chunk, size_t *length) {
    if (plan->codec == RAW) {
        *length = plan->size;
        return chunk;
    }
    if (plan->codec == GZIP && (worker->deflater == NULL || worker->level != plan->level)) {
        if (worker->deflater != NULL) gzip_free_encoder(worker->deflater);
        worker->deflater = gzip_create_encoder(plan->level);
        worker->level = plan->level;
        if (worker->deflater == NULL) return NULL;
    }
    size_t room = plan->codec == BLOSC  ? plan->size + 16
                  : plan->codec == ZSTD ? zstd_bound(plan->size)
                                        : gzip_bound(worker->deflater, plan->size);
    char *data = room_for(&worker->encoded, &worker->encoded_room, room);
    if (data == NULL) return NULL;
    if (plan->codec == BLOSC) {
        int found = blosc_compress_ctx(plan->level, plan->shuffle, plan->typesize, plan->size, chunk, data, room,
                                       plan->compressor, plan->blocksize, 1);
        *length = (size_t)found;
        return found > 0 ? data : NULL;
    }
    if (plan->codec == GZIP) {
        *length = gzip_compress(worker->deflater, chunk, plan->size, data, room);
        return *length > 0 ? data : NULL;
    }
    if (worker->cctx == NULL) worker->cctx = zstd_create_cctx();
    if (worker->cctx == NULL || zstd_is_error(zstd_set(worker->cctx, ZSTD_LEVEL, plan->level)) ||
        zstd_is_error(zstd_set(worker->cctx, ZSTD_CHECKSUM, plan->checksum)))
        return NULL;
    *length = zstd_compress(worker->cctx, data, room, chunk, plan->size);
    return zstd_is_error(*length) ? NULL : data;
}

/* A new file; none is left if that fails. */
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

static enum status write_item(struct worker *worker, const struct writing *plan, size_t item) {
    const char *chunk = plan->source + plan->offsets[item];
    size_t run, length;
    if (plan->codec == BLOSC && plan->size > INT32_MAX - 16) return UNUSUAL; /* more than a frame can hold */
    if (split_box(plan->packed, plan->strides, plan->shape, plan->rank, plan->itemsize, &run) != 0) {
        char *memory = room_for(&worker->decoded, &worker->decoded_room, plan->size);
        if (memory == NULL) return UNUSUAL;
        copy_box(memory, plan->packed, chunk, plan->strides, plan->shape, plan->rank, plan->itemsize);
        chunk = memory;
    }
    if (plan->fill != NULL && is_filled(chunk, plan)) return ABSENT;
    const char *data = encode(worker, plan, chunk, &length);
    return data == NULL ? UNUSUAL : write_file(plan->paths[item], data, length);
}

PyDoc_STRVAR(write_doc,
             "write(paths, source, offsets, shape, strides, itemsize, fill, codec, options)\n"
             "Writes chunks of one shape to new files: from the address `source`, each at its offset. The bytes that\n"
             "say what became of each: 0 where it is written, 1 where it holds nothing but `fill`, if that is not\n"
             "None, and is not written, 2 for what is left to others. `options` are (level,) for gzip, (level, checksum)\n"
             "for Zstandard, (compressor, level, shuffle, blocksize, typesize) for Blosc.");

static PyObject *py_write(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *paths, *offsets, *shape, *strides, *fill, *options, *result = NULL;
    struct writing plan = {0};
    unsigned long long source;
    Py_ssize_t itemsize, typesize = 0, blocksize = 0;
    int codec, other;
    if (!PyArg_ParseTuple(arguments, "O!KO!OOnOiO!", &PyList_Type, &paths, &source, &PyList_Type, &offsets, &shape,
                          &strides, &itemsize, &fill, &codec, &PyTuple_Type, &options) ||
        !is_known(codec) || !numbers_of(shape, plan.shape, &plan.rank) || !numbers_of(strides, plan.strides, &other))
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
    struct worker *worker = take_worker();
    if (places == NULL || plan.paths == NULL || plan.status == NULL || worker == NULL) {
        PyErr_NoMemory();
        goto end;
    }
    for (size_t i = 0; i < plan.count; i++) {
        places[i] = PyLong_AsLongLong(PyList_GetItem(offsets, (Py_ssize_t)i));
        if ((plan.paths[i] = path_of(PyList_GetItem(paths, (Py_ssize_t)i))) == NULL) goto end;
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
    for (size_t i = 0; i < plan.count; i++) plan.status[i] = (unsigned char)write_item(worker, &plan, i);
    PyEval_RestoreThread(state);
    result = PyBytes_FromStringAndSize((const char *)plan.status, (Py_ssize_t)plan.count);
end:
    give_back(worker);
    free(places);
    free(plan.paths);
    free(plan.status);
    return result;
}

PyDoc_STRVAR(write_files_doc,
             "write_files(paths, values)\n"
             "Writes values to new files. The bytes that say what became of each, as for `write`.");

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
    char *became = calloc((size_t)count + 1, 1);
    if (names == NULL || buffers == NULL || became == NULL) {
        PyErr_NoMemory();
        goto end;
    }
    for (; held < count; held++) {
        if ((names[held] = path_of(PyList_GetItem(paths, held))) == NULL ||
            PyObject_GetBuffer(PyList_GetItem(values, held), &buffers[held], PyBUF_SIMPLE) != 0)
            goto end;
    }
    PyThreadState *state = PyEval_SaveThread();
    for (Py_ssize_t i = 0; i < count; i++)
        became[i] = (char)write_file(names[i], buffers[i].buf, (size_t)buffers[i].len);
    PyEval_RestoreThread(state);
    result = PyBytes_FromStringAndSize(became, count);
end:
    for (Py_ssize_t i = 0; i < held; i++) PyBuffer_Release(&buffers[i]);
    free(names);
    free(buffers);
    free(became);
    return result;
}

PyDoc_STRVAR(rename_doc,
             "rename(old, new)\n"
             "Gives files other names, in the place of those that have them. How many were: all, or those before the\n"
             "first that could not be.");

static PyObject *py_rename(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *old, *new;
    if (!PyArg_ParseTuple(arguments, "O!O!", &PyList_Type, &old, &PyList_Type, &new)) return NULL;
    Py_ssize_t count = PyList_Size(old), done = 0;
    if (PyList_Size(new) != count) {
        PyErr_SetString(PyExc_ValueError, "sizes do not match");
        return NULL;
    }
    const char **paths = calloc((size_t)(2 * count) + 1, sizeof(char *));
    if (paths == NULL) return PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < count; i++) {
        if ((paths[2 * i] = path_of(PyList_GetItem(old, i))) == NULL ||
            (paths[2 * i + 1] = path_of(PyList_GetItem(new, i))) == NULL) {
            free(paths);
            return NULL;
        }
    }
    PyThreadState *state = PyEval_SaveThread();
    while (done < count && rename(paths[2 * done], paths[2 * done + 1]) == 0) done++;
    PyEval_RestoreThread(state);
    free(paths);
    return PyLong_FromSsize_t(done);
}

/* -- names under a lock */

/* Directories that are locked now. A child closes its copies, lest a lock outlives a parent that is killed; so nobody
 * opens one unnoticed while somebody forks. */
#define MOST_LOCKED 64
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
static int locked[MOST_LOCKED]; /* one more than the number of the file; 0: free */

static void before_fork(void) { pthread_mutex_lock(&opening); }

static void after_fork(void) { pthread_mutex_unlock(&opening); }

static void after_fork_in_child(void) {
    for (int i = 0; i < MOST_LOCKED; i++) {
        if (locked[i] > 0) close(locked[i] - 1);
        locked[i] = 0;
    }
    pthread_mutex_unlock(&opening);
    forget_helpers();
}

/* Opens a directory, and notes it; its place among those that are, or -1. */
static int open_noted(const char *path) {
    int place = 0;
    pthread_mutex_lock(&opening);
    while (place < MOST_LOCKED && locked[place] != 0) place++;
    int file = place < MOST_LOCKED ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (file >= 0) locked[place] = file + 1;
    pthread_mutex_unlock(&opening);
    return file < 0 ? -1 : place;
}

static void close_noted(int place) {
    pthread_mutex_lock(&opening);
    int file = locked[place] - 1;
    locked[place] = 0;
    pthread_mutex_unlock(&opening);
    flock(file, LOCK_UN); /* closing would do, but for a copy that a child has which is being started just now */
    close(file);
}

/* Whether what lies at a path is in the state that is expected: none at all, or that file of that size and date. */
static int is_as_expected(const char *path, const int64_t *state, int states, int follow) {
    struct stat found;
    if ((follow ? stat(path, &found) : lstat(path, &found)) != 0) return states == 0 && errno == ENOENT;
#ifdef __APPLE__
    const struct timespec *date = &found.st_mtimespec;
#else
    const struct timespec *date = &found.st_mtim;
#endif
    return states == 4 && (int64_t)found.st_dev == state[0] && (int64_t)found.st_ino == state[1] &&
           (int64_t)found.st_size == state[2] && (int64_t)date->tv_sec * 1000000000 + date->tv_nsec == state[3];
}

PyDoc_STRVAR(publish_doc,
             "publish(folder, old, new, state, follow)\n"
             "Gives files other names in their directory, under its lock: the shared side of it, if `state` is None.\n"
             "Else the exclusive one, and only if the first of the new names has that state: a tuple that is empty if\n"
             "there is to be no such file, or has its device, number, size and date in nanoseconds. How many there were:\n"
             "all, or those before the first that could not be; -1 if there was no such lock to be had at once, or what\n"
             "lies there is in another state, as far as can be told.");

static PyObject *py_publish(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *given, *old, *new, *state;
    int64_t numbers[MOST_DIMENSIONS];
    int follow, count = -1;
    if (!PyArg_ParseTuple(arguments, "UO!O!Op", &given, &PyList_Type, &old, &PyList_Type, &new, &state, &follow))
        return NULL;
    const char *folder = path_of(given);
    Py_ssize_t names = PyList_Size(old), done = -1;
    if (folder == NULL || (state != Py_None && !numbers_of(state, numbers, &count))) return NULL;
    if (PyList_Size(new) != names || names < 1 || (count != -1 && names != 1)) {
        PyErr_SetString(PyExc_ValueError, "sizes do not match");
        return NULL;
    }
    const char **paths = calloc((size_t)(2 * names), sizeof(char *));
    if (paths == NULL) return PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < names; i++) {
        if ((paths[2 * i] = path_of(PyList_GetItem(old, i))) == NULL ||
            (paths[2 * i + 1] = path_of(PyList_GetItem(new, i))) == NULL) {
            free(paths);
            return NULL;
        }
    }
    PyThreadState *thread = PyEval_SaveThread();
    int place = open_noted(folder);
    if (place >= 0) {
        if (flock(locked[place] - 1, (count == -1 ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0 &&
            (count == -1 || is_as_expected(paths[1], numbers, count, follow)))
            for (done = 0; done < names && rename(paths[2 * done], paths[2 * done + 1]) == 0;) done++;
        close_noted(place);
    }
    PyEval_RestoreThread(thread);
    free(paths);
    return PyLong_FromSsize_t(done);
}

PyDoc_STRVAR(use_doc, "use(name, addresses)\nTells where the functions of a codec are: `blosc`, `zstd` or `gzip`.");

static PyObject *py_use(PyObject *module, PyObject *arguments) {
    (void)module;
    const char *name;
    PyObject *given;
    if (!PyArg_ParseTuple(arguments, "sO!", &name, &PyTuple_Type, &given)) return NULL;
    /* in the order in which they are given; what is tested before they are used comes last */
    void *blosc[] = {&blosc_compress_ctx, &blosc_decompress_ctx};
    void *zstd[] = {&zstd_create_dctx, &zstd_free_dctx, &zstd_create_cctx, &zstd_free_cctx, &zstd_set,
                    &zstd_compress,    &zstd_bound,     &zstd_is_error,    &zstd_sizeof_cctx, &zstd_decompress};
    void *gzip[] = {&gzip_create_decoder, &gzip_free_decoder, &gzip_create_encoder, &gzip_free_encoder,
                    &gzip_compress,       &gzip_bound,        &gzip_decompress};
    void **places = NULL;
    Py_ssize_t count = 0;
#define KNOWN(codec)                                   \
    if (strcmp(name, #codec) == 0) {                   \
        places = codec;                                \
        count = (Py_ssize_t)(sizeof codec / sizeof *codec); \
    }
    KNOWN(blosc) KNOWN(zstd) KNOWN(gzip)
#undef KNOWN
    if (places == NULL || count != PyTuple_Size(given)) {
        PyErr_SetString(PyExc_ValueError, "another codec, or another number of addresses, is expected");
        return NULL;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        void *address = PyLong_AsVoidPtr(PyTuple_GetItem(given, i));
        if (address == NULL) {
            if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "an address is 0");
            return NULL;
        }
        memcpy(places[i], &address, sizeof address);
    }
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"decode", py_decode, METH_VARARGS, decode_doc},
    {"find", py_find, METH_VARARGS, find_doc},
    {"locate", (PyCFunction)(void (*)(void))py_locate, METH_FASTCALL, locate_doc},
    {"publish", py_publish, METH_VARARGS, publish_doc},
    {"read", py_read, METH_VARARGS, read_doc},
    {"read_one", (PyCFunction)(void (*)(void))py_read_one, METH_FASTCALL, read_one_doc},
    {"read_small", (PyCFunction)(void (*)(void))py_read_small, METH_FASTCALL, read_small_doc},
    {"rename", py_rename, METH_VARARGS, rename_doc},
    {"write", py_write, METH_VARARGS, write_doc},
    {"write_files", py_write_files, METH_VARARGS, write_files_doc},
    {"take", py_take, METH_VARARGS, take_doc},
    {"use", py_use, METH_VARARGS, use_doc},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_kernel", "The loop over chunks, without the interpreter.", -1, methods, NULL, NULL, NULL,
    NULL,
};

PyMODINIT_FUNC PyInit__kernel(void) {
    if (pthread_atfork(before_fork, after_fork, after_fork_in_child) != 0) return PyErr_NoMemory();
    return PyModule_Create(&definition);
}
