# Fails if the library names a function that prints or one that ends the program.
#   cmake -D LIBRARY=<libattn> -D NM=<nm> [-D LESS=ON] -P symbols.cmake
# LESS is for builds other than GCC's optimised one: there every function that is noexcept and stands on its own names
# std::terminate, what can never be reached stays, and where NDEBUG is not set libraries check their own promises.

cmake_minimum_required(VERSION 3.25)

# C++ names as the linker sees them: std::cout, cerr, clog, wcout, wcerr, wclog; std::terminate, the standard library's
# failed assertions, Highway's end.
set(forbidden _ZSt4cout _ZSt4cerr _ZSt4clog _ZSt5wcout _ZSt5wcerr _ZSt5wclog stdout stderr
  printf vprintf wprintf vwprintf puts putchar putwchar perror psignal __printf_chk __vprintf_chk
  dprintf vdprintf __dprintf_chk __vdprintf_chk syslog vsyslog warn warnx vwarn vwarnx err errx verr verrx error
  g_print g_printerr g_log g_logv g_log_structured g_log_structured_standard
  exit _exit _Exit quick_exit abort raise kill pthread_kill pthread_exit longjmp
  _ZSt21__glibcxx_assert_failPKciS0_S0_
  g_assertion_message g_assertion_message_expr g_return_if_fail_warning
  # Bytes for a descriptor, which could be that of standard output.
  write writev pwrite pwrite64 sendfile)
if(NOT LESS)
  list(APPEND forbidden _ZSt9terminatev __assert_fail _ZN3hwy5AbortEPKciS1_z)
endif()

# Symbols that are allowed in an object, with the reason.
set(allowed
  atomic_file.cpp.o:write              # into files that it opened itself
  summary.cpp.o:write                  # lines at the end of a file that it opened itself
  work_queue.cpp.o:_ZSt9terminatev  # inlined from std::thread, as in thread_pool
  reference.cpp.o:_ZSt9terminatev  # inlined from xtensor, whose steps over expressions are noexcept
  jpeg.cpp.o:longjmp               # out of libjpeg's and libpng's own errors, as both ask for
  png.cpp.o:longjmp
  thread_pool.cpp.o:_ZSt9terminatev)  # inlined from std::thread, for a thread that was not joined; all are

# A line is "libattn.a[object]: symbol U", of a shared library "libattn.so: symbol U".
execute_process(COMMAND ${NM} -A -P --undefined-only ${LIBRARY}
  OUTPUT_VARIABLE symbols ERROR_VARIABLE errors RESULT_VARIABLE code)
if(NOT code EQUAL 0 OR NOT symbols MATCHES "aligned_alloc U")
  message(FATAL_ERROR "${NM} finds no symbols in ${LIBRARY}\n${errors}")
endif()
# Lists do not come apart at a bracket that stands alone.
string(REGEX REPLACE "[][]" " " symbols "${symbols}")
list(JOIN forbidden "|" forbidden)
string(REGEX MATCHALL "[^ \n]+ ?: (${forbidden})(@[^ \n]*)? U" found "${symbols}")
set(violations "")
foreach(line ${found})
  string(REGEX MATCH "^([^ :]*) ?: ([^ @]*)" matched "${line}")
  set(object "${CMAKE_MATCH_1}")
  set(name "${CMAKE_MATCH_2}")
  if(NOT "${object}:${name}" IN_LIST allowed)
    list(APPEND violations "${object} names ${name}")
  endif()
endforeach()
if(violations)
  list(JOIN violations "\n  " text)
  message(FATAL_ERROR "The library neither prints nor ends the program:\n  ${text}")
endif()
