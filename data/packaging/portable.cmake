# Installs the program with all of its libraries, those of the C library and its loader among them, so that it runs on any Linux
# of its processor: bin/attn-cli, a launcher without libraries, starts libexec/attn-cli.elf by the loader and lib/attn-cli. Nothing
# else is linked statically: Pango, HarfBuzz, SentencePiece, libzip and Oniguruma have no archives in Debian, and a copy of GLib, cairo or
# FreeType in the program would be a second one next to that which Pango loads.
# attn_program: the program as it was built, attn_late_libraries: what it opens itself, attn_strip: what strips it, attn_headers: packages whose headers are
# compiled into it, attn_packaging: this folder, attn_version: the program's.
set(prefix $ENV{DESTDIR}${CMAKE_INSTALL_PREFIX})
file(STRINGS /etc/os-release attn_debian REGEX "^VERSION_ID=")
string(REGEX MATCH "[0-9.]+" attn_debian "${attn_debian}")
file(MAKE_DIRECTORY ${prefix}/bin ${prefix}/libexec ${prefix}/lib/attn-cli)
execute_process(COMMAND ${attn_strip} -o ${prefix}/libexec/attn-cli.elf ${attn_program} COMMAND_ERROR_IS_FATAL ANY)
# musl's C library makes a launcher of 30 kB, which starts fastest; glibc's makes one of 700 kB.
find_program(attn_static_compiler NAMES musl-gcc cc REQUIRED)
execute_process(COMMAND ${attn_static_compiler} -static -Os -s -Wl,--build-id=none ${attn_packaging}/launcher.c -o ${prefix}/bin/attn-cli
  COMMAND_ERROR_IS_FATAL ANY)

# Libraries that others name and nothing calls: encryption of zip archives, windows, and file systems.
file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${attn_program} LIBRARIES ${attn_late_libraries} RESOLVED_DEPENDENCIES_VAR libraries
  PRE_EXCLUDE_REGEXES "^lib(crypto|gio-2\\.0|X11|Xext|Xrender|xcb|xcb-render|xcb-shm)\\.so")
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
execute_process(COMMAND ${attn_packaging}/stand-ins ${prefix}/lib/attn-cli ${prefix}/libexec/attn-cli.elf COMMAND_ERROR_IS_FATAL ANY)
file(GLOB loader ${prefix}/lib/attn-cli/ld-*.so.*)
file(RENAME ${loader} ${prefix}/libexec/attn-cli)
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
if(attn_static_compiler MATCHES "musl")
  list(APPEND packages musl-dev)
endif()

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
# The same as a bill of materials (CycloneDX).
execute_process(COMMAND dpkg-query -W -f "@{\"type\": \"library\", \"name\": \"\${Package}\", \"version\": \"\${Version}\", \"purl\": \"pkg:deb/debian/\${Package}@\${Version}?arch=\${Architecture}&distro=debian-${attn_debian}\"}" ${packages}
  OUTPUT_VARIABLE components COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE "+" "%2B" components "${components}")
string(REGEX REPLACE "(\"version\": \"[^\"]*)%2B([^\"]*\")" "\\1+\\2" components "${components}")
string(SUBSTRING "${components}" 1 -1 components)
string(REPLACE "@{" ",\n    {" components "${components}")
file(WRITE ${licenses}/sbom.cdx.json "{\"bomFormat\": \"CycloneDX\", \"specVersion\": \"1.5\", \"version\": 1,
  \"metadata\": {\"component\": {\"type\": \"application\", \"name\": \"attn-cli\", \"version\": \"${attn_version}\",
    \"licenses\": [{\"license\": {\"id\": \"MIT\"}}]}},
  \"components\": [
    ${components}]}\n")
execute_process(COMMAND dpkg-query -W -f "\${source:Package} \${source:Version}\n" ${packages} OUTPUT_VARIABLE sources
  COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+" sources "${sources}")
list(REMOVE_DUPLICATES sources)
list(JOIN sources "\n" sources)
file(WRITE ${licenses}/README
  "Libraries, headers and fonts in this archive are Debian's, unchanged; any of lib/attn-cli may be replaced. Their sources are\n"
  "Debian's source packages (https://snapshot.debian.org):\n\n${sources}\n\n"
  "libcrypto, libgio, libX* and libxcb* are not: they stand for libraries that others name and nothing calls, and hold\n"
  "nothing of them but names.\n")

file(COPY ${attn_packaging}/fonts.conf DESTINATION ${prefix}/share/attn-cli)
file(COPY /usr/share/fonts/truetype/dejavu/DejaVuSans.ttf DESTINATION ${prefix}/share/attn-cli/fonts)
file(REAL_PATH /usr/share/doc/fonts-dejavu-core/copyright file)
file(COPY_FILE ${file} ${prefix}/share/attn-cli/fonts/copyright)
