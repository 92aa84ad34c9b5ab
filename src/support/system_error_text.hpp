#pragma once

#include <string>

namespace attn {

/// Reason for which the operating system refused, `error` being its errno: "No such file or
/// directory", in the language of speak() for the errors that files usually meet.
std::string system_error_text(int error);

}  // namespace attn
