#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace attn {

/// Writes the page piece by piece: its head, the blocks of numbers, then what is told of them and
/// the script. Nothing but the page's own script and style, whose hashes it names, runs in it.
class PageWriter {
 public:
  /// `language` is a tag of HTML, "en"; `title` any text.
  PageWriter(std::function<void(std::string_view)> sink, const std::string& language,
             const std::string& title);

  /// Gives the number of the block. `base64` is what packed_block() makes.
  std::size_t add_block(std::string_view base64);

  /// `json` is what view_data_json() makes. Returns how many bytes were written in all.
  std::size_t finish(std::string_view json);

 private:
  void write(std::string_view text);

  std::function<void(std::string_view)> sink_;
  std::size_t blocks_ = 0, bytes_ = 0;
};

/// A text in HTML, between tags or in quotes.
std::string html_text(std::string_view text);

}  // namespace attn
