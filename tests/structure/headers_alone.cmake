# Compiles, without making an object, one source for each header under ROOT/FOLDER that includes it
# and nothing else. Fails with the name of every header that does not compile.
#   cmake -D COMPILER=... -D ARGUMENTS=FILE -D ROOT=... -D FOLDER=... -D SCRATCH=FOLDER
#         -D "LIBRARIES=<outer.h> <inner.h>..." [-D SOURCES=FOLDER] [-D PREPARE=ON]
#         -P headers_alone.cmake
#
# Nearly all of the time of such a compilation goes into a few headers of libraries (LIBRARIES, in
# the order of how often they are included). With PREPARE, this script only precompiles the first of
# them, the first two, and so on, into SCRATCH. A header that includes all of such a set, directly or
# through headers of the project, is then compiled on top of it: it sees no more than it includes.
cmake_minimum_required(VERSION 3.25)

file(STRINGS ${ARGUMENTS} arguments)
list(TRANSFORM arguments REPLACE "^SHELL:" "")
list(FILTER arguments EXCLUDE REGEX "^$|^-I$")
list(REMOVE_DUPLICATES arguments)
separate_arguments(LIBRARIES)
list(LENGTH LIBRARIES library_count)

if(PREPARE)
  file(MAKE_DIRECTORY ${SCRATCH})
  set(text "")
  foreach(number RANGE 1 ${library_count})
    math(EXPR index "${number} - 1")
    list(GET LIBRARIES ${index} library)
    string(APPEND text "#include ${library}\n")
    set(set ${SCRATCH}/libraries_${number}.h)
    file(WRITE ${set} "${text}")
    execute_process(COMMAND ${COMPILER} ${arguments} -x c++-header ${set} -o ${set}.gch
      COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
  return()
endif()

# Adds to `found` of the caller the headers of LIBRARIES that `header` includes, directly or through
# headers under ROOT or SOURCES. Each header is read once (`known`).
function(find_libraries header)
  get_property(read GLOBAL PROPERTY "read ${header}" SET)
  if(NOT read)
    set(libraries "")
    set(file "")
    foreach(root ${ROOT} ${SOURCES})
      if(EXISTS ${root}/${header})
        set(file ${root}/${header})
        break()
      endif()
    endforeach()
    set_property(GLOBAL PROPERTY "read ${header}" "")  # also ends a circle
    if(file)
      file(STRINGS ${file} includes REGEX "^#include [<\"]")
      foreach(include IN LISTS includes)
        if(include MATCHES "(<[^>]+>)")
          list(APPEND libraries ${CMAKE_MATCH_1})
        elseif(include MATCHES "\"([^\"]+)\"")
          find_libraries(${CMAKE_MATCH_1})
          list(APPEND libraries ${found})
        endif()
      endforeach()
      list(REMOVE_DUPLICATES libraries)
    endif()
    set_property(GLOBAL PROPERTY "read ${header}" "${libraries}")
  endif()
  get_property(found GLOBAL PROPERTY "read ${header}")
  set(found "${found}" PARENT_SCOPE)
endfunction()

file(GLOB_RECURSE headers RELATIVE ${ROOT} ${ROOT}/${FOLDER}/*.h)
set(broken 0)
foreach(header IN LISTS headers)
  find_libraries(${header})
  set(precompiled "")
  set(number 0)
  foreach(library IN LISTS LIBRARIES)
    if(NOT library IN_LIST found)
      break()
    endif()
    math(EXPR number "${number} + 1")
    set(precompiled -include ${SCRATCH}/libraries_${number}.h)
  endforeach()
  set(source ${SCRATCH}/${FOLDER}.cpp)
  file(WRITE ${source} "#include \"${header}\"\n")
  execute_process(
    COMMAND ${COMPILER} ${arguments} ${precompiled} -I${ROOT} -fsyntax-only ${source}
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
