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
gaussmith_dependency(NLopt)
gaussmith_dependency(ZLIB)

# OpenBLAS by name: its Cholesky is the reason we use it, and its thread count must be ours to set.
# Imported targets, so that the installed package names them and not the paths of the machine that built it.
foreach(library openblas lapacke)
  string(TOUPPER GAUSSMITH_${library}_LIBRARY variable)
  find_library(${variable} ${library} REQUIRED)
  if(NOT TARGET gaussmith::${library})
    add_library(gaussmith::${library} UNKNOWN IMPORTED)
    set_target_properties(gaussmith::${library} PROPERTIES IMPORTED_LOCATION ${${variable}})
  endif()
  set(${variable} gaussmith::${library})
endforeach()
