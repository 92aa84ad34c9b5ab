#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "attn/file_access.hpp"
#include "attn/io.hpp"

#include "io/pickle.hpp"
#include "io/pickled_tensors.hpp"

namespace attn {

/// What the values of a pickle are.
struct PickledMembers {
  std::vector<std::string> names;  ///< of the tensors, by their paths
  std::vector<PickledTensor> tensors;
  std::vector<PickledStorage> storages;
  std::vector<OtherMember> others;
};

/// The tensors of a pickle in dicts, lists, tuples, named tuples and values that are containers,
/// named by their path ("attentions.3"), and what else there is. `kept`: bytes that stay as long as
/// the members do. Throws Error(input), at the byte of the pickle, as TorchFile does.
PickledMembers pickled_members(const Pickle& pickle, EqualTexts& texts,
                               const FindStorage& find_storage, std::span<const std::byte> kept,
                               const Limits& limits);

}  // namespace attn
