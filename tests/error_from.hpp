#pragma once

#include <concepts>
#include <optional>
#include <string>

#include <doctest/doctest.h>

#include "attn/error.hpp"

/// The whole text of the error that a call ends with, which must be of that kind if one is given;
/// "no error" if it ends without one.
template <std::invocable Call>
std::string error_from(Call&& call, std::optional<attn::ErrorKind> kind = attn::ErrorKind::input) {
  try {
    call();
  } catch (const attn::Error& error) {
    if (kind) CHECK(error.kind() == *kind);
    return error.what();
  }
  return "no error";
}
