#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace attn {

/// The tokens along an axis of a map, as the page shows them.
struct ShownTokens {
  std::vector<std::string> pieces, shown;
  std::vector<std::pair<std::size_t, std::size_t>> words;  ///< from the first piece up to the end
  std::vector<std::size_t> special;
};

/// All lists of tokens of a page, each once.
class TokenLists {
 public:
  struct Axes {
    std::size_t queries, keys;  ///< their numbers
  };
  /// Lists may be empty: not known. `special` says 0 or 1 of each token; empty = their letters
  /// tell.
  Axes add(const std::vector<std::string>& queries,
           const std::vector<std::uint8_t>& special_queries, const std::vector<std::string>& keys,
           const std::vector<std::uint8_t>& special_keys);

  const std::vector<ShownTokens>& all() const noexcept { return all_; }

 private:
  std::vector<ShownTokens> all_;
  /// By what makes them: pieces, what is special, how they are spelled.
  std::map<std::pair<std::vector<std::string>, std::vector<std::size_t>>, std::size_t> known_;
};

}  // namespace attn
