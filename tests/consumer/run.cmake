# Installs a finished build into a fresh prefix, then builds and runs this folder's project and the installed tool:
#   cmake -D BUILD=build -D WORK=folder [-D FLAGS=-mavx] [-D REFUSED=text] -P tests/consumer/run.cmake
# With REFUSED, compiling must fail with that text instead.
file(REMOVE_RECURSE ${WORK})
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${WORK}/build -G Ninja -D CMAKE_BUILD_TYPE=Release
  -D CMAKE_PREFIX_PATH=${WORK}/prefix -D "CMAKE_CXX_FLAGS=${FLAGS}")
if(REFUSED)
  execute_process(COMMAND ${CMAKE_COMMAND} --build ${WORK}/build OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE result)
  if(result EQUAL 0 OR NOT output MATCHES "${REFUSED}")
    message(FATAL_ERROR "compiling should have been refused with '${REFUSED}', but gave\n${output}")
  endif()
  return()
endif()
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${WORK}/build/consumer)
if(EXISTS ${BUILD}/bin/gaussmith)
  run(${WORK}/prefix/bin/gaussmith --version)
endif()
