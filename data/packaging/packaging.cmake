# Installs the program, the library with its CMake and pkg-config files, the manual page, completions and examples,
# and packs all of it for Debian.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(attn_doc_folder ${CMAKE_INSTALL_DATADIR}/doc/attn-cli)

# The program.
install(TARGETS attn-cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
file(GLOB attn_examples CONFIGURE_DEPENDS data/*.json data/*.txt data/README.md)
install(FILES ${attn_examples} DESTINATION ${CMAKE_INSTALL_DATADIR}/attn-cli/examples COMPONENT program)
install(DIRECTORY data/animal data/speeches DESTINATION ${CMAKE_INSTALL_DATADIR}/attn-cli/examples COMPONENT program)
install(FILES ${attn_catalogue} DESTINATION ${CMAKE_INSTALL_LOCALEDIR}/zh_CN/LC_MESSAGES COMPONENT program)
install(FILES LICENSE DESTINATION ${attn_doc_folder} COMPONENT program RENAME copyright)
install(FILES README.md DESTINATION ${attn_doc_folder} COMPONENT program)
install(DIRECTORY docs/ DESTINATION ${attn_doc_folder}/docs COMPONENT program)

# The program knows its own flags, so it writes its manual page and its completions itself.
set(attn_generated ${PROJECT_BINARY_DIR}/generated)
add_custom_command(
  OUTPUT ${attn_generated}/attn-cli.1 ${attn_generated}/attn-cli.bash ${attn_generated}/_attn-cli
         ${attn_generated}/attn-cli.fish
  COMMAND ${CMAKE_COMMAND} -E make_directory ${attn_generated}
  COMMAND attn-cli manual > ${attn_generated}/attn-cli.1
  COMMAND attn-cli completion bash > ${attn_generated}/attn-cli.bash
  COMMAND attn-cli completion zsh > ${attn_generated}/_attn-cli
  COMMAND attn-cli completion fish > ${attn_generated}/attn-cli.fish
  DEPENDS attn-cli VERBATIM)
add_custom_target(attn-manual ALL DEPENDS ${attn_generated}/attn-cli.1)
install(FILES ${attn_generated}/attn-cli.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program)
install(FILES ${attn_generated}/attn-cli.bash RENAME attn-cli
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT program)
install(FILES ${attn_generated}/_attn-cli DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT program)
install(FILES ${attn_generated}/attn-cli.fish
  DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT program)

# The library. Where it is static, its own libraries are linked by whoever links it.
install(TARGETS attn EXPORT attn-targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT program)
install(DIRECTORY include/attn DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
set(attn_find_modules "")
set(attn_modules "")
foreach(module IN LISTS attn_pkg_modules)
  string(REPLACE "=" ";" module "${module}")
  list(POP_FRONT module target)
  string(REPLACE "," " " packages "${module}")
  string(APPEND attn_find_modules "pkg_check_modules(${target} QUIET REQUIRED IMPORTED_TARGET ${packages})\n")
  string(APPEND attn_modules " ${packages}")
endforeach()
string(STRIP "${attn_modules}" attn_modules)
get_target_property(attn_type attn TYPE)
set(attn_private "")
if(attn_type STREQUAL "SHARED_LIBRARY")
  set(attn_private ".private")
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

# Debian packages: cpack -G DEB
set(CPACK_PACKAGE_NAME attn-cli)
set(CPACK_PACKAGE_CONTACT "attn-cli developers <attn-cli@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Computes attention exactly and draws it")
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL program development)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME attn-cli)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS "fonts-dejavu-core")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS "fonts-wqy-zenhei")
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION
  "Reads queries, keys and values, hidden states or tokens, computes the attention
asked for, and writes weights, output and pictures.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libattn-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS ${attn_development_packages})
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "The library attn: headers, archive, CMake and pkg-config files.")
include(CPack)
