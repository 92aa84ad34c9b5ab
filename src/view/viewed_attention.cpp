#include "view/viewed_attention.hpp"

#include "support/translated.hpp"

namespace attn {

std::string stack_title(const std::string& attention) {
  const bool encoder = attention.starts_with("encoder.");
  const bool decoder = attention.starts_with("decoder.");
  if (attention.ends_with("cross")) return translated("Cross-Attention");
  if (!attention.ends_with("self")) return translated("Attention");
  return encoder   ? translated("Encoder Self-Attention")
         : decoder ? translated("Decoder Self-Attention")
                   : translated("Self-Attention");
}

}  // namespace attn
