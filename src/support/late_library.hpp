#pragma once

#include <atomic>
#include <utility>

namespace attn {

/// A shared library that is opened when one of its functions is called for the first time. Loading
/// the libraries of drawing, and those that they need, takes four times as long as the rest of a
/// start, and most commands draw nothing.
class LateLibrary {
 public:
  /// Name of the file, as the loader looks for it, and of the library in errors.
  constexpr LateLibrary(const char* file, const char* name) : file_(file), name_(name) {}

  /// Address of a function of the library, or of a library that this one needs. Opens the library;
  /// it stays open. Throws Error(file) if it is not installed or lacks the function. For any number
  /// of threads at once.
  void* function(const char* name) const;

 private:
  const char* file_;
  const char* name_;
};

template <class Signature>
class LateFunction;

/// A function of a library that is opened late, called like the function itself.
template <class Result, class... Arguments>
class LateFunction<Result(Arguments...)> {
 public:
  constexpr LateFunction(const LateLibrary& library, const char* name)
      : library_(library), name_(name) {}

  Result operator()(Arguments... arguments) const {
    Address address = address_.load(std::memory_order_acquire);
    if (address == nullptr) {
      address = reinterpret_cast<Address>(library_.function(name_));
      address_.store(address, std::memory_order_release);
    }
    return address(std::forward<Arguments>(arguments)...);
  }

 private:
  using Address = Result (*)(Arguments...);

  const LateLibrary& library_;
  const char* name_;
  mutable std::atomic<Address> address_ = nullptr;  // threads may find it at the same time
};

}  // namespace attn
