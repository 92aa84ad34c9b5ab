#include "attention/kept_packing.hpp"

namespace attn {

const void* KeptMatrix::find(Form form) const noexcept {
  const Rows& rows = rows_[static_cast<std::size_t>(form)];
  const bool complete = rows.state.load(std::memory_order_acquire) == State::complete;
  return complete ? rows.block.get() : nullptr;
}

void* KeptMatrix::claim(Form form, std::size_t bytes) noexcept {
  Rows& rows = of(form);
  State expected = State::empty;
  if (!rows.state.compare_exchange_strong(expected, State::claimed)) return nullptr;
  std::size_t left = left_;
  while (left >= bytes && !left_.compare_exchange_weak(left, left - bytes)) {
  }
  rows.bytes = left >= bytes ? bytes : 0;
  if (rows.bytes > 0) rows.block.reset(allocate_block(bytes));
  if (!rows.block) abandon(form);
  return rows.block.get();
}

void KeptMatrix::complete(Form form) noexcept {
  of(form).state.store(State::complete, std::memory_order_release);
}

void KeptMatrix::abandon(Form form) noexcept {
  Rows& rows = of(form);
  rows.block.reset();
  left_ += rows.bytes;
  rows.state.store(State::empty, std::memory_order_release);
}

KeptMatrix& KeptPacking::matrix(const std::string& name, std::size_t first, std::size_t count) {
  const std::lock_guard lock(guard_);
  return matrices_.try_emplace({name, first, count}, left_).first->second;
}

}  // namespace attn
