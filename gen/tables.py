"""The enumerations that Jinja2 expands when merbit.h is generated."""
import pathlib
import re

VERSION = (0, 1, 0)

# (name, text) of each public status code, in order.
STATUSES = [
    ("MERBIT_OK", "success"),
    ("MERBIT_INVALID_ARGUMENT", "an argument is missing, out of range or contradicts another"),
    ("MERBIT_INVALID_MATRIX", "an array of a matrix has an invalid entry"),
    ("MERBIT_INVALID_FILE", "a file does not follow its format"),
    ("MERBIT_IO_ERROR", "a file or stream could not be opened, read or written"),
    ("MERBIT_OUT_OF_MEMORY", "the host has no memory left"),
    ("MERBIT_DEVICE_OUT_OF_MEMORY", "the GPU has no memory left"),
    ("MERBIT_TOO_LARGE", "a size is beyond what this version handles"),
    ("MERBIT_NOT_SUPPORTED", "this version does not support what was asked for"),
    ("MERBIT_NO_DEVICE", "no usable NVIDIA driver or GPU"),
    ("MERBIT_NO_COMPILER", "no usable NVRTC"),
    ("MERBIT_COMPILE_ERROR", "NVRTC refused a kernel"),
    ("MERBIT_DEVICE_ERROR", "a CUDA driver call failed"),
    ("MERBIT_DEVICE_LOST", "the CUDA context is dead; destroy it and make another"),
    ("MERBIT_CANCELLED", "a callback asked to stop"),
]

# Scalar types, in the order of merbit_type.
VALUE_TYPES = [
    dict(name="TYPE_DEFAULT", value=0, text="F64 in a view; elsewhere what the matrix needs"),
    dict(name="F64", value=1, text="double"),
    dict(name="F32", value=2, text="float"),
    dict(name="F16", value=3, text="the bits of an IEEE half; values only"),
    dict(name="BF16", value=4, text="the upper half of a float's bits; values only"),
    dict(name="C64", value=5, text="complex: two floats, real part first"),
    dict(name="C128", value=6, text="complex: two doubles"),
]

# Types of vectors and sums.
FLOAT_TYPES = [
    dict(suffix="f64", c="double", abs="fabs"),
    dict(suffix="f32", c="float", abs="fabsf"),
]
COMPLEX_TYPES = [
    dict(suffix="c64", c="mbi_c64"),
    dict(suffix="c128", c="mbi_c128"),
]

# Products in addition to those of FLOAT_TYPES: the type of stored values, and that of vectors, sums and scalars.
MIXED_TYPES = [
    dict(suffix="f16", c="uint16_t", sum="f32", s="float"),
    dict(suffix="bf16", c="uint16_t", sum="f32", s="float"),
    dict(suffix="f32_f64", c="float", sum="f64", s="double"),
] + [dict(t, sum=t["suffix"], s=t["c"]) for t in COMPLEX_TYPES]


# The driver functions that the header calls: (field of mbi_driver, exported symbol, arguments).
# CUcontext, CUmodule, CUfunction and CUstream are void *, CUdevice is int.
DRIVER_FUNCTIONS = [
    ("init", "cuInit", "unsigned flags"),
    ("driver_get_version", "cuDriverGetVersion", "int *version"),
    ("get_error_name", "cuGetErrorName", "mbi_curesult result, const char **text"),
    ("get_error_string", "cuGetErrorString", "mbi_curesult result, const char **text"),
    ("device_get_count", "cuDeviceGetCount", "int *count"),
    ("device_get", "cuDeviceGet", "int *device, int ordinal"),
    ("device_get_name", "cuDeviceGetName", "char *name, int size, int device"),
    ("device_get_attribute", "cuDeviceGetAttribute", "int *value, int attribute, int device"),
    ("primary_retain", "cuDevicePrimaryCtxRetain", "void **context, int device"),
    ("primary_release", "cuDevicePrimaryCtxRelease_v2", "int device"),
    ("ctx_push", "cuCtxPushCurrent_v2", "void *context"),
    ("ctx_pop", "cuCtxPopCurrent_v2", "void **context"),
    ("ctx_get_device", "cuCtxGetDevice", "int *device"),
    ("mem_alloc", "cuMemAlloc_v2", "mbi_devptr *address, size_t bytes"),
    ("mem_free", "cuMemFree_v2", "mbi_devptr address"),
    ("memcpy_htod", "cuMemcpyHtoD_v2", "mbi_devptr target, const void *source, size_t bytes"),
    ("memcpy_dtoh", "cuMemcpyDtoH_v2", "void *target, mbi_devptr source, size_t bytes"),
    ("memcpy_dtod", "cuMemcpyDtoD_v2", "mbi_devptr target, mbi_devptr source, size_t bytes"),
    (
        "memcpy_dtod_async",
        "cuMemcpyDtoDAsync_v2",
        "mbi_devptr target, mbi_devptr source, size_t bytes, void *stream",
    ),
    ("memset_d8_async", "cuMemsetD8Async", "mbi_devptr target, unsigned char byte, size_t bytes, void *stream"),
    (
        "pointer_get_attributes",
        "cuPointerGetAttributes",
        "unsigned count, int *attributes, void **values, mbi_devptr address",
    ),
    ("stream_synchronize", "cuStreamSynchronize", "void *stream"),
    ("module_load_data", "cuModuleLoadData", "void **module, const void *image"),
    ("module_unload", "cuModuleUnload", "void *module"),
    ("module_get_function", "cuModuleGetFunction", "void **function, void *module, const char *name"),
    ("func_set_attribute", "cuFuncSetAttribute", "void *function, int attribute, int value"),
    (
        "launch_kernel",
        "cuLaunchKernel",
        "void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, "
        "unsigned block_y, unsigned block_z, unsigned shared_bytes, void *stream, void **arguments, "
        "void **extra",
    ),
]

# Functions that older drivers lack; the header works without them.
DRIVER_OPTIONAL = [
    (
        "launch_kernel_ex",
        "cuLaunchKernelEx",
        "const mbi_launch_config *config, void *function, void **arguments, void **extra",
    ),
    (
        "launch_cooperative",
        "cuLaunchCooperativeKernel",
        "void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, "
        "unsigned block_y, unsigned block_z, unsigned shared_bytes, void *stream, void **arguments",
    ),
    (
        "occupancy",
        "cuOccupancyMaxActiveBlocksPerMultiprocessor",
        "int *blocks, void *function, int threads, size_t shared_bytes",
    ),
    ("stream_create", "cuStreamCreate", "void **stream, unsigned flags"),
    ("stream_destroy", "cuStreamDestroy_v2", "void *stream"),
    ("stream_begin_capture", "cuStreamBeginCapture_v2", "void *stream, int mode"),
    (
        "stream_begin_capture_to_graph",
        "cuStreamBeginCaptureToGraph",
        "void *stream, void *graph, void *const *dependencies, const void *edges, size_t count, int mode",
    ),
    ("stream_end_capture", "cuStreamEndCapture", "void *stream, void **graph"),
    ("graph_create", "cuGraphCreate", "void **graph, unsigned flags"),
    (
        "graph_conditional_create",
        "cuGraphConditionalHandleCreate",
        "uint64_t *handle, void *graph, void *context, unsigned value, unsigned flags",
    ),
    (
        "graph_add_node",
        "cuGraphAddNode_v2",
        "void **node, void *graph, void *const *dependencies, const void *edges, size_t count, "
        "mbi_graph_node *parameters",
    ),
    (
        "graph_instantiate",
        "cuGraphInstantiateWithFlags",
        "void **executable, void *graph, unsigned long long flags",
    ),
    ("graph_launch", "cuGraphLaunch", "void *executable, void *stream"),
    ("graph_destroy", "cuGraphDestroy", "void *graph"),
    ("graph_exec_destroy", "cuGraphExecDestroy", "void *executable"),
]

# The NVRTC functions: (field of mbi_nvrtc, symbol, result, arguments). nvrtcProgram is void *.
NVRTC_FUNCTIONS = [
    ("get_version", "nvrtcVersion", "int", "int *major, int *minor"),
    ("get_error_string", "nvrtcGetErrorString", "const char *", "int result"),
    ("get_num_archs", "nvrtcGetNumSupportedArchs", "int", "int *count"),
    ("get_archs", "nvrtcGetSupportedArchs", "int", "int *archs"),
    (
        "create_program",
        "nvrtcCreateProgram",
        "int",
        "void **program, const char *source, const char *name, int header_count, "
        "const char *const *headers, const char *const *header_names",
    ),
    ("compile_program", "nvrtcCompileProgram", "int", "void *program, int count, const char *const *options"),
    ("destroy_program", "nvrtcDestroyProgram", "int", "void **program"),
    ("get_log_size", "nvrtcGetProgramLogSize", "int", "void *program, size_t *size"),
    ("get_log", "nvrtcGetProgramLog", "int", "void *program, char *log"),
    ("get_cubin_size", "nvrtcGetCUBINSize", "int", "void *program, size_t *size"),
    ("get_cubin", "nvrtcGetCUBIN", "int", "void *program, char *cubin"),
    ("get_ptx_size", "nvrtcGetPTXSize", "int", "void *program, size_t *size"),
    ("get_ptx", "nvrtcGetPTX", "int", "void *program, char *ptx"),
]


# Epilogues for which the CPU has compiled code: (name, result, sums), as users write expressions. The library's solvers,
# like any user, request them by these texts.
EPILOGUES = [
    ("dot", None, ("v0 * ax", None)),
    ("dots", None, ("v0 * ax", "ax * ax")),
    ("residual", "v0 - ax", ("y * y", None)),
    # PageRank on the graph's own values: x and v0 are ranks over weights; |v1| is a vertex's weight, and v1 < 0 marks a
    # dangling vertex. The sums are the L1 change and the dangling mass.
    ("rank", "(s0 * ax + s1) / abs(v1)", ("abs(s0 * ax + s1 - v0 * abs(v1))", "v1 < 0 ? y : 0")),
]


def epilogues():
    """Convert EPILOGUES for the templates: each expression as C, with the names in it. Results keep `abs`."""

    def expression(text, function):
        return text and dict(
            text=re.sub(r"\babs\b", function, text),
            names=[n for n in re.findall(r"[a-z]+[0-9]*", text) if n not in ("abs",)],
        )

    def names(texts, letter):
        found = re.findall(rf"\b{letter}([0-9])", " ".join(t or "" for t in texts))
        return 1 + max(map(int, found), default=-1)

    return [
        dict(
            name=name,
            given=(result, *sums),
            vectors=names((result, *sums), "v"),
            scalars=names((result, *sums), "s"),
            result=expression(result, "abs"),
            sums=[expression(s, "fabs") for s in sums],
        )
        for name, result, sums in EPILOGUES
    ]


# The methods: name and value in merbit_method; what the method takes (MBI_TAKES_... in spmv/shared/shared.h); NAME of
# its tables mbi_NAME_method for CUDA and the CPU; the CUDA sources of its folder, each after those that it calls; the
# public description. A new method needs a row here and a folder.
METHODS = [
    dict(name="AUTO", value=0, takes="MBI_TAKES_ALL | MBI_TAKES_VECTORS",
         text="chooses by the matrix and the number of expected products"),
    dict(name="REFERENCE", value=1, takes="MBI_TAKES_ALL | MBI_SEQUENTIAL", cpu="reference",
         text="CPU: the sequential loop over rows"),
    dict(name="MERBIT", value=3, takes="MBI_TAKES_REORDERING", cuda="merbit",
         sources=[("spmv/gpu/merbit/merbit.c", "CUDA: MERBIT, merge-path tiles with packed lanes")],
         text="CUDA: merge-path tiles with packed lanes (Zhang et al.)"),
    dict(name="SCAN", value=4, takes="MBI_TAKES_ALL", cuda="scan",
         sources=[("spmv/gpu/scan/sizes.c", "CUDA: sizes of SCAN"),
                  ("spmv/gpu/scan/scan.c", "CUDA: SCAN, tiles of nonzeros, segmented scans by shuffles")],
         text="CUDA: tiles of nonzeros, segmented scans by shuffles"),
    dict(name="MERGE", value=2, takes="MBI_TAKES_ALL | MBI_TAKES_VECTORS_CPU", cuda="merge_path", cpu="merge",
         sources=[("spmv/gpu/merge/merge.c", "CUDA: MERGE, merge path on the CSR")],
         text="CPU, CUDA: merge path on the CSR (Merrill, Garland, SC16)"),
    dict(name="ROWS", value=5, takes="MBI_TAKES_ALL", cuda="rows",
         sources=[("spmv/gpu/rows/rows.c", "CUDA: ROWS, several lanes per row")],
         text="CUDA: a number of lanes per row"),
    dict(name="SLICED", value=6, takes="MBI_TAKES_REORDERING | MBI_ALWAYS_DEPENDENT", cuda="sliced",
         sources=[("spmv/gpu/sliced/sizes.c", "CUDA: sizes and forecast of SLICED"),
                  ("spmv/gpu/sliced/sliced.c", "CUDA: SLICED, slices of rows stored column by column")],
         text="CUDA: slices of 32 rows, stored column by column"),
    dict(name="DIAGONALS", value=14, takes="MBI_TAKES_REORDERING | MBI_ALWAYS_DEPENDENT", cuda="diagonals",
         sources=[("spmv/gpu/diagonals/diagonals.c", "CUDA: DIAGONALS, slices stored by diagonals")],
         text="CUDA: slices of 64 rows, stored by diagonals, without columns"),
    dict(name="BINNED", value=7, takes="MBI_TAKES_REORDERING", cuda="binned",
         sources=[("spmv/gpu/binned/sizes.c", "CUDA: sizes and program of BINNED"),
                  ("spmv/gpu/binned/binned.c", "CUDA: BINNED, products by strips, sums by rows")],
         text="CUDA: products by strips of columns, then sums by rows"),
    dict(name="BSR", value=8, takes="MBI_OF_BLOCKS", cuda="bsr", cpu="blocks",
         sources=[("spmv/gpu/bsr/sizes.c", "CUDA: sizes of BSR"),
                  ("spmv/gpu/bsr/bsr.c", "CUDA: BSR, tiles of blocks, sums in registers")],
         text="CPU, CUDA: dense blocks in tasks of equal numbers (Chirila)"),
    dict(name="CB", value=9, takes="MBI_TAKES_REORDERING", cuda="cb",
         sources=[("spmv/gpu/cb/build.c", "CUDA: CB, sizes of its blocks"),
                  ("spmv/gpu/cb/fill.c", "CUDA: CB, contents of its blocks, assignment to warps"),
                  ("spmv/gpu/cb/cb.c", "CUDA: CB, COO, CSR and dense blocks of 16 x 16")],
         text="CUDA: 16 x 16 blocks, each COO, CSR or dense (CB-SpMV)"),
    dict(name="HUBS", value=10, takes="MBI_TAKES_REORDERING", cuda="hubs",
         sources=[("spmv/gpu/hubs/hubs.c", "CUDA: HUBS, SCAN with the fullest columns in shared memory")],
         text="CUDA: SCAN with x of the fullest columns in shared memory"),
    dict(name="SORTED", value=11, takes="MBI_TAKES_REORDERING", cpu="sorted",
         text="CPU: rows sorted by length within windows, equal values once"),
    dict(name="MANY", value=12, takes="MBI_TAKES_REORDERING | MBI_TAKES_VECTORS", cuda="many",
         sources=[("spmv/gpu/many/sizes.c", "CUDA: sizes of MANY"),
                  ("spmv/gpu/many/many.c", "CUDA: MANY, several vectors at once")],
         text="CUDA: several vectors at once (plan_desc.vectors)"),
    dict(name="SYMMETRIC", value=13, takes="MBI_TAKES_REORDERING", cpu="symmetric",
         text="CPU: one triangle of a symmetric matrix, without the other"),
]
# Methods for comparison, which AUTO never chooses.
STUDY_METHODS = [
    dict(name="BSR_ROWS", value=32, takes="MBI_OF_BLOCKS", cpu="block_study",
         text="CPU: other schedules of blocks (Chirila), up to BSR_FIXED"),
    dict(name="BSR_NAIVE", value=33, takes="MBI_OF_BLOCKS", cpu="block_study"),
    dict(name="BSR_SPLIT", value=34, takes="MBI_OF_BLOCKS", cpu="block_study"),
    dict(name="BSR_MAXIMUM", value=35, takes="MBI_OF_BLOCKS", cpu="block_study"),
    dict(name="BSR_FIXED", value=36, takes="MBI_OF_BLOCKS", cpu="block_study"),
    dict(name="BSR_ROW_MAJOR", value=40, label="bsr-rowmajor", takes="MBI_OF_BLOCKS", cuda="bsr_study",
         sources=[("spmv/study/bsr_study.c", "CUDA: other products of blocks, for comparison")],
         text="CUDA: other products of blocks (Chirila), to BSR_VECTOR"),
    dict(name="BSR_PRIVATE", value=41, takes="MBI_OF_BLOCKS", cuda="bsr_study"),
    dict(name="BSR_TEAM", value=42, takes="MBI_OF_BLOCKS", cuda="bsr_study"),
    dict(name="BSR_VECTOR", value=43, takes="MBI_OF_BLOCKS", cuda="bsr_study"),
    dict(name="WARP_LOOP", value=48, cuda="warp_loop",
         sources=[("spmv/study/row_study.c", "CUDA: warps that sum rows, for comparison")],
         text="CUDA: other products of CSR (Marconi), up to PATH_GLOBAL"),
    dict(name="WARP_TILED", value=49, cuda="warp_tiled"),
    dict(name="NONZERO_SPLIT", value=50, cuda="split",
         sources=[("spmv/study/split_study.c", "CUDA: threads that take equal shares, for comparison")]),
    dict(name="PATH_WALK", value=51, cuda="split"),
    dict(name="PATH_GLOBAL", value=52, cuda="walk",
         sources=[("spmv/study/walk_study.c", "CUDA: merge path in global memory, for comparison")]),
]


def methods(rows):
    """Add defaults to rows of METHODS. `label` is the name in merbit_plan_describe."""
    return [
        dict(dict(cuda=None, cpu=None, takes="0", sources=[], text="", label=row["name"].lower().replace("_", "-")), **row)
        for row in rows
    ]


def kernel_files(study):
    """List the kernel files that NVRTC may include: those under spmv/study/, or all others."""
    templates = pathlib.Path(__file__).resolve().parent.parent / "templates"
    names = sorted(str(p.relative_to(templates)) for suffix in ("cu", "cuh") for p in templates.rglob(f"*.{suffix}"))
    return [name for name in names if name.startswith("spmv/study/") == study and not name.endswith("_arguments.cuh")]


def statuses():
    return [dict(name=n, value=i, text=t) for i, (n, t) in enumerate(STATUSES)]


def leading(power, bits):
    """Return the leading bits of 5^power, rounded down."""
    if power < 0:
        return (1 << ((5**-power).bit_length() + bits - 1)) // 5**-power
    shift = (5**power).bit_length() - bits
    return 5**power >> shift if shift >= 0 else 5**power << -shift


def powers_of_five(first=-364, last=308, step=28):
    """Return the leading 192 bits of every 28th power of five, as three words. Check that multiplying by 5^r, r < 28,
    yields the 128 leading bits of each power between."""
    bases = [leading(q, 192) for q in range(first, last + 1, step)]
    for q in range(-342, last + 1):
        product = bases[(q - first) // step] * 5 ** ((q - first) % step)
        if product >> (product.bit_length() - 128) != leading(q, 128):
            raise SystemExit(f"5^{q} does not follow from a power before it")
    return [[base >> shift & ((1 << 64) - 1) for shift in (128, 64, 0)] for base in bases]


def pairs(types, rows):
    """Combine each type with each row, for `each` of both."""
    return [dict(t, **row) for t in types for row in rows]


def context():
    return dict(
        version=VERSION,
        kernel_files=kernel_files(study=False),
        study_kernel_files=kernel_files(study=True),
        methods=methods(METHODS),
        study_methods=methods(STUDY_METHODS),
        statuses=statuses(),
        value_types=VALUE_TYPES,
        driver_functions=[
            dict(field=f, symbol=s, arguments=a, optional=functions is DRIVER_OPTIONAL)
            for functions in (DRIVER_FUNCTIONS, DRIVER_OPTIONAL)
            for f, s, a in functions
        ],
        nvrtc_functions=[
            dict(field=f, symbol=s, result=r, arguments=a) for f, s, r, a in NVRTC_FUNCTIONS
        ],
        powers_of_five=powers_of_five,
        # Instances of the host loops: offset type x value type.
        offset_types=[dict(suffix="i32", c="int32_t"), dict(suffix="i64", c="int64_t")],
        float_types=FLOAT_TYPES,
        pairs=pairs,
        complex_types=COMPLEX_TYPES,
        mixed_types=MIXED_TYPES,
        epilogues=epilogues(),
    )
