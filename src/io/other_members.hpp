#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/error.hpp"
#include "attn/io.hpp"

namespace attn {

/// Names and reasons of the first twelve: "tokens": strings; "meta": a value of argparse.Namespace
std::string others_text(std::span<const OtherMember> others);

/// The error of a member that was asked for as a tensor.
Error not_a_tensor(const OtherMember& other);
/// The error of a file without tensors.
Error no_tensors(std::span<const OtherMember> others);

/// Texts that a text lists: a JSON array of strings or of such arrays, or words with white space
/// between them. None of another text, and of one word.
std::vector<std::vector<std::string>> texts_of_list(std::string_view text);

}  // namespace attn
