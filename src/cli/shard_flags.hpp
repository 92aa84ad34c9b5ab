#pragma once

#include <string>

#include "attn/batch.hpp"

namespace attn::cli {

/// The shard that "1/4" means. Throws Error(usage).
Shard shard_of(const std::string& text);

/// What the engine says that started this process, which is told unless `quiet`; else all.
Shard shard_of_engine(bool quiet);

}  // namespace attn::cli
