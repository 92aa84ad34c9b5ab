# Installs the program, the library with its CMake and pkg-config files, the manual page, completions and examples,
# and packs all of it: cpack makes two packages for Debian and an archive that runs on any Linux.

# Where the compiler looks in a folder of its own for each processor, as Debian's does, packages are looked for there too.
if(CMAKE_LIBRARY_ARCHITECTURE)
  set(CMAKE_INSTALL_LIBDIR lib/${CMAKE_LIBRARY_ARCHITECTURE} CACHE PATH "Folder of libraries")
endif()
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(attn_doc_folder ${CMAKE_INSTALL_DATADIR}/doc/attn-cli)
set(attn_generated ${PROJECT_BINARY_DIR}/generated)
file(MAKE_DIRECTORY ${attn_generated})

# Installs into the program's package and into the portable archive.
macro(attn_install)
  install(${ARGV} COMPONENT program)
  install(${ARGV} COMPONENT portable EXCLUDE_FROM_ALL)
endmacro()

# The program.
install(TARGETS attn-cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
install(CODE "set(attn_program \"$<TARGET_FILE:attn-cli>\")
  set(attn_late_libraries ${attn_late_libraries})
  set(attn_strip \"${CMAKE_STRIP}\")
  set(attn_packaging \"${CMAKE_CURRENT_LIST_DIR}\")
  set(attn_version ${PROJECT_VERSION})
  set(attn_headers libcli11-dev libeigen3-dev libfast-float-dev libhwy-dev libstb-dev libxtensor-dev nlohmann-json3-dev)"
  COMPONENT portable EXCLUDE_FROM_ALL)
install(SCRIPT ${CMAKE_CURRENT_LIST_DIR}/portable.cmake COMPONENT portable EXCLUDE_FROM_ALL)

file(GLOB attn_examples CONFIGURE_DEPENDS data/*.json data/*.txt data/README.md)
attn_install(FILES ${attn_examples} DESTINATION ${CMAKE_INSTALL_DATADIR}/attn-cli/examples)
attn_install(DIRECTORY data/animal data/figures data/own data/shapes data/speeches DESTINATION ${CMAKE_INSTALL_DATADIR}/attn-cli/examples)
attn_install(FILES ${attn_catalogue} DESTINATION ${CMAKE_INSTALL_LOCALEDIR}/zh_CN/LC_MESSAGES)
attn_install(FILES LICENSE DESTINATION ${attn_doc_folder} RENAME copyright)
attn_install(FILES README.md DESTINATION ${attn_doc_folder})
attn_install(DIRECTORY docs/ DESTINATION ${attn_doc_folder}/docs)

# The program knows its own flags, so it writes its manual pages and its completions itself.
set(attn_pages ${attn_generated}/attn-cli.1)
set(attn_write_pages COMMAND attn-cli manual > ${attn_generated}/attn-cli.1)
foreach(command run batch plot show explain heads circuits view compare validate schema model tokens example bench list completion manual)
  list(APPEND attn_pages ${attn_generated}/attn-cli-${command}.1)
  list(APPEND attn_write_pages COMMAND attn-cli manual ${command} > ${attn_generated}/attn-cli-${command}.1)
endforeach()
list(TRANSFORM attn_pages APPEND .gz OUTPUT_VARIABLE attn_packed_pages)
add_custom_command(
  OUTPUT ${attn_packed_pages} ${attn_generated}/attn-cli.bash ${attn_generated}/_attn-cli ${attn_generated}/attn-cli.fish
  ${attn_write_pages}
  COMMAND gzip -9nf ${attn_pages}
  COMMAND attn-cli completion bash > ${attn_generated}/attn-cli.bash
  COMMAND attn-cli completion zsh > ${attn_generated}/_attn-cli
  COMMAND attn-cli completion fish > ${attn_generated}/attn-cli.fish
  DEPENDS attn-cli VERBATIM)
add_custom_target(attn-manual ALL DEPENDS ${attn_generated}/attn-cli.1.gz)
attn_install(FILES ${attn_packed_pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
attn_install(FILES ${attn_generated}/attn-cli.bash RENAME attn-cli
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
attn_install(FILES ${attn_generated}/_attn-cli DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
attn_install(FILES ${attn_generated}/attn-cli.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)

# The library. Where it is static, its own libraries are linked by whoever links it.
install(TARGETS attn EXPORT attn-targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT program)
install(DIRECTORY include/attn DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
set(attn_find_modules "")
set(attn_link_flags "")
foreach(module IN LISTS attn_pkg_modules)
  string(REPLACE "=" ";" module "${module}")
  list(POP_FRONT module target)
  string(REPLACE "," " " packages "${module}")
  string(APPEND attn_find_modules "pkg_check_modules(${target} QUIET REQUIRED IMPORTED_TARGET ${packages})\n")
  list(APPEND attn_link_flags ${${target}_LDFLAGS})
endforeach()
# Flags instead of `Requires`, which pkg-config --static would resolve down to the C library, naming each many times.
list(APPEND attn_link_flags -lhwy)
list(FILTER attn_link_flags EXCLUDE REGEX "^-L/usr/lib")
list(REMOVE_DUPLICATES attn_link_flags)
list(JOIN attn_link_flags " " attn_link_flags)
get_target_property(attn_type attn TYPE)
set(attn_private " ")
if(attn_type STREQUAL "SHARED_LIBRARY")
  set(attn_private "\nLibs.private: ")
endif()
set(attn_cmake_folder ${CMAKE_INSTALL_LIBDIR}/cmake/attn)
install(EXPORT attn-targets NAMESPACE attn:: DESTINATION ${attn_cmake_folder} COMPONENT development)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/attn-config.cmake.in attn-config.cmake
  INSTALL_DESTINATION ${attn_cmake_folder} NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(attn-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/attn-config.cmake ${PROJECT_BINARY_DIR}/attn-config-version.cmake
  DESTINATION ${attn_cmake_folder} COMPONENT development)
file(RELATIVE_PATH attn_prefix_from_pkgconfig ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(${CMAKE_CURRENT_LIST_DIR}/attn.pc.in attn.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/attn.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

# Both packages have the list of changes and the license that Debian asks for.
add_custom_command(OUTPUT ${attn_generated}/changelog.gz
  COMMAND gzip -9nc ${CMAKE_CURRENT_LIST_DIR}/changelog > ${attn_generated}/changelog.gz
  DEPENDS data/packaging/changelog VERBATIM)
add_custom_target(attn-changelog ALL DEPENDS ${attn_generated}/changelog.gz)
install(FILES ${attn_generated}/changelog.gz DESTINATION ${attn_doc_folder} COMPONENT program)
install(FILES ${attn_generated}/changelog.gz DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libattn-dev COMPONENT development)
install(FILES LICENSE RENAME copyright DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libattn-dev COMPONENT development)

# The last line of the list of changes names who maintains the packages.
file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/changelog attn_maintainer REGEX "^ -- ")
list(GET attn_maintainer 0 attn_maintainer)
string(REGEX REPLACE "^ -- ([^>]*>).*" "\\1" attn_maintainer "${attn_maintainer}")

set(CPACK_GENERATOR DEB TXZ)
# Blocks that are compressed at the same time, the same ones for any number of processors from two on.
set(CPACK_ARCHIVE_THREADS 2)
set(CPACK_ATTN_CPU_TARGETS ${ATTN_CPU_TARGETS})
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_CURRENT_LIST_DIR}/generator.cmake)
set(CPACK_PACKAGE_CHECKSUM SHA256)
set(CPACK_PACKAGE_NAME attn-cli)
set(CPACK_PACKAGE_CONTACT "${attn_maintainer}")
set(CPACK_STRIP_FILES ON)
set(CPACK_ARCHIVE_PORTABLE_FILE_NAME attn-cli-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME attn-cli)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
# Packages of libraries that the program opens itself, which dpkg-shlibdeps does not see.
set(attn_depends fonts-dejavu-core)
foreach(library IN LISTS attn_late_libraries)
  get_filename_component(library ${library} NAME)
  execute_process(COMMAND dpkg-query -S */${library} OUTPUT_VARIABLE owner ERROR_QUIET)
  if(owner MATCHES "^([^:]+)")
    list(APPEND attn_depends ${CMAKE_MATCH_1})
  endif()
endforeach()
list(JOIN attn_depends ", " CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS "fonts-wqy-zenhei")
# Pictures in terminals that show sixels.
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS libsixel1)
set(CPACK_DEBIAN_PROGRAM_DESCRIPTION
  "computes attention exactly and draws it
Reads queries, keys and values, hidden states or tokens, computes the attention
asked for, and writes weights, output and pictures.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libattn-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
# From Debian 13 on pkg-config asks for what SentencePiece itself is built with.
execute_process(COMMAND ${PKG_CONFIG_EXECUTABLE} --print-requires-private sentencepiece OUTPUT_VARIABLE attn_required)
if(attn_required MATCHES "protobuf")
  string(APPEND attn_development_packages ", libprotobuf-dev")
endif()
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS ${attn_development_packages})
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION
  "library that computes attention exactly and draws it: development files
The library of the program attn-cli for programs in C++20: headers, a static
archive, and files for CMake and pkg-config.")
include(CPack)
