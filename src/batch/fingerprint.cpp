#include "batch/fingerprint.hpp"

#include <functional>
#include <set>

#include <sys/stat.h>

#include "attn/version.hpp"

#include "document/document.hpp"
#include "io/hashed_files.hpp"
#include "kernels/cpu_target.hpp"
#include "support/mapped_file.hpp"
#include "support/number_text.hpp"
#include "support/overloaded.hpp"
#include "support/platform.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

// Naming all members makes a new member a compile error until it is described.
void describe(const MapSelection& selection, Description& description) {
  const auto& [heads, samples, chosen_heads, chosen_samples, layers, layers_together, queries, keys,
               query, drop_first, drop, renormalize, merge_pieces, words, blocks, hide_mask] =
      selection;
  description.add("MapSelection", heads, samples, chosen_heads, chosen_samples, layers,
                  layers_together, queries, keys, drop_first, drop, renormalize, merge_pieces,
                  blocks, hide_mask);
  if (words) description.add("MapSelection::words", words->words, words->pieces);
  if (query) description.add("MapSelection::query", *query);
}

void describe(const PlotOptions& plot, Description& description) {
  const auto& [figure, colors, annotation, marginals, titles, columns, top, threshold, smooth,
               log_axes, best] = plot;
  const auto& [style, title, xlabel, ylabel, figsize, dpi, exact_size, short_names, font_scale,
               font_size, font, frame_width, sentence_case, background, letters, ticks, show_spaces,
               keys_upwards, brackets, caption, provenance, threads, panel, frames] = figure;
  const auto& [cmap, range, norm, pixels, bar, bar_label] = colors;
  const auto& [annotate, color, format] = annotation;
  static_cast<void>(provenance);
  static_cast<void>(threads);
  static_cast<void>(panel);
  static_cast<void>(frames);
  description.add("PlotOptions", style, title, xlabel, ylabel, bar_label, titles, columns, cmap,
                  figsize, dpi, annotate, color, format, bar, marginals, background, letters, ticks,
                  show_spaces, range.scope, range.low, range.high, norm.kind, norm.gamma, pixels,
                  font_scale, top, threshold, smooth, exact_size, short_names, font, log_axes,
                  keys_upwards, brackets, caption, frame_width, sentence_case, best, font_size);
}

void describe(const RunOptions& run, Description& description) {
  const auto& [document, out, answer, answer_in_one_line, only, stages, weights, reported_weights,
               timing, provenance, says_document, tensors, sync, sample, head, plots, plots_chosen,
               most_weights_for_heatmap, selection, format, plot, foresee, progress] = run;
  // Folders, reports and observers do not change the bytes of a result, nor does its document, of
  // which a batch has a folder for each.
  static_cast<void>(out);
  static_cast<void>(answer);
  static_cast<void>(answer_in_one_line);
  static_cast<void>(reported_weights);
  static_cast<void>(says_document);
  static_cast<void>(sync);
  static_cast<void>(foresee);
  static_cast<void>(progress);
  describe(document, description);
  description.add("RunOptions::stages", stages);
  description.add("RunOptions::weights", weights);
  description.add("RunOptions::timing", timing);
  description.add("RunOptions::provenance", provenance);
  description.add("RunOptions::tensors", tensors);
  description.add("RunOptions::sample", sample);
  description.add("RunOptions::head", head);
  description.add("RunOptions::plots", plots, plots_chosen, most_weights_for_heatmap);
  description.add("RunOptions::format", format);
  description.add("RunOptions::only", only);
  describe(selection, description);
  describe(plot, description);
}

}  // namespace

Description::Description() {
  add("version", std::string_view(ATTN_VERSION));
  // The last bits of fast kernels differ between instruction sets. Machines that share work may
  // each use their best; a different set was chosen by the user.
  if (kernels::cpu_target() != kernels::cpu_targets().front()) {
    add("use_cpu_target()", kernels::cpu_target());
  }
}

void Description::add_to(std::string& text, std::string_view value) {
  text += std::to_string(value.size());
  text += ':';
  text += value;
  text += ';';
}

void Description::add_to(std::string& text, double value) {
  add_to(text, std::string_view(number_text(value)));
}

void Description::add_to(std::string& text, std::int64_t value) {
  text += std::to_string(value);
  text += ';';
}

void Description::add_to(std::string& text, const JsonValue& value) {
  const auto put = [&](const auto& alternative) { add_to(text, alternative); };
  put(value.type());
  std::visit(Overloaded{[&](bool truth) { put(truth); }, [&](double number) { put(number); },
                        [&](std::int64_t number) { put(number); },
                        [&](JsonValue::LargeInteger large) { put(large.nearest); },
                        [&](const JsonValue::Text& words) { put(*words); },
                        [&](const JsonValue::Array& elements) { put(*elements); },
                        [&](const JsonValue::Object& members) {
                          for (const JsonMember& member : *members) {
                            put(member.key);
                            put(member.value);
                          }
                        },
                        [](std::monostate) {}, [](const JsonValue::Block&) {}},
             value.data);
}

void describe(const DocumentOptions& document, Description& description) {
  const auto as_given = [](const std::filesystem::path& path) { return path.string(); };
  for (const Setting& setting : settings(document, as_given)) {
    description.add(setting.field, setting.key, setting.inner, setting.value);
  }
}

Description::Fields description_of(const RunOptions& options) {
  const Description program;
  Description asked, usual;
  describe(options, asked);
  describe(RunOptions(), usual);
  Description::Fields fields = asked.fields();
  std::erase_if(fields, [&](const auto& field) {
    const auto same = usual.fields().find(field.first);
    return same != usual.fields().end() && same->second == field.second &&
           !program.fields().contains(field.first);
  });
  return fields;
}

std::string differing_fields(const Description::Fields& a, const Description::Fields& b) {
  std::set<std::string> names;
  for (const auto& [from, other] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    for (const auto& [name, value] : *from) {
      const auto same = other->find(name);
      if (same == other->end() || same->second != value) names.insert(name);
    }
  }
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

FileHashList strings_in(const JsonObject& object) {
  FileHashList strings;
  for (const JsonMember& member : object.value().members()) {
    strings.emplace_back(member.key, object.string(member.key));
  }
  return strings;
}

std::string JoinedParts::add(const std::string& part, const Description::Fields& options,
                             std::span<const FileHashList::value_type> files) {
  if (!first_) {
    first_ = part;
    options_ = options;
  }
  if (const std::string fields = differing_fields(options, options_); !fields.empty()) {
    return translated("{1} was made with different options than {2}: {3}", in_quotes(part),
                      in_quotes(*first_), fields);
  }
  constexpr std::hash<std::string> hash;
  for (const auto& [name, content] : files) {
    const auto [known, is_new] = files_.try_emplace(hash(name), hash(content));
    if (is_new || known->second == hash(content)) continue;
    return translated("{1} was made from another version of {2} than what was made before it",
                      in_quotes(part), in_quotes(name));
  }
  return "";
}

// Absent unless the path is a regular file.
std::optional<FileHashes::Identity> FileHashes::identity_of(const std::filesystem::path& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  const timespec changed = platform::changed(status);
  return Identity{status.st_dev, status.st_ino, status.st_size, changed.tv_sec, changed.tv_nsec};
}

std::optional<std::string> FileHashes::find(const std::optional<Identity>& identity) {
  if (!identity) return std::nullopt;
  const std::lock_guard lock(guard_);
  const auto known = known_.find(*identity);
  return known == known_.end() ? std::nullopt : std::optional(known->second);
}

std::string FileHashes::keep(const std::optional<Identity>& identity,
                             const std::filesystem::path& path, std::span<const std::byte> bytes) {
  std::string hash = content_hash(bytes);
  // The hash of a file that changed in the meantime is not kept.
  if (identity && identity == identity_of(path)) {
    const std::lock_guard lock(guard_);
    known_.emplace(*identity, hash);
  }
  return hash;
}

std::string FileHashes::hash(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  std::optional<Identity> identity = identity_of(path);
  if (identity && static_cast<std::size_t>(std::get<2>(*identity)) != bytes.size())
    identity.reset();
  if (const auto known = find(identity)) return *known;
  return keep(identity, path, bytes);
}

std::string FileHashes::hash(const std::filesystem::path& path, const FileAccess& access) {
  const std::optional<Identity> identity = identity_of(path);
  if (!identity) {
    throw Error(ErrorKind::file, translated("{1} is not a regular file", in_quotes(path.native())),
                "", translated("name a regular file"));
  }
  if (const auto known = find(identity)) return *known;
  return keep(identity, path, MappedFile::open(FileName::by_document("", path), access)->bytes());
}

std::optional<std::string> FileHashes::first_changed(
    std::span<const FileHashList::value_type> files, const FileAccess& access) {
  for (const auto& [name, before] : files) {
    try {
      if (hash(path_of_text(name), access) == before) continue;
    } catch (const Error&) {
      // Computing the document again tells why.
    }
    return name;
  }
  return std::nullopt;
}

}  // namespace attn
