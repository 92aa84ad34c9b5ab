#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attn/heads.hpp"

#include "report/facts.hpp"

namespace attn {

/// Means of the shares of each head over the answers' tokens, by attention, head and part.
std::vector<std::vector<std::vector<double>>> mean_shares(const AnswerShareTable& table);

/// The means as a table to read, after a line that names them.
std::string shares_text(const AnswerShareTable& table, std::optional<std::size_t> top);
/// The means, with the names of the parts, and the tokens of the answers.
Fact facts_of(const AnswerShareTable& table);
/// All shares as comma-separated values: a line for each head and token, a column for each part.
std::string shares_csv(const AnswerShareTable& table);

}  // namespace attn
