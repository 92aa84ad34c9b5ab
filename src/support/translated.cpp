#include "support/translated.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "attn/language.hpp"

#include "support/catalogue.hpp"
#include "support/in_english.hpp"
#include "support/mapped_file.hpp"

namespace attn {
namespace {

std::atomic<const Catalogue*> spoken = nullptr;

thread_local int english = 0;  // how many InEnglish live

const Catalogue* catalogue_of_this_thread() noexcept {
  return english > 0 ? nullptr : spoken.load(std::memory_order_acquire);
}

std::string_view looked_up(std::string_view text) noexcept {
  const Catalogue* const catalogue = catalogue_of_this_thread();
  return catalogue ? catalogue->find(text).value_or(text) : text;
}

}  // namespace

void speak(const std::filesystem::path& catalogue) {
  // Other threads may still read one that was spoken before, so all are kept.
  static std::mutex guard;
  static std::vector<std::unique_ptr<const Catalogue>> kept;
  if (catalogue.empty()) {
    spoken = nullptr;
    return;
  }
  auto read = std::make_unique<const Catalogue>(std::string(MappedFile::open(catalogue)->text()),
                                                catalogue.string());
  const std::lock_guard lock(guard);
  kept.push_back(std::move(read));
  spoken = kept.back().get();
}

InEnglish::InEnglish(bool wanted) noexcept : wanted_(wanted) {
  english += wanted_ ? 1 : 0;
}

InEnglish::~InEnglish() {
  english -= wanted_ ? 1 : 0;
}

bool is_translated(std::string_view text) noexcept {
  const Catalogue* const catalogue = catalogue_of_this_thread();
  return catalogue && catalogue->find(text);
}

std::string translated(std::string_view text) {
  return std::string(looked_up(text));
}

std::string translated_with(std::string_view text, std::initializer_list<std::string> values) {
  const std::string_view pattern = looked_up(text);
  std::string filled;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const bool placeholder = pattern[i] == '{' && i + 2 < pattern.size() && pattern[i + 1] >= '1' &&
                             pattern[i + 1] <= '9' && pattern[i + 2] == '}';
    const std::size_t number = placeholder ? static_cast<std::size_t>(pattern[i + 1] - '1') : 0;
    if (placeholder && number < values.size()) {
      filled += values.begin()[number];
      i += 2;
    } else {
      filled += pattern[i];
    }
  }
  return filled;
}

}  // namespace attn
