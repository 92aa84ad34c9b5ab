# The library as a part of a larger tree. What was built is kept for the next time.
# ROOT: the source tree, FOLDER: where to work.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/programs.cmake)
write_programs(${FOLDER} "add_subdirectory(${ROOT} attn)")
build_and_run(${FOLDER} -DCMAKE_BUILD_TYPE=Debug)
