#pragma once

namespace attn {

/// While it lives, texts that this thread makes are English, if it is for that: the matplotlib
/// style is so to the letter.
class InEnglish {
 public:
  explicit InEnglish(bool wanted) noexcept;
  ~InEnglish();
  InEnglish(const InEnglish&) = delete;
  InEnglish& operator=(const InEnglish&) = delete;

 private:
  bool wanted_;
};

}  // namespace attn
