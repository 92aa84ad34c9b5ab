#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/file_access.hpp"
#include "attn/plot.hpp"
#include "attn/run.hpp"

#include "cli/arguments.hpp"

namespace attn::cli {

/// What the text of a flag means. Each throws Error(usage) naming the flag and what it takes.

std::size_t whole_number(const std::string& flag, const std::string& text, std::size_t least = 0);
std::int64_t integer(const std::string& flag, const std::string& text);
double finite_number(const std::string& flag, const std::string& text);
/// A whole number of at least 1, of which k, M, G and T make thousands and so on.
std::uint64_t large_number(const std::string& flag, const std::string& text);
/// A finite number of at least 0.
double finite_size(const std::string& flag, const std::string& text);
std::vector<std::string> comma_separated(const std::string& text);

/// The index of `text` among the names, with the nearest one in the error.
std::size_t choice(const std::string& flag, const std::string& text,
                   std::span<const std::string_view> names);

/// What files may hold and where they may be.
FileAccess file_access(const FileArguments& arguments);

/// The options of a picture; `sample` is set if given.
PlotOptions picture_options(const PictureArguments& arguments, std::size_t& sample);

/// What a picture shows of the weights; `head` is set if one is given.
MapSelection map_selection(const PictureArguments& arguments, std::size_t& head);

/// The kinds of pictures by the names that flags take.
inline constexpr std::array<std::string_view, 7> plot_kinds{
    "heatmap", "dimensions", "grid", "mask", "stages", "lines", "comparison"};

}  // namespace attn::cli
