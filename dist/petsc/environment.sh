# For the scripts beside it: where the plugin is built, and that mpirun may run as root and with more processes than cores.
build=${BUILD-$(cd "$here/../.." && pwd)/build/petsc}
export BUILD="$build"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
