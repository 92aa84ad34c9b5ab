#include "tokens/tokenizer.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <unordered_map>
#include <utility>

#include "attn/error.hpp"

#include "support/translated.hpp"
#include "support/utf8.hpp"
#include "tokens/tokenizer_parts.hpp"

namespace attn {
namespace {

// The tokens of words, kept for when a word comes again in the text.
class WordTokens {
 public:
  explicit WordTokens(const Model& model) : model_(model) {}

  std::span<const ModelToken> cut(std::string_view word) {
    if (word.size() > longest_kept) return cut_anew(word);
    const auto [entry, is_new] = kept_.try_emplace(word);
    if (is_new) {
      const std::size_t begin = tokens_.size();
      append(word, tokens_);
      entry->second = {begin, tokens_.size()};
    }
    const auto [begin, end] = entry->second;
    return std::span(tokens_).subspan(begin, end - begin);
  }

 private:
  static constexpr std::size_t longest_kept = 64;

  std::span<const ModelToken> cut_anew(std::string_view word) {
    long_.clear();
    append(word, long_);
    return long_;
  }

  void append(std::string_view word, std::vector<ModelToken>& tokens) const {
    std::visit([&](const auto& model) { model.cut(word, tokens); }, model_);
  }

  const Model& model_;
  std::unordered_map<std::string_view, std::pair<std::size_t, std::size_t>> kept_;
  std::vector<ModelToken> tokens_, long_;
};

// The given text as one part, each character its own origin.
SplitText given(std::string_view text, std::string_view where) {
  SplitText result;
  if (text.size() > AlignedText::most_bytes) {
    throw input_error(translated("the text has {1} bytes, more than 4 MiB", text.size()), "",
                      translated("give less text at a time"));
  }
  characters_of(text, where);  // for its error
  result.text = text;
  result.origins.resize(text.size());
  for_each_character(text, [&](char32_t, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      result.origins[i] = {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)};
    }
  });
  if (!text.empty()) result.parts.push_back({0, text.size(), std::nullopt});
  return result;
}

void normalize(SplitText& text, const std::vector<Normalizer>& normalizers, MatchBudget& budget) {
  if (normalizers.empty()) return;
  SplitText result;
  result.reserve(text.text.size());
  for (const SplitText::Part& part : text.parts) {
    const std::size_t base = result.text.size();
    AlignedText own;
    own.append(text, part.begin, part.end);
    if (!part.token) {
      for (const Normalizer& change : normalizers) change(own, budget);
    }
    result.append(own, 0, own.text.size());
    if (result.text.size() > base) result.parts.push_back({base, result.text.size(), part.token});
  }
  text = std::move(result);
}

bool begins_with_space(std::string_view text) {
  constexpr std::string_view mark = "\u2581";
  return text.starts_with(' ') || text.starts_with(mark);
}

}  // namespace

Tokenizer::Tokenizer(TokenizerParts parts, SpecialIds special)
    : parts_(std::make_shared<const TokenizerParts>(std::move(parts))),
      special_(special),
      size_(parts_->size()) {}

Tokenizer Tokenizer::from_files(const TokenizerFiles& files) {
  TokenizerParts parts = parts_from_files(files);
  const SpecialIds special = special_ids_of(parts, files);
  return {std::move(parts), special};
}

Tokenizer Tokenizer::wordpiece(const Vocabulary& vocabulary, bool lowercase,
                               const std::string& where) {
  BertSettings settings;
  settings.normalizer.lowercase = settings.normalizer.strip_accents = lowercase;
  TokenizerParts parts = bert_parts(vocabulary, settings, where);
  const SpecialIds special = special_ids_of(parts, {});
  return {std::move(parts), special};
}

std::vector<TextToken> Tokenizer::encode(std::string_view text,
                                         std::optional<std::string_view> pair, bool special_tokens,
                                         std::string_view where) const {
  if (pair && !parts_->around.takes_pairs) {
    throw input_error(translated("the tokenizer's post-processors cannot put two texts together"),
                      std::string(where), translated("give one text"));
  }
  // 1. The tokens of each text.
  std::array<std::vector<TextToken>, 2> tokens;
  std::int64_t word = -1;
  const auto cut = [&](std::string_view own, int number) {
    SplitText all = given(own, where);
    MatchBudget budget(own.size());
    parts_->added.settle(all, false, parts_->splits_special);
    normalize(all, parts_->normalizers, budget);
    parts_->added.settle(all, true, parts_->splits_special);
    for (const Splitter& split : parts_->splitters) split(all, budget);
    WordTokens words(parts_->model);
    std::vector<TextToken>& result = tokens[static_cast<std::size_t>(number)];
    const auto add = [&](TokenId id, std::size_t begin, std::size_t end, bool special) {
      const Origin origin = begin < end ? all.origin(begin, end) : Origin{};
      result.push_back({id, 0, {}, number, origin.begin, origin.end, word, special});
    };
    for (const SplitText::Part& part : all.parts) {
      ++word;
      if (part.token) {
        add(*part.token, part.begin, part.end, parts_->added.find(*part.token)->special);
        continue;
      }
      const std::string_view letters = all.part(part);
      for (const ModelToken& token : words.cut(letters)) {
        // A space begins a word even if words are not cut at spaces.
        if (token.begin > 0 && begins_with_space(letters.substr(token.begin))) ++word;
        add(token.id, part.begin + token.begin, part.begin + token.end, false);
      }
    }
  };
  try {
    cut(text, 0);
    if (pair) cut(*pair, 1);
  } catch (const Error& error) {
    if (!error.where().empty()) throw;
    throw Error(error.kind(), error.problem(), std::string(where), error.help());
  }

  // 2. Their pieces as a reader would write them.
  for (std::vector<TextToken>& own : tokens) {
    std::vector<std::int64_t> ids;
    ids.reserve(own.size());
    for (const TextToken& token : own) ids.push_back(token.id);
    std::vector<std::string> written = pieces(ids);
    for (std::size_t i = 0; i < own.size(); ++i) own[i].piece = std::move(written[i]);
  }

  // 3. The special tokens that the template puts around them.
  const std::vector<TextTemplate::Part>& around =
      pair ? parts_->around.pair : parts_->around.single;
  std::vector<TextToken> result;
  result.reserve(tokens[0].size() + tokens[1].size() + around.size());
  for (auto part = around.begin(); part != around.end(); ++part) {
    if (part->text < 0 && special_tokens) {
      for (const TokenId id : part->ids) {
        result.push_back({id, part->type, std::string(parts_->token(id)), -1, 0, 0, -1, true});
      }
    } else if (part->text >= 0) {
      std::vector<TextToken>& own = tokens[static_cast<std::size_t>(part->text)];
      for (TextToken& token : own) token.type = part->type;
      const bool again = std::any_of(part + 1, around.end(), [&](const TextTemplate::Part& later) {
        return later.text == part->text;
      });
      if (again) {
        result.insert(result.end(), own.begin(), own.end());
      } else {
        std::move(own.begin(), own.end(), std::back_inserter(result));
      }
    }
  }
  return result;
}

std::vector<std::string> Tokenizer::pieces(std::span<const std::int64_t> ids) const {
  std::vector<std::string> result;
  std::vector<std::string_view> run;  // without special tokens
  bool begins_text = true;
  std::size_t bytes = 0;
  for (const std::int64_t id : ids) bytes += token(id).size();
  MatchBudget budget(bytes);
  const auto flush = [&] {
    if (run.empty()) return;
    for (std::string& piece : parts_->written.pieces(run, begins_text, budget)) {
      result.push_back(std::move(piece));
    }
    run.clear();
    begins_text = false;
  };
  for (const std::int64_t id : ids) {
    const std::string_view written = token(id);
    const AddedToken* added = parts_->added.find(static_cast<TokenId>(id));
    if (added == nullptr || !added->special) {
      run.push_back(written);
      continue;
    }
    flush();
    result.emplace_back(written);
  }
  flush();
  return result;
}

bool Tokenizer::is_special(std::int64_t id) const {
  const auto own = static_cast<TokenId>(id);
  if (const AddedToken* added = parts_->added.find(own); added != nullptr && added->special) {
    return true;
  }
  const auto holds = [own](const TextTemplate::Part& part) {
    return part.text < 0 && std::ranges::count(part.ids, own) > 0;
  };
  return std::ranges::any_of(parts_->around.single, holds) ||
         std::ranges::any_of(parts_->around.pair, holds);
}

std::size_t Tokenizer::size() const noexcept {
  return size_;
}

std::optional<std::int64_t> Tokenizer::id(std::string_view token) const {
  return parts_->find(token);
}

std::string_view Tokenizer::token(std::int64_t id) const {
  if (id < 0 || static_cast<std::size_t>(id) >= size_) {
    throw Error(ErrorKind::internal, translated("the tokenizer has no token {1}", id), "", "");
  }
  return parts_->token(static_cast<TokenId>(id));
}

std::optional<std::int64_t> Tokenizer::unknown() const {
  return std::visit(
      [](const auto& model) -> std::optional<std::int64_t> { return model.unknown_id(); },
      parts_->model);
}

const std::vector<std::string>& Tokenizer::warnings() const noexcept {
  return parts_->warnings;
}

std::string_view Tokenizer::model() const noexcept {
  constexpr std::array<std::string_view, 5> names = {"WordPiece", "WordLevel", "BPE", "Unigram",
                                                     "SentencePiece"};
  return names[parts_->model.index()];
}

}  // namespace attn
