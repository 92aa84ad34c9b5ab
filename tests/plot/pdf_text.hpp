#pragma once

#include <string>

namespace attn::test {

/// A PDF file with what its compressed streams hold behind it: since 1.18 Cairo compresses fonts'
/// and documents' entries too.
std::string pdf_text(const std::string& bytes);

}  // namespace attn::test
