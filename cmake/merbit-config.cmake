# find_package(merbit): merbit::merbit, the header, and merbit::impl, the compiled implementation.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
include(${CMAKE_CURRENT_LIST_DIR}/merbit-targets.cmake)
