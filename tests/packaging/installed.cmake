# The library as a user has it after cmake --install: found by find_package and by pkg-config, wherever it was put.
# ROOT: the source tree, BUILD: its build, FOLDER: where to work.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/programs.cmake)
file(REMOVE_RECURSE ${FOLDER})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${FOLDER}/made)
# A folder may be moved after it was installed.
file(RENAME ${FOLDER}/made ${FOLDER}/prefix)

write_programs(${FOLDER}/programs "find_package(attn 0.1 REQUIRED)")
run(${CMAKE_COMMAND} -G Ninja -S ${FOLDER}/programs -B ${FOLDER}/build -DCMAKE_PREFIX_PATH=${FOLDER}/prefix)
run(${CMAKE_COMMAND} --build ${FOLDER}/build)
run_programs(${FOLDER}/build)

file(GLOB_RECURSE settings ${FOLDER}/prefix/lib/attn.pc)
get_filename_component(settings ${settings} DIRECTORY)
set(ENV{PKG_CONFIG_PATH} ${settings})
run(pkg-config --static --libs attn)
string(REGEX MATCHALL "[^ \n]+" flags "${output}")
set(different ${flags})
list(REMOVE_DUPLICATES different)
if(NOT flags STREQUAL different)
  message(FATAL_ERROR "pkg-config --static repeats flags:\n${output}")
endif()
run(pkg-config --cflags --libs attn)
separate_arguments(flags UNIX_COMMAND "${output}")
run(c++ -std=c++20 ${FOLDER}/programs/program1.cpp -o ${FOLDER}/by_pkg_config ${flags})
run(${FOLDER}/by_pkg_config)

foreach(file bin/attn-cli share/man/man1/attn-cli.1.gz share/bash-completion/completions/attn-cli
        share/zsh/vendor-completions/_attn-cli share/fish/vendor_completions.d/attn-cli.fish
        share/attn-cli/examples/causal.json share/locale/zh_CN/LC_MESSAGES/attn.mo share/doc/attn-cli/README.md include/attn/attn.hpp)
  if(NOT EXISTS ${FOLDER}/prefix/${file})
    message(FATAL_ERROR "${file} is not installed")
  endif()
endforeach()
run(${FOLDER}/prefix/bin/attn-cli completion fish)
string(REGEX MATCHALL "__fish_use_subcommand -f -a [a-z]+" commands "${output}")
foreach(command IN LISTS commands)
  string(REGEX REPLACE ".* " "" command "${command}")
  run(gzip -dc ${FOLDER}/prefix/share/man/man1/attn-cli-${command}.1.gz)
  if(NOT output MATCHES "\\.SH SEE ALSO")
    message(FATAL_ERROR "the manual page of ${command} is not whole:\n${output}")
  endif()
endforeach()
run(${FOLDER}/prefix/bin/attn-cli run ${FOLDER}/prefix/share/attn-cli/examples/causal.json
    --plots none --quiet --out ${FOLDER}/results)
run(${FOLDER}/prefix/bin/attn-cli explain ${FOLDER}/prefix/share/attn-cli/examples/causal.json --lang zh)
if(NOT output MATCHES "值的加权和")
  message(FATAL_ERROR "the installed program speaks no Chinese:\n${output}")
endif()

# What Debian asks of a package: a list of changes that begins with this version, and a program without a run path.
file(STRINGS ${ROOT}/include/attn/version.hpp version REGEX "^#define ATTN_VERSION ")
string(REGEX MATCH "[0-9.]+" version "${version}")
foreach(package attn-cli libattn-dev)
  run(gzip -dc ${FOLDER}/prefix/share/doc/${package}/changelog.gz)
  if(NOT output MATCHES "^attn-cli \\(${version}\\) .*\n -- .* <.*@.*>  ")
    message(FATAL_ERROR "the list of changes of ${package} does not begin with ${version}:\n${output}")
  endif()
  if(NOT EXISTS ${FOLDER}/prefix/share/doc/${package}/copyright)
    message(FATAL_ERROR "${package} has no license")
  endif()
endforeach()
run(readelf -d ${FOLDER}/prefix/bin/attn-cli)
if(output MATCHES "RPATH|RUNPATH")
  message(FATAL_ERROR "the installed program has a run path:\n${output}")
endif()

# Documents are installed with all that they link to.
set(documents ${FOLDER}/prefix/share/doc/attn-cli)
file(GLOB pages ${documents}/*.md ${documents}/docs/*.md ${documents}/docs/inside/*.md)
foreach(page IN LISTS pages)
  file(READ ${page} text)
  get_filename_component(folder ${page} DIRECTORY)
  string(REPLACE "](" "<link>" text "${text}")  # brackets would join the elements of a list
  string(REGEX MATCHALL "<link>[^)#: ]+[)#]" links "${text}")
  foreach(link IN LISTS links)
    string(REGEX REPLACE "^<link>|[)#]$" "" link "${link}")
    if(NOT EXISTS "${folder}/${link}")
      message(FATAL_ERROR "${page} links to ${link}, which is not installed")
    endif()
  endforeach()
endforeach()

# The portable archive: the program with its libraries, of which it takes none from the system, and with a font for a system that
# has none. All names that its libraries take from others are there (LD_BIND_NOW).
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${FOLDER}/archive --component portable)
file(RENAME ${FOLDER}/archive ${FOLDER}/portable)
run(${CMAKE_COMMAND} -E env --unset=FONTCONFIG_FILE LD_BIND_NOW=1 LD_DEBUG=files LD_DEBUG_OUTPUT=${FOLDER}/loaded
    ${FOLDER}/portable/bin/attn-cli run ${FOLDER}/portable/share/attn-cli/examples/causal.json --quiet --tensors npz
    --out ${FOLDER}/drawn)
file(GLOB loaded ${FOLDER}/loaded.*)
file(READ ${loaded} loaded)
string(REGEX MATCHALL "calling init: [^ \n]+" libraries "${loaded}")
list(LENGTH libraries count)
list(FILTER libraries EXCLUDE REGEX ": ${FOLDER}/portable/")
if(libraries OR count LESS 20)
  message(FATAL_ERROR "of ${count} libraries the portable program takes from the system: ${libraries}")
endif()
foreach(file drawn/heatmap.png portable/share/doc/attn-cli/libraries/libpango-1.0-0.copyright
        portable/share/attn-cli/fonts/DejaVuSans.ttf portable/share/man/man1/attn-cli.1.gz)
  if(NOT EXISTS ${FOLDER}/${file})
    message(FATAL_ERROR "the portable archive has or draws no ${file}")
  endif()
endforeach()

# The README's commands, in an empty folder, with the program as it is installed: its examples and its model lie elsewhere there.
set(ENV{ATTN_TESTED} ${FOLDER}/prefix/bin/attn-cli)
run(${TESTS} "-tc=the commands of the README*")
