#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace attn {

/// A line that has come, without its end.
struct ArrivedLine {
  std::size_t number = 0;                   ///< from 1
  std::shared_ptr<const std::string> text;  ///< null = it is too long to be kept
};

/// The lines of a stream, each as soon as it is there. Nothing is read ahead of the line that is
/// asked for but what came with it.
class ArrivingLines {
 public:
  /// `descriptor` stays open. Longer lines than `most_bytes` are passed over. While `*stop` is true
  /// there is no line any more.
  ArrivingLines(int descriptor, std::uint64_t most_bytes, const std::atomic<bool>* stop)
      : descriptor_(descriptor), most_bytes_(most_bytes), stop_(stop) {}

  /// The next line that is not blank; nothing at the end. Throws Error(file) if the stream cannot
  /// be read.
  std::optional<ArrivedLine> next();

 private:
  void read_more();
  bool is_stopped() const { return stop_ != nullptr && *stop_; }

  int descriptor_;
  std::uint64_t most_bytes_;
  const std::atomic<bool>* stop_;
  std::string came_;
  std::size_t begin_ = 0;     // of what came after the last line
  std::size_t searched_ = 0;  // up to here there is no end of a line
  std::size_t number_ = 0;
  bool too_long_ = false, ended_ = false;
};

}  // namespace attn
