# Writes OUTPUT, a header that describes the sources of the program. Run at build time as
#   cmake -D SOURCE=DIR -D OUTPUT=FILE -D VERSION=... -D COMPILER=... -D FLAGS=...
#         -D OPERATION_FLAGS=... -D BUILD_TYPE=... -P revision.cmake
# The file is only written if its content changes, to avoid needless compilations.

cmake_minimum_required(VERSION 3.25)

set(revision "unknown")
set(changed "nullptr")

# Runs git in SOURCE and leaves "" in `variable` if that fails. No optional locks: a build must not
# block a commit.
function(run_git variable)
  set(${variable} "" PARENT_SCOPE)
  if(NOT GIT)
    return()
  endif()
  execute_process(COMMAND ${GIT} --no-optional-locks ${ARGN}
    WORKING_DIRECTORY ${SOURCE} RESULT_VARIABLE result
    OUTPUT_VARIABLE output ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(result EQUAL 0)
    set(${variable} "${output}" PARENT_SCOPE)
  endif()
endfunction()

find_program(GIT git)
run_git(top rev-parse --show-toplevel)
file(REAL_PATH "${SOURCE}" source)
# Sources unpacked inside another repository have no revision.
if(top STREQUAL source)
  run_git(head rev-parse --verify HEAD)
  if(head)
    set(revision "${head}")
    run_git(status status --porcelain)
    if(status)
      set(changed "true")
    else()
      set(changed "false")
    endif()
  endif()
endif()

# The names and contents of the compiled sources, independent of the repository.
file(GLOB_RECURSE files RELATIVE "${SOURCE}" "${SOURCE}/src/*.cpp" "${SOURCE}/src/*.h"
  "${SOURCE}/src/*.cu" "${SOURCE}/src/*.cuh" "${SOURCE}/apps/*.cpp" "${SOURCE}/apps/*.h"
  "${SOURCE}/apps/CMakeLists.txt" "${SOURCE}/cmake/*.cmake")
list(APPEND files CMakeLists.txt)
list(SORT files)
set(contents "")
foreach(file IN LISTS files)
  file(SHA256 "${SOURCE}/${file}" digest)
  string(APPEND contents "${file} ${digest}\n")
endforeach()
string(SHA256 source_digest "${contents}")

set(content "// Made by cmake/revision.cmake.\n#pragma once\n\n")
string(APPEND content "#define SADDLE_REVISION \"${revision}\"\n")
string(APPEND content "#define SADDLE_CHANGED ${changed}  // whether the tree differed from it\n")
string(APPEND content "#define SADDLE_SOURCE_DIGEST \"${source_digest}\"\n")
foreach(name VERSION COMPILER FLAGS OPERATION_FLAGS BUILD_TYPE)
  string(STRIP "${${name}}" value)
  string(REPLACE "\\" "\\\\" value "${value}")
  string(REPLACE "\"" "\\\"" value "${value}")
  string(APPEND content "#define SADDLE_${name} \"${value}\"\n")
endforeach()
set(written "")
if(EXISTS "${OUTPUT}")
  file(READ "${OUTPUT}" written)
endif()
if(NOT written STREQUAL content)
  file(WRITE "${OUTPUT}" "${content}")
endif()
