#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <stdlib.h>  // mkdtemp

#include "attn/error.hpp"

#include "batch/input_kinds.hpp"
#include "heads/corpus_sums.hpp"
#include "io/json_value.hpp"
#include "support/mapped_file.hpp"
#include "support/translated.hpp"
#include "support/utf8.hpp"
#include "view/page_maker.hpp"

namespace attn {
namespace {

// Folder for what is read again at once; it goes with the object.
class PassingFolder {
 public:
  PassingFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "attn-corpus-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
      throw Error(ErrorKind::file, translated("cannot make a folder"), name,
                  translated("set TMPDIR to a folder that can be written to"));
    }
    path_ = name;
  }
  ~PassingFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  PassingFolder(const PassingFolder&) = delete;
  PassingFolder& operator=(const PassingFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// The lines of a corpus with these numbers, as far as a page shows them.
std::map<std::uint64_t, std::string> lines_of_corpus(const std::filesystem::path& corpus,
                                                     const std::set<std::uint64_t>& wanted) {
  constexpr std::size_t most_bytes = 400;
  std::map<std::uint64_t, std::string> lines;
  std::ifstream file(corpus);
  std::string line;
  std::uint64_t number = 0;
  while (std::getline(file, line)) {
    if (!wanted.contains(++number)) continue;
    if (has_lines(corpus)) {
      const JsonValue document = parse_json(line);
      const JsonValue* const text =
          document.is(JsonValue::Type::object) ? document.find("text") : nullptr;
      if (text != nullptr && text->is(JsonValue::Type::string)) line = text->string();
    }
    if (line.size() > most_bytes) {
      std::size_t end = most_bytes;
      while (end > 0 && continues_character(line[end])) --end;
      line = line.substr(0, end) + "…";
    }
    lines.emplace(number, line);
  }
  return lines;
}

ViewData::HeadEvidence evidence_of(const HeadSums& sums,
                                   const std::vector<std::uint64_t>& texts_by_offset,
                                   const std::map<std::uint64_t, std::size_t>& rows) {
  ViewData::HeadEvidence head;
  for (std::size_t s = 0; s < weight_statistic_count; ++s) {
    head.mean.push_back(sums.statistics[s].mean());
    head.error.push_back(sums.statistics[s].error());
    auto& strongest = head.strongest.emplace_back();
    for (const KeptText& text : sums.most[s])
      strongest.emplace_back(rows.at(text.at.line), text.value);
  }
  for (std::size_t at = 0; at < sums.by_offset.size(); ++at) {
    const auto texts = static_cast<double>(texts_by_offset[at]);
    head.by_distance.push_back(texts > 0 ? static_cast<double>(sums.by_offset[at].value()) / texts
                                         : std::numeric_limits<double>::quiet_NaN());
  }
  return head;
}

}  // namespace

void refuse_corpus_without_model() {
  throw Error(ErrorKind::usage, translated("a corpus is read by a model"), "ViewOptions::corpus",
              translated("give a model with DocumentOptions::model"));
}

void put_evidence(const ViewOptions& options, PageMaker& page) {
  if (!options.document.model) refuse_corpus_without_model();
  const PassingFolder folder;
  HeadsCorpusOptions corpus;
  corpus.heads.document.model = options.document.model;
  corpus.heads.document.architecture = options.document.architecture;
  corpus.heads.document.threads = options.document.threads;
  corpus.heads.counting = options.counting;
  corpus.corpus = *options.corpus;
  corpus.out = folder.path();
  const HeadsCorpusOutcome outcome = read_corpus(corpus);
  const auto stored = MappedFile::open(FileName::by_user(folder.path() / "corpus.json"));
  const CorpusSums sums = read_sums(stored->text()).sums;
  if (sums.texts == 0) {
    throw input_error(translated("no text of the corpus could be read"), "ViewOptions::corpus",
                      outcome.warnings.empty() ? translated("give a file with one text per line")
                                               : outcome.warnings.front());
  }
  std::set<std::uint64_t> wanted;
  for (const AttentionSums& attention : sums.attentions) {
    for (const HeadSums& head : attention.heads) {
      for (const auto& most : head.most) {
        for (const KeptText& text : most) wanted.insert(text.at.line);
      }
    }
  }
  ViewData::Evidence evidence{sums.texts, corpus.reach, {}};
  std::map<std::uint64_t, std::size_t> rows;
  const auto lines = lines_of_corpus(corpus.corpus, wanted);
  for (const std::uint64_t line : wanted) {
    rows[line] = evidence.texts.size();
    const auto text = lines.find(line);
    evidence.texts.push_back(text == lines.end() ? "" : text->second);
  }
  EvidenceByAttention all;
  for (const AttentionSums& attention : sums.attentions) {
    for (const HeadSums& head : attention.heads) {
      all[attention.name].push_back(evidence_of(head, attention.texts_by_offset, rows));
    }
  }
  page.take(std::move(evidence), std::move(all));
}

}  // namespace attn
