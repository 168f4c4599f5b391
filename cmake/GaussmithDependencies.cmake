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
# whose link without a version is part of another package; OpenMP is what CHOLMOD was compiled with.
find_path(GAUSSMITH_SUITESPARSE_INCLUDE cholmod.h PATH_SUFFIXES suitesparse REQUIRED)
find_library(GAUSSMITH_GOMP NAMES gomp libgomp.so.1 REQUIRED)
find_library(GAUSSMITH_METIS NAMES metis libmetis.so.5 REQUIRED)
# gaussmith_archive(PART): what to link of an archive. Those of Debian were compiled for programs: a shared library of ours
# takes them but for the places that name stdout and stderr, which must be its own (src/linalg/sparse_cholesky.cpp). So
# we link copies in which these two have another name. Who links the installed package makes a program.
macro(gaussmith_archive part)
  find_library(GAUSSMITH_${part}_STATIC NAMES lib${part}.a REQUIRED)
  set(GAUSSMITH_${part}_LINKED ${GAUSSMITH_${part}_STATIC})
  if(NOT DEFINED CMAKE_FIND_PACKAGE_NAME)
    set(GAUSSMITH_${part}_LINKED ${PROJECT_BINARY_DIR}/archives/lib${part}.a)
    if(${GAUSSMITH_${part}_STATIC} IS_NEWER_THAN ${GAUSSMITH_${part}_LINKED})
      file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/archives)
      execute_process(COMMAND ${CMAKE_OBJCOPY} --redefine-sym stdout=gaussmith_stdout --redefine-sym stderr=gaussmith_stderr
        ${GAUSSMITH_${part}_STATIC} ${GAUSSMITH_${part}_LINKED} COMMAND_ERROR_IS_FATAL ANY)
    endif()
  endif()
endmacro()
set(GAUSSMITH_CHOLMOD_PARTS "")
foreach(part camd ccolamd colamd amd suitesparseconfig)
  gaussmith_archive(${part})
  list(APPEND GAUSSMITH_CHOLMOD_PARTS ${GAUSSMITH_${part}_LINKED})
endforeach()
gaussmith_archive(cholmod)
gaussmith_import(cholmod ${GAUSSMITH_cholmod_LINKED} ${GAUSSMITH_CHOLMOD_PARTS} gaussmith::lapacke ${GAUSSMITH_METIS}
  ${GAUSSMITH_GOMP} m)
set_target_properties(gaussmith::cholmod PROPERTIES INTERFACE_INCLUDE_DIRECTORIES ${GAUSSMITH_SUITESPARSE_INCLUDE})

# FFTW, for operators that convolve or transform. Static as well: plans of a program's own FFTW are not ours.
find_library(GAUSSMITH_FFTW_STATIC NAMES libfftw3.a REQUIRED)
gaussmith_import(fftw ${GAUSSMITH_FFTW_STATIC} m)
