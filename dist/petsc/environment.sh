# Settings for the scripts in this folder: the build folder, the PETSc to build for (PETSC, pkg-config's name or the path of a
# petsc.pc), and permission for mpirun to run as root and with more processes than cores.
: "${BUILD:=$here/../../build/petsc}" "${PETSC:=petsc}"
mkdir -p "$BUILD"
build=$(cd "$BUILD" && pwd)
BUILD=$build
export BUILD PETSC
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
