#include "io/hashed_files.hpp"

#include <cstdint>
#include <map>
#include <mutex>
#include <new>
#include <utility>

#include <xxhash.h>

#include "attn/error.hpp"

#include "support/number_text.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

std::string text_of(const XXH128_hash_t& hash) {
  return hexadecimal(hash.high64, 16) + hexadecimal(hash.low64, 16);
}

}  // namespace

std::string content_hash(std::span<const std::byte> bytes) {
  return text_of(XXH3_128bits(bytes.data(), bytes.size()));
}

void ContentHash::Free::operator()(XXH3_state_s* state) const noexcept {
  XXH3_freeState(state);
}

ContentHash::ContentHash() : state_(XXH3_createState()) {
  if (!state_) throw std::bad_alloc();
  XXH3_128bits_reset(state_.get());
}

void ContentHash::add(std::string_view piece) {
  XXH3_128bits_update(state_.get(), piece.data(), piece.size());
}

std::string ContentHash::text() const {
  return text_of(XXH3_128bits_digest(state_.get()));
}

const std::string_view unfinished_result = "{\"format\": 1, \"unfinished\": true}\n";

struct ResultFiles::Known {
  struct File {
    std::uint64_t bytes = 0;
    std::string hash;
    bool checked = false;
  };
  std::mutex guard;
  std::map<std::string, File> files;

  void check(const std::string& name, std::span<const std::byte> bytes);
};

ResultFiles::ResultFiles(const JsonValue& result, std::string_view member) {
  if (!result.is(JsonValue::Type::object)) return;
  const JsonValue* unfinished = result.find("unfinished");
  if (unfinished != nullptr && unfinished->is(JsonValue::Type::boolean) && unfinished->boolean()) {
    throw input_error(translated("this result is unfinished: its files were being replaced"), "",
                      translated("run its document again"));
  }
  const JsonValue* files = result.find(member);
  if (files == nullptr || result.find("tensors") == nullptr) return;
  known_ = std::make_shared<Known>();
  const std::string place = "/" + std::string(member);
  const JsonObject stored(expect_object(*files, place), place, {});
  for (const JsonMember& one : files->members()) {
    const JsonObject file = stored.object(one.key);
    known_->files.emplace(one.key, Known::File{file.count("bytes"), file.string("xxh128")});
  }
}

// The file is read for its hash after its size, so that another one is mostly found without.
void ResultFiles::Known::check(const std::string& name, std::span<const std::byte> bytes) {
  const std::lock_guard lock(guard);
  const auto found = files.find(name);
  if (found == files.end() || found->second.checked) return;
  if (found->second.bytes != bytes.size() || found->second.hash != content_hash(bytes)) {
    throw input_error(
        translated("the file {1} does not belong to this result: it was written with another one, "
                   "or changed since",
                   in_quotes(name)),
        "",
        translated("run the document of the result again, or take \"files\" out of the result if "
                   "the file was changed on purpose"));
  }
  found->second.checked = true;
}

std::vector<std::string> ResultFiles::names() const {
  std::vector<std::string> names;
  if (!known_) return names;
  for (const auto& [name, file] : known_->files) names.push_back(name);
  return names;
}

FileAccess ResultFiles::checked(FileAccess access, const std::string& name,
                                const std::filesystem::path& path) const {
  if (!known_) return access;
  access.opened = [known = known_, name, path, before = std::move(access.opened)](
                      const std::filesystem::path& opened, std::span<const std::byte> bytes) {
    if (opened == path) known->check(name, bytes);
    if (before) before(opened, bytes);
  };
  return access;
}

}  // namespace attn
