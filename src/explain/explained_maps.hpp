#pragma once

#include <memory>

#include "attn/explain.hpp"

#include "support/mapped_file.hpp"

namespace attn {

/// Whether it is a file of maps (a result, tensors, {"weights":…}) and no document. Of what cannot
/// be read at all it is not told.
bool holds_maps(const MappedFile& file, const Limits& limits);

/// What the rows of the chosen query tell, in each layer and head that is chosen; `file` is that of
/// the input. Throws Error as explain() does.
ExplainOutcome explained_maps(const ExplainOptions& options,
                              const std::shared_ptr<const MappedFile>& file);

}  // namespace attn
