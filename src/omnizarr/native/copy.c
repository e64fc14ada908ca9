/* Copies boxes of elements between memory with any strides. */

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
    switch (run) { /* memcpy of a constant size compiles to plain moves */
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

/* Merges the last dimensions that are contiguous on both sides into one run of `run` bytes. Returns how many leading
 * dimensions remain to loop over. */
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

/* The number of bytes from the first byte of a box to the end of its last element. */
static int64_t span_of(const int64_t *strides, const int64_t *shape, int rank, size_t itemsize) {
    int64_t span = (int64_t)itemsize;
    for (int d = 0; d < rank; d++) span += (shape[d] - 1) * strides[d];
    return span;
}
