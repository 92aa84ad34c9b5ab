# Fails if a text that is marked for translation has no Chinese, if the Chinese has texts that nobody says any more, or
# others that someone is to look at again.
#   cmake -D ROOT=<project> -D FOLDER=<where to work> -P translations.cmake

cmake_minimum_required(VERSION 3.25)

set(po ${ROOT}/data/translations/zh_CN.po)
file(MAKE_DIRECTORY ${FOLDER})
file(GLOB_RECURSE sources RELATIVE ${ROOT} ${ROOT}/src/*.cpp ${ROOT}/src/*.hpp)
list(JOIN sources "\n" list)
file(WRITE ${FOLDER}/sources.txt "${list}\n")
execute_process(
  COMMAND xgettext --language=C++ --from-code=UTF-8 --keyword --keyword=translated:1 --keyword=to_translate:1
    --keyword=translated_count:2,3 --no-location --sort-output --files-from=${FOLDER}/sources.txt -o ${FOLDER}/attn.pot
  WORKING_DIRECTORY ${ROOT} ERROR_VARIABLE errors RESULT_VARIABLE code)
if(NOT code EQUAL 0)
  message(FATAL_ERROR "xgettext failed:\n${errors}")
endif()

# Texts that are marked and not translated, fuzzy ones, and those that are translated and not marked.
execute_process(COMMAND msgcmp ${po} ${FOLDER}/attn.pot ERROR_VARIABLE errors RESULT_VARIABLE code)
if(NOT code EQUAL 0 OR errors)
  message(FATAL_ERROR "data/translations/zh_CN.po does not fit the texts in src/. See data/translations/README.md.\n${errors}")
endif()
execute_process(COMMAND msgattrib --only-obsolete ${po} OUTPUT_VARIABLE obsolete)
if(obsolete)
  message(FATAL_ERROR "data/translations/zh_CN.po has obsolete entries:\n${obsolete}")
endif()
