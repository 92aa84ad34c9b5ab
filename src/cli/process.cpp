#include "cli/process.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <cstdlib>  // which defines __GLIBC__ where it is
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#ifdef __GLIBC__
#include <malloc.h>
#include <pthread.h>
#include <sys/resource.h>
#endif
#ifdef __APPLE__
#include <mach-o/dyld.h>
#endif
#include <unistd.h>

#include "attn/error.hpp"
#include "attn/file_access.hpp"
#include "attn/language.hpp"
#include "attn/memory.hpp"
#include "attn/named.hpp"

#include "cli/commands.hpp"
#include "cli/output.hpp"

namespace attn::cli {
namespace {

// File of the running program; in the portable archive that is the loader, libexec/attn-cli. Empty
// where the system does not tell.
std::filesystem::path program_file() {
  std::error_code none;
#ifdef __APPLE__
  std::uint32_t size = 0;
  _NSGetExecutablePath(nullptr, &size);
  std::string file(size, '\0');
  if (_NSGetExecutablePath(file.data(), &size) != 0) return {};
  return std::filesystem::canonical(file.c_str(), none);
#else
  return std::filesystem::read_symlink("/proc/self/exe", none);
#endif
}

}  // namespace

std::filesystem::path installed_file(const std::filesystem::path& name) {
  std::error_code none;
  const std::filesystem::path program = program_file();
  std::filesystem::path built = program.parent_path() / name;
  if (std::filesystem::exists(built, none)) return built;
  return program.parent_path().parent_path() / name;
}

namespace {

enum class Language { english, chinese };

constexpr auto languages =
    std::to_array<Named<Language>>({{"en", Language::english}, {"zh", Language::chinese}});

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);  // NOLINT: no thread changes the environment
  return value ? value : "";
}

// The language that --lang names, even if other arguments make no sense.
std::optional<Language> asked_for(int count, const char* const* words) {
  constexpr std::string_view flag = "--lang";
  std::optional<Language> found;
  for (int i = 1; i < count && std::string_view(words[i]) != "--"; ++i) {
    const std::string_view word = words[i];
    std::string_view value;
    if (word == flag && i + 1 < count) value = words[i + 1];
    if (word.starts_with("--lang=")) value = word.substr(flag.size() + 1);
    for (const Named<Language>& language : languages) {
      if (language.name == value) found = language.value;
    }
  }
  return found;
}

// The rule of gettext: LANGUAGE is a list of languages, and has no effect in the locale "C".
bool locale_is_chinese() {
  std::string_view locale;
  for (const char* name : {"LC_ALL", "LC_MESSAGES", "LANG"}) {
    if (locale.empty()) locale = variable(name);
  }
  if (locale.empty() || locale == "C" || locale == "POSIX") return false;
  std::string_view list = variable("LANGUAGE");
  while (!list.empty()) {
    const std::string_view first = list.substr(0, list.find(':'));
    if (first.starts_with("zh")) return true;
    if (first.starts_with("en")) return false;
    list.remove_prefix(std::min(first.size() + 1, list.size()));
  }
  return locale.starts_with("zh");
}

}  // namespace

void choose_language(int count, const char* const* words) {
  const std::optional<Language> asked = asked_for(count, words);
  if (asked ? *asked == Language::english : !locale_is_chinese()) return;
  const std::filesystem::path texts = installed_file("share/locale/zh_CN/LC_MESSAGES/attn.mo");
  std::error_code none;
  if (std::filesystem::exists(texts, none)) return speak(texts);
  const std::span given(words, static_cast<std::size_t>(count));
  const bool quiet = std::ranges::any_of(
      given, [](std::string_view word) { return word == "-q" || word == "--quiet"; });
  if (!asked || quiet) return;
  warn({translated("there are no Chinese texts at {1}: texts are in English", texts.string())});
}

void add_language(Flags& flags) {
  const auto names = names_of(languages);
  Flag& flag =
      flags.add("--lang", "LANG",
                alternatives(names) +
                    translated(": language of reports, explanations, pictures and errors (default: "
                               "the locale's)"),
                [](const std::string& text) { chosen("--lang", text, languages); });
  flag.words.assign(names.begin(), names.end());
}

void offer_own_fonts() {
  std::error_code none;
  const std::filesystem::path settings = installed_file("share/attn-cli/fonts.conf");
  if (!std::filesystem::exists(settings, none)) return;
  constexpr int replacing = 0;                               // a setting of the user's is kept
  ::setenv("FONTCONFIG_FILE", settings.c_str(), replacing);  // NOLINT: no thread has begun
}

#ifdef __GLIBC__
namespace {

// Makes the stacks of all threads to come just large enough for the deepest nesting of a document.
// A limit of stacks (`ulimit -s`) above the usual one is kept.
void make_stacks_small() noexcept {
  constexpr std::size_t small = std::size_t{2} << 20U, usual = std::size_t{8} << 20U;
  pthread_attr_t attributes{};
  if (pthread_getattr_default_np(&attributes) != 0) return;
  std::size_t bytes = 0;
  if (pthread_attr_getstacksize(&attributes, &bytes) == 0 && bytes <= usual &&
      pthread_attr_setstacksize(&attributes, std::min(bytes, small)) == 0) {
    pthread_setattr_default_np(&attributes);
  }
  pthread_attr_destroy(&attributes);
}

}  // namespace
#endif

void keep_freed_memory() noexcept {
  constexpr std::size_t most_kept = std::size_t{256} << 20U;
  keep_freed_tensors(most_kept);
#ifdef __GLIBC__
  constexpr int largest_block = 14 << 20U;
  constexpr int most_unused = 256 << 20U;
  mallopt(M_MMAP_THRESHOLD, largest_block);
  mallopt(M_TRIM_THRESHOLD, most_unused);
  // Under a limit of addresses there are too few for arenas of threads, 64 MB each, and for full
  // stacks of the threads in which Pango sorts fonts: on a busy machine many wait at a time, and
  // GLib ends the program where one cannot be made.
  rlimit addresses{};
  if (getrlimit(RLIMIT_AS, &addresses) == 0 && addresses.rlim_cur != RLIM_INFINITY) {
    mallopt(M_ARENA_MAX, 1);
    make_stacks_small();
    return;
  }
  // Once a threshold of trimming is set, an arena of a thread keeps no more than this.
  constexpr int kept_by_thread = 8 << 20U;
  mallopt(M_TOP_PAD, kept_by_thread);
#endif
}

void keep_all_freed_memory() noexcept {
  keep_freed_tensors(std::numeric_limits<std::size_t>::max());
#ifdef __GLIBC__
  constexpr int unlimited = -1;
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, unlimited);
#endif
}

namespace {

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free, "signal handlers may not wait");

// Translated before a signal can come, as a handler must not allocate.
std::string interrupt_message;

void on_signal(int) {
  if (interrupted.exchange(true)) _exit(interrupted_code);
  [[maybe_unused]] const ssize_t written =
      write(STDERR_FILENO, interrupt_message.data(), interrupt_message.size());
}

}  // namespace

const std::atomic<bool>& stop_at_interrupt() {
  interrupt_message =
      translated("\nattn-cli: finishing the current work; interrupt again to stop at once\n");
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
  return interrupted;
}

namespace {

std::string shortened_message;

// Calls only functions that a signal handler may call.
void on_missing_page(int, siginfo_t* signal, void*) {
  if (signal->si_code == BUS_ADRERR && cover_shortened_file(signal->si_addr)) return;
  [[maybe_unused]] const ssize_t written =
      write(STDERR_FILENO, shortened_message.data(), shortened_message.size());
  _exit(static_cast<int>(ErrorKind::file));
}

}  // namespace

void survive_shortened_files() {
  shortened_message = translated(
      "attn-cli: a file became shorter, or its disk failed, while it was read\n"
      "  help:  run again when no other program writes the input files\n");
  struct sigaction action {};
  action.sa_sigaction = on_missing_page;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &action, nullptr);
}

}  // namespace attn::cli
