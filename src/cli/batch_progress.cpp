#include "cli/batch_progress.hpp"

#include <algorithm>

#include "attn/error.hpp"
#include "attn/language.hpp"

#include "cli/output.hpp"

namespace attn::cli {
namespace {

constexpr std::chrono::milliseconds bar_interval{100};
constexpr std::chrono::seconds line_interval{5};
// Failures beyond this many are only counted; the summary has them all.
constexpr std::size_t most_failures_told = 20;

}  // namespace

BatchProgress::BatchProgress(const Common& common, bool answers)
    : quiet_(common.quiet), answers_(answers), line_(common.quiet, {}, bar_interval) {}

std::string BatchProgress::state(const BatchCounts& counts) const {
  const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  const std::size_t computed = counts.done + counts.failed;
  std::string text =
      std::to_string(counts.items - counts.left()) + "/" + std::to_string(counts.items);
  if (computed > 0 && seconds > 0) {
    const double rate = static_cast<double>(computed) / seconds;
    text += translated("  {1}/s  {2} left", rate_text(rate),
                       duration_text(static_cast<double>(counts.left()) / rate));
  }
  if (counts.failed > 0) text += translated("  {1} failed", counts.failed);
  return text;
}

std::string BatchProgress::bar(const BatchCounts& counts) const {
  const std::string text = state(counts);
  const std::size_t width = terminal_columns(), around = text.size() + 5;
  if (width < around + 10) return text.substr(0, width - 1);
  const std::size_t room = std::min<std::size_t>(width - around, 40);
  const std::size_t filled = room * (counts.items - counts.left()) / counts.items;
  return "[" + std::string(filled, '#') + std::string(room - filled, ' ') + "] " + text;
}

void BatchProgress::update(const BatchItem& item, const BatchCounts& counts) {
  if (quiet_) return;
  if (item.error && failures_told_ < most_failures_told) {
    ++failures_told_;
    line_.clear();
    const Error& error = *item.error;
    complain(Error(error.kind(),
                   item.name.empty() ? error.problem()
                                     : translated("{1}: {2}", item.name, error.problem()),
                   error.where(), error.help())
                 .what());
    if (failures_told_ == most_failures_told) {
      complain(translated("further failures are only counted here; the summary has them all"));
    }
  }
  if (answers_) return;
  if (line_.shown()) {
    line_.show([&] { return bar(counts); }, counts.left() == 0);
  } else if (const auto now = Clock::now(); now - told_ >= line_interval) {
    complain(state(counts));
    told_ = now;
  }
}

}  // namespace attn::cli
