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

set(ENV{PKG_CONFIG_PATH} ${FOLDER}/prefix/lib/pkgconfig)
run(pkg-config --cflags --libs attn)
separate_arguments(flags UNIX_COMMAND "${output}")
run(c++ -std=c++20 ${FOLDER}/programs/program1.cpp -o ${FOLDER}/by_pkg_config ${flags})
run(${FOLDER}/by_pkg_config)

foreach(file bin/attn-cli share/man/man1/attn-cli.1 share/bash-completion/completions/attn-cli
        share/zsh/vendor-completions/_attn-cli share/fish/vendor_completions.d/attn-cli.fish
        share/attn-cli/examples/causal.json share/locale/zh_CN/LC_MESSAGES/attn.mo share/doc/attn-cli/README.md include/attn/attn.hpp)
  if(NOT EXISTS ${FOLDER}/prefix/${file})
    message(FATAL_ERROR "${file} is not installed")
  endif()
endforeach()
run(${FOLDER}/prefix/bin/attn-cli run ${FOLDER}/prefix/share/attn-cli/examples/causal.json
    --plots none --quiet --out ${FOLDER}/results)
run(${FOLDER}/prefix/bin/attn-cli explain ${FOLDER}/prefix/share/attn-cli/examples/causal.json --lang zh)
if(NOT output MATCHES "值的加权和")
  message(FATAL_ERROR "the installed program speaks no Chinese:\n${output}")
endif()

# Every command of every document, in an empty folder, with the program as it is installed.
set(ENV{ATTN_TESTED} ${FOLDER}/prefix/bin/attn-cli)
run(${TESTS} "-tc=the commands of*")
