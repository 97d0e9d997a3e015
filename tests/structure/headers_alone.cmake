# Compiles, without making an object, one source for each header under ROOT/FOLDER that includes it
# and nothing else. Fails with the name of every header that does not compile.
#   cmake -D COMPILER=... -D ARGUMENTS=FILE -D ROOT=... -D FOLDER=... -D SCRATCH=FILE.cpp
#         -P headers_alone.cmake
file(STRINGS ${ARGUMENTS} arguments)
list(TRANSFORM arguments REPLACE "^SHELL:" "")
list(FILTER arguments EXCLUDE REGEX "^$|^-I$")
list(REMOVE_DUPLICATES arguments)

file(GLOB_RECURSE headers RELATIVE ${ROOT} ${ROOT}/${FOLDER}/*.h)
set(broken 0)
foreach(header IN LISTS headers)
  file(WRITE ${SCRATCH} "#include \"${header}\"\n")
  execute_process(
    COMMAND ${COMPILER} ${arguments} -I${ROOT} -fsyntax-only ${SCRATCH}
    RESULT_VARIABLE result ERROR_VARIABLE errors OUTPUT_VARIABLE errors)
  if(NOT result EQUAL 0)
    math(EXPR broken "${broken} + 1")
    message("${header} does not compile alone:\n${errors}")
  endif()
endforeach()
list(LENGTH headers count)
if(broken)
  message(FATAL_ERROR "${broken} of ${count} headers do not compile alone")
endif()
message("${count} headers compile alone")
