"""The enumerations that Jinja2 expands when merbit.h is generated."""
import re

VERSION = (0, 1, 0)

# (name, value, text): the public status codes, in order.
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

# Scalar types, in the order of merbit_type; `stored`: which of STORED_TYPES moves them.
VALUE_TYPES = [
    dict(name="TYPE_DEFAULT", value=0, stored="f64", text="F64 in a view; elsewhere what the matrix needs"),
    dict(name="F64", value=1, stored="f64", text="double"),
    dict(name="F32", value=2, stored="f32", text="float"),
    dict(name="F16", value=3, stored="h16", text="the bits of an IEEE half; values only"),
    dict(name="BF16", value=4, stored="h16", text="the upper half of a float's bits; values only"),
    dict(name="C64", value=5, stored="c64", text="complex: two floats, real part first"),
    dict(name="C128", value=6, stored="c128", text="complex: two doubles"),
]

# What loops that only move values are written over.
FLOAT_TYPES = [dict(suffix="f64", c="double", zero="0"), dict(suffix="f32", c="float", zero="0")]
COMPLEX_TYPES = [
    dict(suffix="c64", c="mbi_c64", zero="{0, 0}", part="float"),
    dict(suffix="c128", c="mbi_c128", zero="{0, 0}", part="double"),
]
STORED_TYPES = FLOAT_TYPES + COMPLEX_TYPES + [dict(suffix="h16", c="uint16_t", zero="0")]

# Products beside those of FLOAT_TYPES: stored values, and the type of vectors, sums and scalars.
MIXED_TYPES = [
    dict(suffix="f16", c="uint16_t", sum="f32", s="float"),
    dict(suffix="bf16", c="uint16_t", sum="f32", s="float"),
    dict(suffix="f32_f64", c="float", sum="f64", s="double"),
] + [dict(t, sum=t["suffix"], s=t["c"]) for t in COMPLEX_TYPES]


# The driver calls that the header makes: (field of mbi_driver, exported symbol, arguments).
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

# Those that older drivers lack; the header does without.
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

# The NVRTC calls: (field of mbi_nvrtc, symbol, result, arguments). nvrtcProgram is void *.
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


# Epilogues that need no function of the user on the CPU: (name, result, sums), in the text of users'
# expressions. The library's solvers name them by their text, as anybody may.
EPILOGUES = [
    ("dot", None, ("v0 * ax", None)),
    ("dots", None, ("v0 * ax", "ax * ax")),
    ("residual", "v0 - ax", ("y * y", None)),
    # A link matrix without its weights: x and v0 are ranks over weights, |v1| a vertex's weight, which
    # is below 0 where it is dangling; sums are the L1 change and the dangling mass.
    ("rank", "(s0 * ax + s1) / abs(v1)", ("abs(s0 * ax + s1 - v0 * abs(v1))", "v1 < 0 ? y : 0")),
]


def epilogues():
    """What templates need of EPILOGUES: each expression as C, with the names that it has."""

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
            result={t["suffix"]: expression(result, "fabsf" if t["c"] == "float" else "fabs") for t in FLOAT_TYPES},
            sums=[expression(s, "fabs") for s in sums],
        )
        for name, result, sums in EPILOGUES
    ]


# Texts that NVRTC may include, and those that only methods for comparison need.
KERNEL_FILES = [
    "jit/device.cuh",
    "jit/complex.cuh",
    "jit/functions.cuh",
    "spmv/shared/algebra.cuh",
    "spmv/shared/semiring.cuh",
    "spmv/shared/values_arguments.cuh",
    "spmv/shared/values.cuh",
    "spmv/shared/epilogue_arguments.cuh",
    "spmv/shared/epilogue.cu",
    "spmv/stages/value_forms_arguments.cuh",
    "spmv/stages/value_forms.cuh",
    "spmv/shared/device_csr_arguments.cuh",
    "spmv/shared/device_csr.cu",
    "spmv/gpu/merbit/tile_arguments.cuh",
    "spmv/gpu/merbit/tile.cuh",
    "spmv/gpu/merbit/merbit_arguments.cuh",
    "spmv/gpu/merbit/merbit.cu",
    "spmv/shared/nonempty_rows.cuh",
    "spmv/shared/fixup.cuh",
    "spmv/gpu/scan/tile.cuh",
    "spmv/gpu/scan/products.cuh",
    "spmv/gpu/scan/build_arguments.cuh",
    "spmv/gpu/scan/build.cuh",
    "spmv/gpu/scan/fixup_arguments.cuh",
    "spmv/gpu/scan/fixup.cuh",
    "spmv/gpu/scan/scan_arguments.cuh",
    "spmv/gpu/scan/scan.cu",
    "spmv/gpu/scan/whole_arguments.cuh",
    "spmv/gpu/scan/whole.cu",
    "spmv/gpu/merge/path.cuh",
    "spmv/gpu/merge/tile.cuh",
    "spmv/gpu/merge/arguments.cuh",
    "spmv/gpu/merge/merge.cu",
    "spmv/gpu/binned/build_arguments.cuh",
    "spmv/gpu/binned/build.cuh",
    "spmv/gpu/binned/binned_arguments.cuh",
    "spmv/gpu/binned/binned.cu",
    "spmv/gpu/hubs/build_arguments.cuh",
    "spmv/gpu/hubs/build.cuh",
    "spmv/gpu/hubs/hubs_arguments.cuh",
    "spmv/gpu/hubs/hubs.cu",
    "spmv/stages/full_blocks_arguments.cuh",
    "spmv/stages/full_blocks.cu",
    "spmv/stages/extract_blocks_arguments.cuh",
    "spmv/stages/extract_blocks.cu",
    "spmv/gpu/rows/arguments.cuh",
    "spmv/gpu/rows/rows.cu",
    "spmv/gpu/bsr/tile.cuh",
    "spmv/gpu/bsr/build_arguments.cuh",
    "spmv/gpu/bsr/build.cuh",
    "spmv/gpu/bsr/bsr_arguments.cuh",
    "spmv/gpu/bsr/bsr.cu",
    "spmv/shared/pages.cuh",
    "spmv/shared/sample_arguments.cuh",
    "spmv/shared/sample.cuh",
    "spmv/gpu/sliced/build_arguments.cuh",
    "spmv/gpu/sliced/build.cuh",
    "spmv/gpu/sliced/sliced_arguments.cuh",
    "spmv/gpu/sliced/sliced.cu",
    "spmv/gpu/cb/arguments.cuh",
    "spmv/gpu/cb/cb.cu",
    "spmv/gpu/many/copies_arguments.cuh",
    "spmv/gpu/many/copies.cuh",
    "spmv/gpu/many/lane.cuh",
    "spmv/gpu/many/run.cuh",
    "spmv/gpu/many/many_arguments.cuh",
    "spmv/gpu/many/many.cu",
    "spmv/gpu/many/rows_arguments.cuh",
    "spmv/gpu/many/rows.cu",
    "spmv/stages/reorder_arguments.cuh",
    "spmv/stages/reorder.cu",
    "spmv/stages/transpose_arguments.cuh",
    "spmv/stages/transpose.cu",
    "solve/core/state.cuh",
    "solve/pagerank/steps.cuh",
    "solve/pagerank/after.cuh",
    "solve/pagerank/arguments.cuh",
    "solve/pagerank/pagerank.cu",
    "solve/core/step_text.cuh",
    "solve/core/step_arguments.cuh",
    "solve/core/step.cuh",
    "solve/core/fused.cuh",
    "solve/core/check_steps.cuh",
    "solve/core/loop_arguments.cuh",
    "solve/core/loop.cu",
    "solve/precondition/arguments.cuh",
    "solve/precondition/setup.cu",
    "solve/cg/slots.cuh",
    "solve/cg/steps.cuh",
    "solve/cg/cg.cu",
    "solve/bicgstab/steps.cuh",
    "solve/bicgstab/bicgstab.cu",
    "solve/core/wide_steps.cuh",
    "solve/core/wide.cuh",
    "solve/gmres/arnoldi.cuh",
    "solve/gmres/arnoldi_steps.cuh",
    "solve/gmres/arnoldi.cu",
    "solve/eigen/steps.cuh",
    "solve/eigen/eigen.cu",
    "solve/core/refine_steps.cuh",
    "solve/core/refine.cu",
]
STUDY_KERNEL_FILES = [
    "spmv/study/split_study_arguments.cuh",
    "spmv/study/row_study_arguments.cuh",
    "spmv/study/bsr_study_arguments.cuh","spmv/study/bsr_study.cu", "spmv/study/row_study.cu", "spmv/study/split_study.cu"]


def statuses():
    return [dict(name=n, value=i, text=t) for i, (n, t) in enumerate(STATUSES)]


def powers_of_five(first=-342, last=308):
    """The 128 leading bits of 5^q as (high, low): rounded up for -27 <= q < 0, else down.

    That is the rounding for which N. Mushtak and D. Lemire (Fast Number Parsing Without Fallback,
    2023) prove that a 64-bit decimal significand never needs more."""
    rows = []
    for q in range(first, last + 1):
        power = 5 ** abs(q)
        if q >= 0:
            shift = power.bit_length() - 128
            bits = power >> shift if shift >= 0 else power << -shift
        else:
            bits = (1 << (power.bit_length() + 127)) // power + (1 if q >= -27 else 0)
        rows.append((bits >> 64, bits & ((1 << 64) - 1)))
    return rows


def context():
    return dict(
        version=VERSION,
        kernel_files=KERNEL_FILES,
        study_kernel_files=STUDY_KERNEL_FILES,
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
        complex_types=COMPLEX_TYPES,
        stored_types=STORED_TYPES,
        mixed_types=MIXED_TYPES,
        epilogues=epilogues(),
    )
