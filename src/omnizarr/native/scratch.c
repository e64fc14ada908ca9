/* Buffers and codec contexts of one thread. */

#define MAX_IDLE 8
#define MAX_IDLE_BYTES ((size_t)1 << 25) /* of all scratches that no thread uses */
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
static size_t idle_bytes;

/* The memory mapped for a buffer of `size` bytes; 0 if it comes from `malloc`. */
static size_t mapped_size(size_t size) {
#ifdef MADV_HUGEPAGE
    if (size >= LARGE_PAGE && size <= SIZE_MAX / 2) return (size + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
#endif
    (void)size;
    return 0;
}

/* Allocates memory, for `release`. From 2 MiB on it maps huge pages, because page faults of small pages are slow. It does
 * not call `posix_memalign`: glibc 2.36 rarely reuses aligned memory that was freed, so the heap grows with each call, to
 * hundreds of MB (measured). */
static char *allocate(size_t size) {
    size_t whole = mapped_size(size);
    if (whole == 0) return malloc(size > 0 ? size : 1);
#ifdef MADV_HUGEPAGE
    char *memory = mmap(NULL, whole + LARGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return NULL;
    size_t before = (LARGE_PAGE - (size_t)memory % LARGE_PAGE) % LARGE_PAGE;
    if (before > 0) munmap(memory, before);
    munmap(memory + before + whole, LARGE_PAGE - before);
    madvise(memory + before, whole, MADV_HUGEPAGE);
    return memory + before;
#else
    return NULL;
#endif
}

/* Frees what `allocate(size)` returned. */
static void release(char *memory, size_t size) {
    size_t whole = mapped_size(size);
    if (memory != NULL && whole > 0)
        munmap(memory, whole);
    else
        free(memory);
}

/* Grows a buffer to at least `size` bytes; its content is lost. NULL if there is no memory. */
static char *reserve(char **memory, size_t *room, size_t size) {
    if (*memory == NULL || *room < size) {
        release(*memory, *room);
        *room = 0;
        *memory = allocate(size);
        if (*memory != NULL) *room = size;
    }
    return *memory;
}

static void free_scratch(struct scratch *scratch) {
    if (scratch == NULL) return;
    if (scratch->dctx != NULL) zstd_free_dctx(scratch->dctx);
    if (scratch->cctx != NULL) zstd_free_cctx(scratch->cctx);
    if (scratch->inflater != NULL) gzip_free_decoder(scratch->inflater);
    if (scratch->deflater != NULL) gzip_free_encoder(scratch->deflater);
    release(scratch->encoded, scratch->encoded_capacity);
    release(scratch->decoded, scratch->decoded_capacity);
    free(scratch);
}

static size_t scratch_bytes(const struct scratch *scratch) {
    size_t bytes = scratch->encoded_capacity + scratch->decoded_capacity;
    if (scratch->cctx != NULL) bytes += zstd_sizeof_cctx(scratch->cctx); /* at high levels many times the chunk size */
    return bytes;
}

static struct scratch *acquire_scratch(void) {
    if (idle_count == 0) return calloc(1, sizeof(struct scratch));
    struct scratch *scratch = idle_scratch[--idle_count];
    idle_bytes -= scratch_bytes(scratch);
    return scratch;
}

static void release_scratch(struct scratch *scratch) {
    if (scratch == NULL) return;
    size_t bytes = scratch_bytes(scratch);
    if (idle_count == MAX_IDLE || bytes > MAX_IDLE_BYTES - idle_bytes) {
        free_scratch(scratch);
    } else {
        idle_scratch[idle_count++] = scratch;
        idle_bytes += bytes;
    }
}
