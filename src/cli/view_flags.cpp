#include "cli/view_flags.hpp"

#include "attn/language.hpp"

#include "cli/picture_flags.hpp"

namespace attn::cli {

void add_view(Flags& flags, ViewOptions& options) {
  flags.add("--cells", "N",
            translated("Cells to keep of all maps together (default 48M); larger maps are reduced"),
            [&](const std::string& text) {
              options.cells = static_cast<std::size_t>(large_number("--cells", text));
            });
  add_colour_map(flags, options.cmap);
  flags.add("--color-range", "LO,HI",
            translated("Lowest and highest weight that colours stand for"),
            [&](const std::string& text) { options.color_range = given_range(text); });
}

}  // namespace attn::cli
