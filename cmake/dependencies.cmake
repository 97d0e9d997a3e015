# All libraries come from Debian 12's packages; scripts/install-packages.sh lists them.
find_package(Threads REQUIRED)
if(NOT SADDLE_FUZZ)  # its sources compute nothing
  find_package(OpenMP REQUIRED COMPONENTS CXX)
endif()
find_package(OpenSSL REQUIRED COMPONENTS Crypto SSL)
find_package(ZLIB REQUIRED)
find_package(CURL 7.85 REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(Eigen3 REQUIRED NO_MODULE)

# Libraries whose packages have no CMake configuration of their own get an imported target here.
function(saddle_import name header)
  find_path(${name}_INCLUDE_DIR ${header} REQUIRED)
  add_library(${name} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${name} SYSTEM INTERFACE ${${name}_INCLUDE_DIR})
  foreach(library IN LISTS ARGN)
    find_library(${name}_${library} ${library} PATH_SUFFIXES blis-openmp REQUIRED)
    target_link_libraries(${name} INTERFACE ${${name}_${library}})
  endforeach()
endfunction()

saddle_import(saddle_dnnl dnnl.h dnnl)
saddle_import(saddle_blis blis-openmp/cblas.h blis)
saddle_import(saddle_sentencepiece sentencepiece_processor.h sentencepiece sentencepiece_train)

# SentencePiece gives its version only in the pkg-config file next to the library.
set(SADDLE_SENTENCEPIECE_VERSION unknown)
cmake_path(REPLACE_FILENAME saddle_sentencepiece_sentencepiece pkgconfig/sentencepiece.pc
  OUTPUT_VARIABLE sentencepiece_description)
if(EXISTS "${sentencepiece_description}")
  file(STRINGS "${sentencepiece_description}" version_line REGEX "^Version:")
  string(REGEX REPLACE "^Version:[ \t]*" "" SADDLE_SENTENCEPIECE_VERSION "${version_line}")
endif()

add_library(saddle_yaml INTERFACE IMPORTED GLOBAL)
target_include_directories(saddle_yaml SYSTEM INTERFACE ${YAML_CPP_INCLUDE_DIR})
target_link_libraries(saddle_yaml INTERFACE yaml-cpp)
