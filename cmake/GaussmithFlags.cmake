# Compiler flags of every target of ours, kept apart from the interface that users see.
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

# The installed tool finds a shared library beside it, wherever the prefix is.
set(CMAKE_INSTALL_RPATH $ORIGIN/../${CMAKE_INSTALL_LIBDIR})

add_library(gaussmith_flags INTERFACE)
target_compile_options(gaussmith_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion)
# No-trapping and no-errno let loops over exp and log vectorise; results stay IEEE.
target_compile_options(gaussmith_flags INTERFACE -fno-math-errno -fno-trapping-math)
# One build has one source of threads: ours. Eigen's own would change sums with the thread count.
target_compile_definitions(gaussmith_flags INTERFACE EIGEN_DONT_PARALLELIZE)

if(GAUSSMITH_SANITIZE)
  target_compile_options(gaussmith_flags INTERFACE -fsanitize=${GAUSSMITH_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(gaussmith_flags INTERFACE -fsanitize=${GAUSSMITH_SANITIZE})
  if(GAUSSMITH_SANITIZE MATCHES undefined)
    # Null, alignment and object-size checks sit on every access through Eigen, nearly double the time to compile, and see
    # little that the address sanitizer does not.
    target_compile_options(gaussmith_flags INTERFACE -fno-sanitize-recover=undefined
      -fno-sanitize=null,alignment,object-size,vptr)
  endif()
endif()
if(GAUSSMITH_COVERAGE)
  # Only the layers in src/ are instrumented: what is covered there is the question, and instrumenting is slow.
  target_link_options(gaussmith_flags INTERFACE --coverage)
endif()

# Parsing Eigen, fmt and the standard library is most of the time that a small file takes to compile.
set(GAUSSMITH_SHARED_HEADERS <Eigen/Core> <Eigen/SparseCore> <fmt/format.h> <fmt/ranges.h> <algorithm> <cmath> <functional>
    <map> <memory> <optional> <string> <variant> <vector>)

# gaussmith_precompile(TARGET [header...]): the shared headers and these, for this target alone.
function(gaussmith_precompile target)
  if(GAUSSMITH_PRECOMPILE)
    target_precompile_headers(${target} PRIVATE ${GAUSSMITH_SHARED_HEADERS} ${ARGN})
  endif()
endfunction()

# gaussmith_precompile_like(TARGET FIRST): what FIRST has precompiled; both must have the same flags.
function(gaussmith_precompile_like target first)
  if(GAUSSMITH_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM ${first})
  endif()
endfunction()

# gaussmith_together(TARGET SIZE FILE...): its files are compiled in batches of up to SIZE. Each instantiates much the same
# templates, so that a batch takes a third to a half of what its files take.
find_package(Python3 COMPONENTS Interpreter QUIET)
function(gaussmith_together target size)
  if(NOT GAUSSMITH_TOGETHER OR NOT Python3_Interpreter_FOUND)
    return()
  endif()
  execute_process(COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/scripts/batches.py ${size} ${ARGN}
    OUTPUT_VARIABLE grouped COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" grouped "${grouped}")
  foreach(entry ${grouped})
    string(REGEX MATCH "^([0-9]+) (.*)$" matched "${entry}")
    set_source_files_properties(${CMAKE_MATCH_2} PROPERTIES UNITY_GROUP batch_${CMAKE_MATCH_1})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # An edit may give a file a name of another.
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${ARGN} ${PROJECT_SOURCE_DIR}/scripts/batches.py)
endfunction()
