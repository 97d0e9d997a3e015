# Flags of every target, and the functions that declare a room of the library and its tests.

add_library(saddle_flags INTERFACE)
target_include_directories(saddle_flags INTERFACE ${CMAKE_SOURCE_DIR}/src)
target_compile_options(saddle_flags INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor)
if(SADDLE_WARNINGS_AS_ERRORS)
  target_compile_options(saddle_flags INTERFACE -Werror)
endif()
if(CMAKE_UNITY_BUILD)
  # A unity build includes the sources, so g++ warns of types with members local to a source.
  target_compile_options(saddle_flags INTERFACE -Wno-subobject-linkage)
endif()
if(SADDLE_NATIVE)
  target_compile_options(saddle_flags INTERFACE -march=native)
elseif(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  target_compile_options(saddle_flags INTERFACE -march=x86-64-v3)
endif()
if(SADDLE_SANITIZE)
  # g++ 12 gives false warnings in instrumented code of its own library.
  target_compile_options(saddle_flags INTERFACE
    -fsanitize=${SADDLE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all
    "$<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized;-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread>")
  target_link_options(saddle_flags INTERFACE -fsanitize=${SADDLE_SANITIZE})
endif()

# saddle_precompile(TARGET HEADER...): most of the time of compiling a small source goes into these
# headers. Sources that are compiled together (CMAKE_UNITY_BUILD) read them only once anyway. (A test
# checks, without precompiled headers, that each header includes what it needs.)
function(saddle_precompile target)
  if(NOT CMAKE_UNITY_BUILD)
    target_precompile_headers(${target} PRIVATE ${ARGN})
  endif()
endfunction()

# saddle_room(NAME [USES room...] [LIBRARIES target...]): one static library from src/NAME.
function(saddle_room name)
  cmake_parse_arguments(ROOM "" "" "USES;LIBRARIES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.cpp)
  list(FILTER sources EXCLUDE REGEX /cuda/)  # compiled where CUDA, or its emulation, is used
  list(TRANSFORM ROOM_USES PREPEND saddle_)
  if(sources)
    add_library(saddle_${name} STATIC ${sources})
    target_link_libraries(saddle_${name} PUBLIC saddle_flags ${ROOM_USES} ${ROOM_LIBRARIES})
    list(LENGTH sources files)
    if(files GREATER 10)
      saddle_precompile(saddle_${name} <fmt/format.h> <nlohmann/json.hpp>)
    endif()
  else()
    add_library(saddle_${name} INTERFACE)
    target_link_libraries(saddle_${name} INTERFACE saddle_flags ${ROOM_USES} ${ROOM_LIBRARIES})
  endif()
endfunction()

# saddle_tests(NAME [RUNS_PROGRAM] [ALONE] [DEVICES] [ON_DEVICES filter] [SOURCES pattern]
# [USES target...]): one test program from tests/NAME, whose cases ctest runs under the label NAME.
# RUNS_PROGRAM: they start the program saddle. ALONE: no other test runs at the same time. DEVICES:
# ctest runs the cases, or those of the filter, a second time on the emulated device
# (support/test_context.h), label emulated_NAME. SOURCES: files of tests/NAME, by default every .cpp.
function(saddle_tests name)
  cmake_parse_arguments(TESTS "RUNS_PROGRAM;ALONE;DEVICES" "SOURCES;ON_DEVICES" "USES" ${ARGN})
  if(TESTS_DEVICES)
    list(APPEND TESTS_USES saddle_test_device)
  endif()
  if(NOT TESTS_SOURCES)
    set(TESTS_SOURCES *.cpp)
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/${name}/${TESTS_SOURCES})
  if(NOT sources)
    return()
  endif()
  add_executable(${name}_tests ${sources})
  target_link_libraries(${name}_tests PRIVATE saddle_flags ${TESTS_USES} GTest::gmock GTest::gtest_main)
  target_include_directories(${name}_tests PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  # The tested code is built as shipped; the tests themselves need to compile quickly, not to be fast.
  target_compile_options(${name}_tests PRIVATE -O0)
  saddle_precompile(${name}_tests <gmock/gmock.h> <gtest/gtest.h> <nlohmann/json.hpp>)
  target_compile_definitions(${name}_tests PRIVATE
    SADDLE_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
    SADDLE_PROGRAM="$<TARGET_FILE:saddle>")
  if(TESTS_RUNS_PROGRAM)
    add_dependencies(${name}_tests saddle)
  endif()
  gtest_discover_tests(${name}_tests DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
    PROPERTIES LABELS ${name} TIMEOUT 600 RUN_SERIAL "${TESTS_ALONE}")
  if(TESTS_DEVICES)
    gtest_discover_tests(${name}_tests DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
      TEST_PREFIX emulated. TEST_LIST ${name}_emulated TEST_FILTER "${TESTS_ON_DEVICES}"
      PROPERTIES LABELS emulated_${name} TIMEOUT 600 ENVIRONMENT SADDLE_TEST_DEVICE=emulated)
  endif()
endfunction()
