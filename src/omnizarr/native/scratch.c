/* Buffers and codec contexts of one thread. */

#define MAX_KEPT_BYTES ((size_t)1 << 22) /* a scratch with more memory is freed after the call */
#define MAX_IDLE 8
#define LARGE_PAGE ((size_t)1 << 21)

/* Kept from call to call, because allocating memory costs more than a small read. */
struct scratch {
    char *encoded, *decoded;
    size_t encoded_capacity, decoded_capacity;
    void *dctx, *cctx, *inflater, *deflater;
    int level; /* of `deflater` */
};

/* Scratches that no thread uses. Access requires the GIL. */
static struct scratch *idle_scratch[MAX_IDLE];
static int idle_count;

static void free_scratch(struct scratch *scratch) {
    if (scratch == NULL) return;
    if (scratch->dctx != NULL) zstd_free_dctx(scratch->dctx);
    if (scratch->cctx != NULL) zstd_free_cctx(scratch->cctx);
    if (scratch->inflater != NULL) gzip_free_decoder(scratch->inflater);
    if (scratch->deflater != NULL) gzip_free_encoder(scratch->deflater);
    free(scratch->encoded);
    free(scratch->decoded);
    free(scratch);
}

static struct scratch *acquire_scratch(void) {
    return idle_count > 0 ? idle_scratch[--idle_count] : calloc(1, sizeof(struct scratch));
}

static void release_scratch(struct scratch *scratch) {
    if (scratch == NULL) return;
    size_t memory = scratch->encoded_capacity + scratch->decoded_capacity;
    if (scratch->cctx != NULL) memory += zstd_sizeof_cctx(scratch->cctx); /* at high levels many times the chunk size */
    if (idle_count == MAX_IDLE || memory > MAX_KEPT_BYTES)
        free_scratch(scratch);
    else
        idle_scratch[idle_count++] = scratch;
}

/* Allocates memory. From 2 MiB on it uses huge pages, as NumPy does, because page faults of small pages are slow. */
static char *allocate(size_t size) {
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

/* Grows a buffer to at least `size` bytes; its content is lost. NULL if there is no memory. */
static char *reserve(char **memory, size_t *room, size_t size) {
    if (*memory == NULL || *room < size) {
        free(*memory);
        *room = 0;
        *memory = allocate(size);
        if (*memory != NULL) *room = size;
    }
    return *memory;
}
