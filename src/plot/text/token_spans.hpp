#pragma once

#include <string>
#include <vector>

#include "attn/plot.hpp"

namespace attn {

/// Turns of a chat, by the special tokens that begin them, under the names of their roles:
/// "system", "user", "assistant". None where there are fewer than two.
std::vector<AxisSpan> turns_of(const std::vector<std::string>& labels);

/// Texts of one input that special tokens such as [SEP] part, under their numbers from 0. None
/// where there is one text only.
std::vector<AxisSpan> segments_of(const std::vector<std::string>& labels);

/// Sentences, under their own texts. Special tokens and empty labels belong to none.
std::vector<AxisSpan> sentences_of(const std::vector<std::string>& labels);

}  // namespace attn
