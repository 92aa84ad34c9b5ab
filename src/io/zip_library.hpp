#pragma once

#include <zip.h>

#include "support/late_library.hpp"

namespace attn {

/// Library of zip archives, with those of encryption and compression that it needs.
extern const LateLibrary zip_library;

// Its functions, found in this namespace before the library's own, which the program is not linked
// with: one that is missing here does not link.
#define ATTN_ZIP(function) \
  inline constinit const LateFunction<decltype(::function)> function(zip_library, #function)

ATTN_ZIP(zip_close);
ATTN_ZIP(zip_discard);
ATTN_ZIP(zip_error_fini);
ATTN_ZIP(zip_error_init);
ATTN_ZIP(zip_error_strerror);
ATTN_ZIP(zip_fclose);
ATTN_ZIP(zip_file_add);
ATTN_ZIP(zip_file_set_dostime);
ATTN_ZIP(zip_file_strerror);
ATTN_ZIP(zip_fopen_index);
ATTN_ZIP(zip_fread);
ATTN_ZIP(zip_get_name);
ATTN_ZIP(zip_get_num_entries);
ATTN_ZIP(zip_open_from_source);
ATTN_ZIP(zip_set_file_compression);
ATTN_ZIP(zip_source_buffer);
ATTN_ZIP(zip_source_buffer_create);
ATTN_ZIP(zip_source_close);
ATTN_ZIP(zip_source_error);
ATTN_ZIP(zip_source_free);
ATTN_ZIP(zip_source_function_create);
ATTN_ZIP(zip_source_keep);
ATTN_ZIP(zip_source_open);
ATTN_ZIP(zip_source_read);
ATTN_ZIP(zip_source_seek_compute_offset);
ATTN_ZIP(zip_source_stat);
ATTN_ZIP(zip_stat);
ATTN_ZIP(zip_stat_index);
ATTN_ZIP(zip_stat_init);
ATTN_ZIP(zip_strerror);

#undef ATTN_ZIP

}  // namespace attn
