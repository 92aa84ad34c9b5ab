#pragma once

#include "attn/file_access.hpp"

#include "document/plan.hpp"

namespace attn {

/// How much plans ask for, known before anything of them is drawn, allocated or computed. Counted
/// in double precision, in which no product of sizes overflows.
struct Demand {
  double read = 0;      ///< elements of inputs, masks, parameters and embeddings
  double computed = 0;  ///< elements of weights, steps, outputs and the hidden states between them
  double bytes = 0;     ///< of both, where they are not a file's

  Demand& operator+=(const Demand& other);
};

/// The demand of a plan whose options say what is wanted of it.
Demand demand_of(const Plan& plan);

/// Throws Error(input) if the demand exceeds Limits::elements or this machine's memory.
void check_demand(const Demand& demand, const Limits& limits);

}  // namespace attn
