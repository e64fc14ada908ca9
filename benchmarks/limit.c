/* The lower bound for reading a whole layout: two threads open, read, decode and place chunks, and do nothing else.
 *
 * No library can read these files much faster, so the difference is the overhead of the library. The program supports
 * only what the benchmarks need: cubes of little-endian uint16, cubic chunks, keys of v3 (c/0/0/0), every chunk present,
 * shards with the index at the end (it does not verify the checksum).
 *
 * Compile (Debian: apt install libblosc-dev libzstd-dev libdeflate-dev):
 *     cc -O3 -march=native limit.c -o limit -lblosc -lzstd -ldeflate -lpthread
 * Run:
 *     limit FOLDER SIDE CHUNK SHARD CODEC REPEATS
 * where SIDE, CHUNK and SHARD are lengths in elements (SHARD 0: not sharded) and CODEC is raw, zstd, blosc or gzip.
 * Prints the seconds of the fastest repeat, and the same checksum of the elements as `layouts.checksum`.
 *     limit FOLDER LENGTH CHUNK line CODEC REPEATS
 * reads and decodes every chunk of an array of one dimension and discards it: the minimum for a selection that needs
 * elements of every chunk. The checksum is 0. `rows` instead of `line`: the same for an array of two dimensions with
 * whole rows in each chunk (keys c/N/0); LENGTH and CHUNK are then in units of two bytes.
 */
#define _GNU_SOURCE
#include <blosc.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

enum { THREADS = 2 };
enum codec { RAW, ZSTD, BLOSC, GZIP };
static const char *const CODEC_NAMES[] = {"raw", "zstd", "blosc", "gzip"};

static const char *folder;
static int line;     /* whether chunks follow each other along one dimension, instead of three */
static const char *line_end = ""; /* of the keys of such chunks */
static size_t side;  /* of the array */
static size_t outer; /* of the shard or chunk in a file */
static size_t inner; /* of a chunk */
static enum codec codec;
static uint16_t *output;
static atomic_size_t next_file;

/* Buffers and codec contexts of one thread. */
struct worker {
    ZSTD_DCtx *zstd;
    struct libdeflate_decompressor *deflate;
    uint16_t *chunk; /* one decoded chunk */
    char *file;      /* one encoded file */
    size_t capacity;
};

static void fail(const char *what) {
    fprintf(stderr, "limit: %s\n", what);
    exit(1);
}

/* Reads a whole file into the worker's buffer; returns its length. */
static size_t load(struct worker *worker, const char *path) {
    struct stat status;
    int file = open(path, O_RDONLY);
    if (file < 0 || fstat(file, &status) != 0) fail(path);
    size_t size = (size_t)status.st_size;
    if (size > worker->capacity) {
        free(worker->file);
        worker->capacity = size * 2;
        worker->file = malloc(worker->capacity);
        if (worker->file == NULL) fail("no memory");
    }
    for (size_t done = 0; done < size;) {
        ssize_t count = read(file, worker->file + done, size - done);
        if (count <= 0) fail(path);
        done += (size_t)count;
    }
    close(file);
    return size;
}

static size_t chunk_size(void) { return (line ? inner : inner * inner * inner) * sizeof(uint16_t); }

static size_t file_count(void) {
    size_t files = side / outer;
    return line ? (side + outer - 1) / outer : files * files * files;
}

/* The elements of one encoded chunk; uncompressed chunks are not copied. */
static const uint16_t *decode(struct worker *worker, const char *data, size_t size) {
    size_t wanted = chunk_size();
    size_t found = 0;
    switch (codec) {
    case RAW:
        if (size != wanted) fail("a chunk has the wrong size");
        return (const uint16_t *)data;
    case ZSTD:
        found = ZSTD_decompressDCtx(worker->zstd, worker->chunk, wanted, data, size);
        break;
    case BLOSC:
        found = (size_t)blosc_decompress_ctx(data, worker->chunk, wanted, 1);
        break;
    case GZIP:
        libdeflate_gzip_decompress(worker->deflate, data, size, worker->chunk, wanted, &found);
        break;
    }
    if (found != wanted) fail("a chunk did not decode to its size");
    return worker->chunk;
}

/* Copies a chunk to its position in the output, row by row. */
static void place(const uint16_t *chunk, size_t z, size_t y, size_t x) {
    for (size_t i = 0; i < inner; i++)
        for (size_t j = 0; j < inner; j++)
            memcpy(output + ((z + i) * side + y + j) * side + x, chunk + (i * inner + j) * inner,
                   inner * sizeof(uint16_t));
}

static void read_file(struct worker *worker, size_t number) {
    size_t files = side / outer; /* along one dimension */
    size_t z = number / (files * files), y = number / files % files, x = number % files;
    char path[4096];
    if (line) {
        snprintf(path, sizeof path, "%s/c/%zu%s", folder, number, line_end);
        decode(worker, worker->file, load(worker, path));
        return;
    }
    snprintf(path, sizeof path, "%s/c/%zu/%zu/%zu", folder, z, y, x);
    size_t size = load(worker, path);
    if (outer == inner) {
        place(decode(worker, worker->file, size), z * outer, y * outer, x * outer);
        return;
    }
    size_t many = outer / inner; /* inner chunks along one dimension */
    size_t index_size = many * many * many * 2 * sizeof(uint64_t) + 4;
    if (size < index_size) fail("a shard is too short for its index");
    const char *index = worker->file + size - index_size;
    for (size_t i = 0; i < many * many * many; i++) {
        uint64_t entry[2]; /* offset and length of the chunk */
        memcpy(entry, index + i * sizeof entry, sizeof entry);
        if (entry[1] > size || entry[0] > size - entry[1]) fail("a shard's index points outside it");
        place(decode(worker, worker->file + entry[0], entry[1]), z * outer + i / (many * many) * inner,
              y * outer + i / many % many * inner, x * outer + i % many * inner);
    }
}

static void *work(void *unused) {
    (void)unused;
    struct worker worker = {ZSTD_createDCtx(), libdeflate_alloc_decompressor(),
                            malloc(chunk_size()), NULL, 0};
    if (!worker.zstd || !worker.deflate || !worker.chunk) fail("no memory");
    for (size_t number; (number = atomic_fetch_add(&next_file, 1)) < file_count();)
        read_file(&worker, number);
    ZSTD_freeDCtx(worker.zstd);
    libdeflate_free_decompressor(worker.deflate);
    free(worker.chunk);
    free(worker.file);
    return NULL;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* The sum of all 64-bit words, each times an odd number that grows with its position. */
static uint64_t checksum(size_t size) {
    uint64_t sum = 0;
    for (size_t i = 0; i < size / 8; i++) {
        uint64_t word;
        memcpy(&word, (const char *)output + i * 8, 8);
        sum += word * (2 * i + 1);
    }
    return sum;
}

int main(int count, char **arguments) {
    if (count != 7) fail("usage: limit FOLDER SIDE CHUNK SHARD CODEC REPEATS, or limit FOLDER LENGTH CHUNK line|rows CODEC REPEATS");
    folder = arguments[1];
    side = strtoul(arguments[2], NULL, 10);
    inner = strtoul(arguments[3], NULL, 10);
    line = strcmp(arguments[4], "line") == 0 || strcmp(arguments[4], "rows") == 0;
    if (strcmp(arguments[4], "rows") == 0) line_end = "/0";
    outer = line ? 0 : strtoul(arguments[4], NULL, 10);
    if (outer == 0) outer = inner;
    if (inner == 0 || outer % inner != 0 || (!line && side % outer != 0))
        fail("chunks must divide shards, and shards the array");
    while (strcmp(CODEC_NAMES[codec], arguments[5]) != 0)
        if (codec++ == GZIP) fail("CODEC is raw, zstd, blosc or gzip");

    size_t size = (line ? 1 : side * side * side) * sizeof(uint16_t);
    uint64_t sum = 0;
    double best = 1e9;
    for (long repeat = strtol(arguments[6], NULL, 10); repeat > 0; repeat--) {
        /* new pages each time, as the new array of a library has; huge pages, as NumPy requests them */
        double start = now();
        output = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (output == MAP_FAILED) fail("no memory");
        madvise(output, size, MADV_HUGEPAGE);
        next_file = 0;
        pthread_t threads[THREADS];
        for (int i = 0; i < THREADS; i++)
            if (pthread_create(&threads[i], NULL, work, NULL) != 0) fail("no thread");
        for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
        double seconds = now() - start;
        if (seconds < best) best = seconds;
        if (repeat == 1) sum = checksum(size);
        munmap(output, size);
    }
    printf("%.6f %llu\n", best, (unsigned long long)sum);
    return 0;
}
