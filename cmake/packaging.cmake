# The files of `cmake --install` and their places, and the Debian package that cpack makes of the
# same files (scripts/package.sh).
include(GNUInstallDirs)

# The installed program finds the library of matrix products with which it was linked. The name in
# the common folder is a Debian alternative, so it may refer to another variant of that library.
cmake_path(GET saddle_blis_blis PARENT_PATH blis_directory)
set_target_properties(saddle PROPERTIES INSTALL_RPATH "${blis_directory}")

install(TARGETS saddle RUNTIME)
install(DIRECTORY configs DESTINATION ${CMAKE_INSTALL_DATADIR}/saddle FILES_MATCHING PATTERN "*.yaml")
install(FILES README.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR})

# The program itself writes its manual page and its completion, so both agree with --help. It does so
# at installation: a build needs neither.
install(CODE [[
  function(saddle_writes file)
    execute_process(COMMAND "$<TARGET_FILE:saddle>" ${ARGN}
      OUTPUT_FILE "${file}" COMMAND_ERROR_IS_FATAL ANY)
  endfunction()]])
set(generated ${CMAKE_BINARY_DIR}/generated)
install(CODE "
  saddle_writes(\"${generated}/saddle.1\" manual)
  saddle_writes(\"${generated}/saddle\" completion)
  execute_process(COMMAND gzip -9nf \"${generated}/saddle.1\" COMMAND_ERROR_IS_FATAL ANY)")
install(FILES ${generated}/saddle.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${generated}/saddle
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME saddle)
set(CPACK_PACKAGE_CONTACT "The saddle developers <saddle@example.org>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "train small language models and measure their curvature")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"saddle trains small Llama-style language models on the cores of a
processor, alone or several together that mix their weights, and
measures how their loss curves.")
if(SADDLE_NATIVE)
  string(APPEND CPACK_DEBIAN_PACKAGE_DESCRIPTION
    "\nThis package is for processors like the one on which it was built.")
else()
  string(APPEND CPACK_DEBIAN_PACKAGE_DESCRIPTION "\nThis package needs a processor with AVX2.")
endif()
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# The dependency recorded by the library itself accepts any variant.
set(CPACK_DEBIAN_PACKAGE_DEPENDS libblis4-openmp)
# For figures, and for the certificates of the servers from which data is downloaded.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "gnuplot-nox, ca-certificates")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "bash-completion, slurm-client")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
install(FILES LICENSE RENAME copyright DESTINATION ${CMAKE_INSTALL_DOCDIR})  # as Debian calls it
include(CPack)
