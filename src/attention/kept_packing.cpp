#include "attention/kept_packing.hpp"

namespace attn {

const void* KeptMatrix::find(Form form) const noexcept {
  const bool complete = state_.load(std::memory_order_acquire) == State::complete;
  return complete && form_ == form ? block_.get() : nullptr;
}

void* KeptMatrix::claim(Form form, std::size_t bytes) noexcept {
  State expected = State::empty;
  if (!state_.compare_exchange_strong(expected, State::claimed)) return nullptr;
  form_ = form;
  std::size_t left = left_;
  while (left >= bytes && !left_.compare_exchange_weak(left, left - bytes)) {
  }
  bytes_ = left >= bytes ? bytes : 0;
  if (bytes_ > 0) block_.reset(allocate_block(bytes));
  if (!block_) abandon();
  return block_.get();
}

void KeptMatrix::abandon() noexcept {
  block_.reset();
  left_ += bytes_;
  state_.store(State::empty, std::memory_order_release);
}

KeptMatrix& KeptPacking::matrix(const std::string& name, std::size_t first, std::size_t count) {
  const std::lock_guard lock(guard_);
  return matrices_.try_emplace({name, first, count}, left_).first->second;
}

}  // namespace attn
