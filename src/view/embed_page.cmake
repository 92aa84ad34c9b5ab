# Writes a source file with the page's own files in it, as bytes, and the hashes of its script and style, which its
# content security policy names.
#   cmake -D PAGE=<folder> -D OUTPUT=<file.cpp> -P embed_page.cmake

cmake_minimum_required(VERSION 3.25)

# The scripts in their order, which tests/view/page/made_page.mjs reads here too.
set(scripts
  texts page_elements cells tokens shown_map colours choice address pen thumbnails overview statistics pair_view paths_view heatmap map_view readout map_levels legend
  compared_maps second_page arithmetic what_if trail picture head_lines token_strip head_facts evidence questions answers predictions text_line map_table
  command export story controls start)
set(script "")
foreach(name IN LISTS scripts)
  file(READ ${PAGE}/${name}.js text)
  # Room around operators is for readers too; texts keep all of theirs.
  if(NOT name STREQUAL texts)
    string(REGEX REPLACE " (=>|===|!==|&&|[|][|]|[?][?]|[?:=]|[<>+]=) " "\\1" text "${text}")
  endif()
  string(APPEND script "${text}\n")
endforeach()
# Comments and indents are for those who read the sources; a page has no need of them. Comments of several
# lines begin one.
string(REGEX REPLACE "(^|\n) */[*][*]([^*]|[*]+[^*/])*[*]+/" "\\1" script "${script}")
string(REGEX REPLACE "/[*][*] @[a-z]+ [^*]*[*]/ ?" "" script "${script}")
string(REGEX REPLACE "\n *//[^\n]*" "" script "${script}")
# So are the kinds of elements.
string(REGEX REPLACE "byId\\(('[a-z-]+'), HTML[A-Za-z]+\\)" "byId(\\1)" script "${script}")
string(REGEX REPLACE "\n[ \n]+" "\n" script "${script}")
file(READ ${PAGE}/page.css style)
string(REGEX REPLACE "\n[ \n]+" "\n" style "${style}")
file(READ ${PAGE}/page.html skeleton)
string(REGEX REPLACE "\n[ \n]+" "\n" skeleton "${skeleton}")

# What would end the element that it is put into.
string(TOLOWER "${script}" lower)
if(lower MATCHES "</script|<!--")
  message(FATAL_ERROR "the scripts of ${PAGE} hold </script or <!--, which would end them: write <\\/script or \"<\" + \"!--\"")
endif()
string(TOLOWER "${style}" lower)
if(lower MATCHES "</style")
  message(FATAL_ERROR "page.css of ${PAGE} holds </style, which would end it")
endif()
foreach(mark IN ITEMS "{{language}}" "{{head}}" "{{data}}")
  string(FIND "${skeleton}" "${mark}" first)
  string(FIND "${skeleton}" "${mark}" last REVERSE)
  if(first EQUAL -1 OR NOT first EQUAL last)
    message(FATAL_ERROR "page.html of ${PAGE} does not hold ${mark} once")
  endif()
endforeach()

set(source "#include \"view/page_maker.hpp\"\n\nnamespace attn {\nnamespace {\n\n")
foreach(part IN ITEMS skeleton style script)
  string(HEX "${${part}}" bytes)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  string(APPEND source "constexpr unsigned char ${part}[] = {${bytes}0};\n")
endforeach()
string(APPEND source "\n}  // namespace\n\nPageSource page_source() noexcept {\n  return {")
foreach(part IN ITEMS skeleton style script)
  string(APPEND source "{reinterpret_cast<const char*>(${part}), sizeof ${part} - 1}, ")
endforeach()
foreach(part IN ITEMS style script)
  string(SHA256 hash "${${part}}")
  string(APPEND source "\"${hash}\", ")
endforeach()
string(APPEND source "};\n}\n\n}  // namespace attn\n")
file(WRITE ${OUTPUT} "${source}")
