/* Pointers to the functions of codec libraries, which Python looks up and passes in. NULL: not passed yet. */

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

/* The functions of each codec, by their name in its library, and the pointer that holds each one. The function that
 * `check_codec` tests comes last: once it is set, all others of its codec are. */
static const struct codec_function {
    const char *codec, *name;
    void *pointer;
} functions[] = {
    {"blosc", "blosc_compress_ctx", &blosc_compress_ctx},
    {"blosc", "blosc_decompress_ctx", &blosc_decompress_ctx},
    {"zstd", "ZSTD_createDCtx", &zstd_create_dctx},
    {"zstd", "ZSTD_freeDCtx", &zstd_free_dctx},
    {"zstd", "ZSTD_createCCtx", &zstd_create_cctx},
    {"zstd", "ZSTD_freeCCtx", &zstd_free_cctx},
    {"zstd", "ZSTD_CCtx_setParameter", &zstd_set},
    {"zstd", "ZSTD_compress2", &zstd_compress},
    {"zstd", "ZSTD_compressBound", &zstd_bound},
    {"zstd", "ZSTD_isError", &zstd_is_error},
    {"zstd", "ZSTD_sizeof_CCtx", &zstd_sizeof_cctx},
    {"zstd", "ZSTD_decompressDCtx", &zstd_decompress},
    {"gzip", "libdeflate_alloc_decompressor", &gzip_create_decoder},
    {"gzip", "libdeflate_free_decompressor", &gzip_free_decoder},
    {"gzip", "libdeflate_alloc_compressor", &gzip_create_encoder},
    {"gzip", "libdeflate_free_compressor", &gzip_free_encoder},
    {"gzip", "libdeflate_gzip_compress", &gzip_compress},
    {"gzip", "libdeflate_gzip_compress_bound", &gzip_bound},
    {"gzip", "libdeflate_gzip_decompress_ex", &gzip_decompress},
};
#define FUNCTION_COUNT (sizeof functions / sizeof *functions)

/* A tuple of pairs (codec, function name), for Python; NULL with an exception. */
static PyObject *codec_functions(void) {
    PyObject *names = PyTuple_New(FUNCTION_COUNT);
    for (size_t i = 0; names != NULL && i < FUNCTION_COUNT; i++) {
        PyObject *pair = Py_BuildValue("(ss)", functions[i].codec, functions[i].name);
        if (pair == NULL || PyTuple_SetItem(names, (Py_ssize_t)i, pair) != 0) Py_CLEAR(names);
    }
    return names;
}

/* 0 with an exception if Python has not passed the functions of a codec. */
static int check_codec(int64_t codec) {
    if (codec == RAW || (codec == BLOSC && blosc_decompress_ctx) || (codec == ZSTD && zstd_decompress) ||
        (codec == GZIP && gzip_decompress))
        return 1;
    PyErr_SetString(PyExc_ValueError, "no such codec");
    return 0;
}

PyDoc_STRVAR(use_doc,
             "use(codec, addresses)\n"
             "Sets the addresses of the functions of `blosc`, `zstd` or `gzip`, in the order of CODEC_FUNCTIONS.");

static PyObject *py_use(PyObject *module, PyObject *arguments) {
    (void)module;
    const char *codec;
    PyObject *given;
    if (!PyArg_ParseTuple(arguments, "sO!", &codec, &PyTuple_Type, &given)) return NULL;
    Py_ssize_t count = 0, next = 0;
    for (size_t i = 0; i < FUNCTION_COUNT; i++) count += strcmp(functions[i].codec, codec) == 0;
    if (count == 0 || count != PyTuple_Size(given)) {
        PyErr_SetString(PyExc_ValueError, "unknown codec, or wrong number of addresses");
        return NULL;
    }
    for (size_t i = 0; i < FUNCTION_COUNT; i++) {
        if (strcmp(functions[i].codec, codec) != 0) continue;
        void *address = PyLong_AsVoidPtr(PyTuple_GetItem(given, next++));
        if (address == NULL) {
            if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "an address is 0");
            return NULL;
        }
        memcpy(functions[i].pointer, &address, sizeof address);
    }
    Py_RETURN_NONE;
}
