#pragma once

/// attn: exact attention, and pictures of it. Includes every public header.

#include "attn/attention.hpp"
#include "attn/batch.hpp"
#include "attn/bench.hpp"
#include "attn/compare.hpp"
#include "attn/cpu.hpp"
#include "attn/document.hpp"
#include "attn/error.hpp"
#include "attn/explain.hpp"
#include "attn/file_access.hpp"
#include "attn/gradient.hpp"
#include "attn/io.hpp"
#include "attn/layers.hpp"
#include "attn/model.hpp"
#include "attn/named.hpp"
#include "attn/plot.hpp"
#include "attn/rotary.hpp"
#include "attn/run.hpp"
#include "attn/spec.hpp"
#include "attn/tensor.hpp"
#include "attn/version.hpp"
