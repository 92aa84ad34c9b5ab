#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace attn {

// Kinds of files and folders among the inputs of a batch or a corpus, by their names, by what is
// beside them or by their beginning.

/// Whether a folder has files of texts, by their names.
bool holds_texts(const std::filesystem::path& folder);

/// Endings of files with a document on each line.
inline constexpr std::string_view endings_of_lines[]{".jsonl", ".ndjson", ".jsonlines", ".ldjson"};

/// Whether a file has a document on each line, by its name.
bool has_lines(const std::filesystem::path& path);

/// Whether it is a picture, by the name, as none is opened before its turn.
bool is_picture(const std::filesystem::path& path);

/// Whether a folder of a model says how pictures are prepared for it.
bool prepares_pictures(const std::filesystem::path& model);

/// Whether a folder has the configuration of a model and the files that go with it.
bool is_checkpoint(const std::filesystem::path& folder);

/// Whether a .json file of such a folder belongs to the model.
bool belongs_to_checkpoint(const std::filesystem::path& path);

/// Throws Error(input) for a file of lines that has two bytes a character.
void refuse_utf_16(std::string_view text, const std::filesystem::path& path);

/// Throws Error(input) for the summary that a batch wrote in the place of its documents.
void refuse_summary(std::string_view text, const std::filesystem::path& path);

/// Help for a file that is to have a document on each line, and begins with one over several lines;
/// empty for other texts.
std::string lines_of_spread(std::string_view text, const std::filesystem::path& path);

/// Throws Error(input) for a file whose lines are those of one array of documents or texts, or of
/// documents over several lines.
void refuse_other_lines(std::string_view text, const std::filesystem::path& path);

/// Whether a file is prose by its beginning, under a name that is neither that of documents nor
/// that of texts.
bool is_prose(const std::filesystem::path& path);

/// Help for such a file, which may be meant as texts for a model.
std::string call_it_texts(const std::filesystem::path& path);

}  // namespace attn
