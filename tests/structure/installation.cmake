# Installs the build of folder BUILD under PREFIX, and checks that the program runs there and that
# the documented files are in their places.
#   cmake -D BUILD=... -D SOURCE=... -D PREFIX=... -P installation.cmake
file(REMOVE_RECURSE ${PREFIX})
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${PREFIX}
  OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)

foreach(file IN ITEMS share/man/man1/saddle.1.gz share/bash-completion/completions/saddle
    share/doc/saddle/LICENSE share/doc/saddle/copyright)
  if(NOT EXISTS ${PREFIX}/${file})
    message(FATAL_ERROR "${file} was not installed")
  endif()
endforeach()

# same(INSTALLED SOURCE PATTERN): the files of SOURCE that match, with their content.
function(same installed source pattern)
  file(GLOB_RECURSE names RELATIVE ${SOURCE}/${source} ${SOURCE}/${source}/${pattern})
  if(NOT names)
    message(FATAL_ERROR "${source} has no ${pattern}")
  endif()
  foreach(name IN LISTS names)
    execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files
      ${SOURCE}/${source}/${name} ${PREFIX}/${installed}/${name} COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
endfunction()
same(share/saddle/configs configs *.yaml)
same(share/doc/saddle/docs docs *.md)
execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files
  ${SOURCE}/README.md ${PREFIX}/share/doc/saddle/README.md COMMAND_ERROR_IS_FATAL ANY)

# The page and the completion equal the output of the program.
foreach(row IN ITEMS "manual|gzip -dc share/man/man1/saddle.1.gz"
    "completion|cat share/bash-completion/completions/saddle")
  string(REPLACE "|" ";" row "${row}")
  list(GET row 0 command)
  list(GET row 1 reader)
  separate_arguments(reader)
  execute_process(COMMAND ${PREFIX}/bin/saddle ${command}
    OUTPUT_VARIABLE printed COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${reader} WORKING_DIRECTORY ${PREFIX}
    OUTPUT_VARIABLE installed COMMAND_ERROR_IS_FATAL ANY)
  if(NOT printed STREQUAL installed)
    message(FATAL_ERROR "the output of saddle ${command} differs from the installed file")
  endif()
endforeach()
message("installed under ${PREFIX}")
