#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attn/heads.hpp"

#include "report/facts.hpp"

namespace attn {

/// Three decimals, one of large numbers; a dash for NaN.
std::string shown_statistic(double number);

std::string_view name_of(HeadStatistic statistic);

/// One sentence for each place that heads look at with most of their weight, the strongest head
/// named: "Head 1.1 looks at the previous token (0.99)."; empty if no statistic is about places.
std::string what_stands_out(const HeadsOutcome& outcome);

/// That line, the table with the statistics that have something to show, and notes on the others.
std::string statistics_text(const HeadsOutcome& outcome, const HeadsTable& options);

/// A field of comma-separated values, in quotes where it has commas or quotes.
std::string in_csv(std::string_view field);
/// A number with all its digits, an empty field of NaN.
std::string in_csv(double number);

/// Tables of one text as comma-separated values: effects of patched parts, a line for each part and
/// position; those of paths, a line for each; and what is predicted without each head.
std::string patches_csv(const HeadPatches& patches);
std::string paths_csv(const HeadPatches& patches);
std::string differences_csv(const std::vector<HeadDifference>& differences);
/// Tables with an empty line between each two.
std::string joined_csv(const std::vector<std::string>& tables);

/// Columns that say which head a line of comma-separated values is about.
inline constexpr std::string_view csv_place_columns = "layer,stack,head";
/// Their values: "3,encoder.self,2". Fields are in quotes where they have commas or quotes.
std::string csv_place(const std::string& attention, std::size_t head);

/// Gradients of the first text as tables to read: heads and tokens, the largest heads first.
std::string gradients_text(const std::vector<TextGradients>& gradients,
                           const std::vector<std::string>& tokens, std::optional<std::size_t> top);
/// All numbers of one text.
Fact facts_of(const TextGradients& gradients);

/// Means of the shares of each head over the answers' tokens, by attention, head and part.
std::vector<std::vector<std::vector<double>>> mean_shares(const AnswerShareTable& table);

/// The means as a table to read, after a line that names them.
std::string shares_text(const AnswerShareTable& table, std::optional<std::size_t> top);
/// The means, with the names of the parts, and the tokens of the answers.
Fact facts_of(const AnswerShareTable& table);
/// All shares as comma-separated values: a line for each head and token, a column for each part.
std::string shares_csv(const AnswerShareTable& table);

}  // namespace attn
