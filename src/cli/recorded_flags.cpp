#include "cli/recorded_flags.hpp"

#include <utility>

namespace attn::cli {

void record(Flags& flags, std::vector<std::string>& words) {
  for (Flag& flag : flags) {
    flag.take = [take = std::move(flag.take), name = flag.name, has_value = !flag.value.empty(),
                 &words](const std::string& text) {
      take(text);
      words.push_back(name);
      if (has_value) words.push_back(text);
    };
  }
}

}  // namespace attn::cli
