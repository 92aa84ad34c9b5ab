# Installs the program with all of its libraries but the C library's, for systems that lack them: bin/attn-cli finds them in
# lib/attn-cli beside it by a run path that cmake --install removes from an ordinary installation. Nothing is linked
# statically: Pango, HarfBuzz, SentencePiece, libzip and Oniguruma have no archives in Debian, and a copy of GLib, cairo or
# FreeType in the program would be a second one next to that which Pango loads.
# attn_program: the program as it was built, attn_late_libraries: what it opens itself, attn_strip: what strips it, attn_headers: packages whose headers are
# compiled into it.
set(prefix $ENV{DESTDIR}${CMAKE_INSTALL_PREFIX})
file(COPY ${attn_program} DESTINATION ${prefix}/bin)
execute_process(COMMAND ${attn_strip} ${prefix}/bin/attn-cli COMMAND_ERROR_IS_FATAL ANY)

# The C library belongs to the system's loader and kernel.
file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${attn_program} LIBRARIES ${attn_late_libraries} RESOLVED_DEPENDENCIES_VAR libraries
  PRE_EXCLUDE_REGEXES "^lib(c|m|dl|rt|pthread|resolv)\\.so" "^ld-linux")
file(MAKE_DIRECTORY ${prefix}/lib/attn-cli)
list(APPEND libraries ${attn_late_libraries})
set(paths)
foreach(library IN LISTS libraries)
  get_filename_component(name ${library} NAME)
  file(REAL_PATH ${library} file)
  file(COPY_FILE ${file} ${prefix}/lib/attn-cli/${name})
  # Packages name some libraries by the link /lib.
  string(REGEX REPLACE "^/usr" "" linked ${file})
  list(APPEND paths ${file} ${linked})
endforeach()
# One call, as each reads the lists of all packages. It tells of paths that it does not find.
execute_process(COMMAND dpkg-query -S ${paths} OUTPUT_VARIABLE owners ERROR_QUIET)
string(REGEX MATCHALL "[^:\n]+:[^\n]+" owners "${owners}")
list(LENGTH libraries count)
list(LENGTH owners found)
if(NOT found EQUAL count)
  message(FATAL_ERROR "dpkg-query finds the packages of ${found} of ${count} libraries")
endif()
list(TRANSFORM owners REPLACE ":.*" "")
set(packages ${owners} ${attn_headers} fonts-dejavu-core)

# Licenses ask that they go with what they are for, and some that its sources can be found.
set(licenses ${prefix}/share/doc/attn-cli/libraries)
list(REMOVE_DUPLICATES packages)
list(SORT packages)
foreach(package IN LISTS packages)
  file(REAL_PATH /usr/share/doc/${package}/copyright file)
  file(MAKE_DIRECTORY ${licenses})
  file(COPY_FILE ${file} ${licenses}/${package}.copyright)
endforeach()
file(COPY /usr/share/common-licenses DESTINATION ${licenses})
execute_process(COMMAND dpkg-query -W -f "\${source:Package} \${source:Version}\n" ${packages} OUTPUT_VARIABLE sources
  COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+" sources "${sources}")
list(REMOVE_DUPLICATES sources)
list(JOIN sources "\n" sources)
file(WRITE ${licenses}/README
  "Libraries, headers and fonts in this archive are Debian's, unchanged. Their sources are Debian's source packages\n"
  "(https://snapshot.debian.org):\n\n${sources}\n")

file(COPY ${attn_fonts} DESTINATION ${prefix}/share/attn-cli)
file(COPY /usr/share/fonts/truetype/dejavu/DejaVuSans.ttf DESTINATION ${prefix}/share/attn-cli/fonts)
