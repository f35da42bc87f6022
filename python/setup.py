"""Builds merbit._core from src/ and merbit.h, which is in the repository's root, or here in a source distribution."""

import pathlib
import re
import shutil

from setuptools import Extension, setup
from setuptools.command.sdist import sdist

HERE = pathlib.Path(__file__).resolve().parent
SHARED = ("merbit.h", "LICENSE")  # from the repository's root
ROOT = HERE if (HERE / "merbit.h").exists() else HERE.parent
VERSION = re.search(r'^#define MERBIT_VERSION_STRING "(.*)"', (ROOT / "merbit.h").read_text(encoding="utf-8"), re.M)[1]


class SourceDistribution(sdist):
    """Copies the files of the repository's root into the distribution."""

    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        for name in SHARED:
            shutil.copy(ROOT / name, pathlib.Path(base_dir, name))


setup(
    version=VERSION,
    cmdclass={"sdist": SourceDistribution},
    options={"bdist_wheel": {"py_limited_api": "cp39"}},
    ext_modules=[
        Extension(
            "merbit._core",
            sorted(f"src/{path.name}" for path in (HERE / "src").glob("*.c")),
            depends=["src/binding.h", str(ROOT / "merbit.h")],
            include_dirs=[str(ROOT)],
            libraries=["m", "dl"],
            extra_compile_args=["-std=gnu99", "-O2", "-fno-fast-math", "-g0", "-fvisibility=hidden",
                                "-pthread"],
            extra_link_args=["-pthread", "-Wl,-s"],
            py_limited_api=True,
        )
    ],
)
