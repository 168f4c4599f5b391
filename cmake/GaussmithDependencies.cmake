# Everything the library stands on, from the system's packages (scripts/install_dependencies.sh).
# Also read by the installed package, so that find_package(gaussmith) finds the same libraries.
if(DEFINED CMAKE_FIND_PACKAGE_NAME)
  include(CMakeFindDependencyMacro)
  macro(gaussmith_dependency)
    find_dependency(${ARGN})
  endmacro()
else()
  macro(gaussmith_dependency name)
    find_package(${name} ${ARGN} REQUIRED)
  endmacro()
endif()

gaussmith_dependency(Eigen3 3.4)
gaussmith_dependency(Threads)
gaussmith_dependency(Boost 1.74)
gaussmith_dependency(fmt)
gaussmith_dependency(nlohmann_json)
gaussmith_dependency(ZLIB)

# OpenBLAS, serial and static. Its Cholesky is the reason we use it; its own threads wait by yielding, which on a busy
# machine makes two slower than one, so all threads are ours (src/linalg). The shared libraries of all its builds have one
# name, of which the system picks one at run time; the archive makes the choice ours. LAPACK in it needs the Fortran
# library, whose link without a version comes only with a compiler.
# Imported targets, so that the installed package names them and not the paths of the machine that built it.
find_library(GAUSSMITH_GFORTRAN NAMES gfortran libgfortran.so.5 REQUIRED)
find_library(GAUSSMITH_OPENBLAS_SERIAL NAMES libopenblas.a PATH_SUFFIXES openblas-serial REQUIRED)
find_library(GAUSSMITH_LAPACKE_STATIC NAMES liblapacke.a REQUIRED)
# gaussmith_import(NAME FILE LIBRARY...): the library in FILE, and those that it needs.
macro(gaussmith_import name file)
  if(NOT TARGET gaussmith::${name})
    add_library(gaussmith::${name} UNKNOWN IMPORTED)
    set_target_properties(gaussmith::${name} PROPERTIES IMPORTED_LOCATION ${file} INTERFACE_LINK_LIBRARIES "${ARGN}")
  endif()
endmacro()
gaussmith_import(openblas ${GAUSSMITH_OPENBLAS_SERIAL} ${GAUSSMITH_GFORTRAN} m)
# The serial build hands out its buffers without a lock; src/linalg/blas_memory.cpp does so in its place.
set_target_properties(gaussmith::openblas PROPERTIES
  INTERFACE_LINK_OPTIONS "LINKER:--wrap=blas_memory_alloc,--wrap=blas_memory_free")
gaussmith_import(lapacke ${GAUSSMITH_LAPACKE_STATIC} gaussmith::openblas)

# CHOLMOD with the orderings it calls, static, so that its dense kernels are the BLAS above. METIS comes as a shared library
# whose link without a version is part of another package; OpenMP is what CHOLMOD was compiled with. The archives are not
# made for shared libraries, which take CHOLMOD's own and the system's BLAS with it.
find_path(GAUSSMITH_SUITESPARSE_INCLUDE cholmod.h PATH_SUFFIXES suitesparse REQUIRED)
find_library(GAUSSMITH_GOMP NAMES gomp libgomp.so.1 REQUIRED)
if(BUILD_SHARED_LIBS)
  find_library(GAUSSMITH_CHOLMOD_SHARED NAMES cholmod REQUIRED)
  gaussmith_import(cholmod ${GAUSSMITH_CHOLMOD_SHARED} ${GAUSSMITH_GOMP})
else()
  find_library(GAUSSMITH_METIS NAMES metis libmetis.so.5 REQUIRED)
  set(GAUSSMITH_CHOLMOD_PARTS "")
  foreach(part camd ccolamd colamd amd suitesparseconfig)
    find_library(GAUSSMITH_${part}_STATIC NAMES lib${part}.a REQUIRED)
    list(APPEND GAUSSMITH_CHOLMOD_PARTS ${GAUSSMITH_${part}_STATIC})
  endforeach()
  find_library(GAUSSMITH_CHOLMOD_STATIC NAMES libcholmod.a REQUIRED)
  gaussmith_import(cholmod ${GAUSSMITH_CHOLMOD_STATIC} ${GAUSSMITH_CHOLMOD_PARTS} gaussmith::lapacke ${GAUSSMITH_METIS}
    ${GAUSSMITH_GOMP} m)
endif()
set_target_properties(gaussmith::cholmod PROPERTIES INTERFACE_INCLUDE_DIRECTORIES ${GAUSSMITH_SUITESPARSE_INCLUDE})

# FFTW, for operators that convolve or transform. Static as well: plans of a program's own FFTW are not ours.
find_library(GAUSSMITH_FFTW_STATIC NAMES libfftw3.a REQUIRED)
gaussmith_import(fftw ${GAUSSMITH_FFTW_STATIC} m)
