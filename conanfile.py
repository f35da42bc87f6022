"""The Conan 2 recipe of merbit: `conan create .` builds this checkout and runs test_package/."""
import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load, rmdir


class Merbit(ConanFile):
    name = "merbit"
    license = "MIT"
    description = "Sparse matrix-vector products on NVIDIA GPUs and the CPU"
    topics = ("sparse-matrix", "spmv", "cuda", "nvrtc", "pagerank", "solver")
    package_type = "library"
    languages = "C"
    settings = "os", "compiler", "build_type", "arch"
    options = {"shared": [True, False]}
    default_options = {"shared": False}
    exports_sources = "CMakeLists.txt", "LICENSE", "merbit.h", "merbit_dist.h", "cmake/*"

    def set_version(self):
        header = load(self, os.path.join(self.recipe_folder, "merbit.h"))
        self.version = re.search('^#define MERBIT_VERSION_STRING "(.*)"', header, re.M)[1]

    def validate(self):
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration(f"this recipe is for Linux, not for {self.settings.os}; there copy merbit.h")

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["BUILD_TESTING"] = False
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        # Conan writes files of its own for CMake and pkg-config.
        for folder in ("cmake", "pkgconfig"):
            rmdir(self, os.path.join(self.package_folder, "lib", folder))

    def package_info(self):
        header = self.cpp_info.components["merbit"]
        header.set_property("cmake_target_name", "merbit::merbit")
        header.set_property("pkg_config_name", "merbit")
        header.libdirs = []
        header.system_libs = ["m", "dl", "pthread"]
        implementation = self.cpp_info.components["impl"]
        implementation.set_property("cmake_target_name", "merbit::impl")
        implementation.set_property("pkg_config_name", "merbit-impl")
        implementation.requires = ["merbit"]
        implementation.libs = ["merbit"]
