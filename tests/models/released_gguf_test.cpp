#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "attn/error.hpp"

#include "models/architecture.hpp"
#include "models/gguf_model.hpp"

namespace attn {
namespace {

// Headers of released files: model | keys under the architecture's name, in short | what is read of
// them: family, layers, query/key heads and their width, or the error and its place.
constexpr std::string_view headers = R"(
TinyLlama 1.1B|llama blocks=22 width=2048 inner=5632 heads=32 kv=4 rms=1e-5 base=10000.0 turned=64 context=2048|llama 22 32/4 64
Llama 2 7B|llama blocks=32 width=4096 inner=11008 heads=32 kv=32 rms=1e-5 turned=128 context=4096|llama 32 32/32 128
Llama 3 8B|llama blocks=32 width=4096 inner=14336 heads=32 kv=8 rms=1e-5 base=500000.0 turned=128 vocab_size=128256 context=8192|llama 32 32/8 128
Llama 3.2 1B|llama blocks=16 width=2048 inner=8192 heads=32 kv=8 key=64 value=64 rms=1e-5 base=500000.0 turned=64 context=131072|llama 16 32/8 64
Llama 3 8B of 262k|llama blocks=32 width=4096 inner=14336 heads=32 kv=8 rms=1e-5 base=283461213.0 turned=128 context=262144 rope.scaling.type=linear rope.scaling.factor=2.0|llama 32 32/8 128
Mistral 7B|llama blocks=32 width=4096 inner=14336 heads=32 kv=8 rms=1e-5 base=1000000.0 turned=128 context=32768|llama 32 32/8 128
Mistral Nemo 12B|llama blocks=40 width=5120 inner=14336 heads=32 kv=8 key=128 value=128 rms=1e-5 base=1000000.0 turned=128 context=131072|llama 40 32/8 128
SmolLM2 135M|llama blocks=30 width=576 inner=1536 heads=9 kv=3 rms=1e-5 base=100000.0 turned=64 context=8192|llama 30 9/3 64
Mixtral 8x7B|llama blocks=32 width=4096 inner=14336 heads=32 kv=8 rms=1e-5 base=1000000.0 turned=128 context=32768 expert_count=8 expert_used_count=2|mixtral 32 32/8 128
Qwen2 0.5B|qwen2 blocks=24 width=896 inner=4864 heads=14 kv=2 rms=1e-6 base=1000000.0 context=32768|qwen2 24 14/2 64
Qwen2.5 7B|qwen2 blocks=28 width=3584 inner=18944 heads=28 kv=4 rms=1e-6 base=1000000.0 context=131072|qwen2 28 28/4 128
DeepSeek R1 Distill Qwen 1.5B|qwen2 blocks=28 width=1536 inner=8960 heads=12 kv=2 rms=1e-6 base=10000.0 context=131072|qwen2 28 12/2 128
Qwen3 0.6B|qwen3 blocks=28 width=1024 inner=3072 heads=16 kv=8 key=128 value=128 rms=1e-6 base=1000000.0 context=40960|qwen3 28 16/8 128
OLMo 2 7B|olmo2 blocks=32 width=4096 inner=11008 heads=32 kv=32 rms=1e-6 base=500000.0 context=4096|olmo2 32 32/32 128
SmolLM3 3B|smollm3 blocks=36 width=2048 inner=11008 heads=16 kv=4 rms=1e-6 base=5000000.0 turned=128 context=65536|smollm3 36 16/4 128
Gemma 2B|gemma blocks=18 width=2048 inner=16384 heads=8 kv=1 key=256 value=256 rms=1e-6 context=8192|gemma 18 8/1 256
Gemma 2 2B|gemma2 blocks=26 width=2304 inner=9216 heads=8 kv=4 key=256 value=256 rms=1e-6 attn_logit_softcapping=50.0 final_logit_softcapping=30.0 window=4096 context=8192|gemma2 26 8/4 256
Gemma 3 1B|gemma3 blocks=26 width=1152 inner=6912 heads=4 kv=1 key=256 value=256 rms=1e-6 base=1000000.0 window=512 context=32768|gemma3_text 26 4/1 256
Phi 2|phi2 blocks=32 width=2560 inner=10240 heads=32 kv=32 norm=1e-5 turned=32 context=2048|phi 32 32/32 80
Phi 3 mini 4k|phi3 blocks=32 width=3072 inner=8192 heads=32 kv=32 rms=1e-5 turned=96 base=10000.0 window=2047 context=4096|phi3 32 32/32 96
Phi 4|phi3 blocks=40 width=5120 inner=17920 heads=40 kv=10 rms=1e-5 turned=128 base=250000.0 window=0 context=16384|phi3 40 40/10 128
GPT-2|gpt2 blocks=12 width=768 inner=3072 heads=12 norm=1e-5 context=1024|gpt2 12 12/12 64
Pythia 160M|gptneox blocks=12 width=768 inner=3072 heads=12 norm=1e-5 turned=16 use_parallel_residual=true context=2048|gpt_neox 12 12/12 64
BLOOM 560M|bloom blocks=24 width=1024 inner=4096 heads=16 kv=16 norm=1e-5 context=2048|bloom 24 16/16 64
Falcon 7B|falcon blocks=32 width=4544 inner=18176 heads=71 kv=1 norm=1e-5 context=2048|falcon 32 71/1 64
MiniLM L6|bert blocks=6 width=384 inner=1536 heads=12 norm=1e-12 attention.causal=false pooling_type=1 context=512|bert 6 12/12 32
gpt-oss 20B|gpt-oss blocks=24 width=2880 inner=2880 heads=64 kv=8 key=64 value=64 rms=1e-5 base=150000.0 window=128 expert_count=32 expert_used_count=4 expert_feed_forward_length=2880 rope.scaling.type=yarn rope.scaling.factor=32.0 rope.scaling.original_context_length=4096 context=131072|gpt_oss 24 64/8 64
T5 small|t5 blocks=6 width=512 inner=2048 heads=8 key=64 value=64 norm=1e-6 rms=1e-6 attention.relative_buckets_count=32 decoder_start_token_id=0 context=512|t5 6 8/8 64
Granite 3.1 2B|granite blocks=40 width=2048 inner=8192 heads=32 kv=8 rms=1e-5 base=5000000.0 turned=64 attention.scale=0.015625 embedding_scale=12.0 residual_scale=0.22 logit_scale=8.0 context=131072|granite 40 32/8 64
Qwen3 30B A3B|qwen3moe blocks=48 width=2048 inner=6144 heads=32 kv=4 key=128 value=128 rms=1e-6 base=1000000.0 expert_count=128 expert_used_count=8 expert_feed_forward_length=768 context=40960|qwen3_moe 48 32/4 128
Qwen2 57B A14B|qwen2moe blocks=28 width=3584 heads=28|models of the architecture "qwen2moe" are not computed, general.architecture
DeepSeek V2 Lite|deepseek2 blocks=27 width=2048 heads=16|models of the architecture "deepseek2" are not computed, general.architecture
Command R|command-r blocks=40 width=8192 inner=22528 heads=64 kv=64 norm=1e-5 base=8000000.0 logit_scale=0.0625 rope.scaling.type=none context=131072|cohere 40 64/64 128
StarCoder 2 3B|starcoder2 blocks=30 width=3072 inner=12288 heads=24 kv=2 norm=1e-5 base=999999.4 context=16384|starcoder2 30 24/2 128
StableLM 2 1.6B|stablelm blocks=24 width=2048 inner=5632 heads=32 kv=32 turned=16 norm=1e-5 use_parallel_residual=false context=4096|stablelm 24 32/32 64
MPT 7B|mpt blocks=32 width=4096 heads=32|models of the architecture "mpt" are not computed, general.architecture
InternLM 2 7B|internlm2 blocks=32 width=4096 inner=14336 heads=32 kv=8 rms=1e-5 base=1000000.0 context=32768|llama 32 32/8 128
ChatGLM 3 6B|chatglm blocks=28 width=4096 heads=32|models of the architecture "chatglm" are not computed, general.architecture
Llama 4 Scout|llama4 blocks=48 width=5120 heads=40|models of the architecture "llama4" are not computed, general.architecture
Gemma 3n E2B|gemma3n blocks=30 width=2048 heads=8|models of the architecture "gemma3n" are not computed, general.architecture
nomic-embed-text v1.5|nomic-bert blocks=12 width=768 inner=3072 heads=12 norm=1e-12 base=1000.0 attention.causal=false pooling_type=1 context=2048|nomic_bert 12 12/12 64
Mamba 130M|mamba blocks=24 width=768|models of the architecture "mamba" are not computed, general.architecture
RWKV 6|rwkv6 blocks=24 width=2048|models of the architecture "rwkv6" are not computed, general.architecture
)";

// Whole names of the keys that are in short above.
constexpr std::pair<std::string_view, std::string_view> whole_names[]{
    {"blocks", "block_count"},
    {"width", "embedding_length"},
    {"inner", "feed_forward_length"},
    {"heads", "attention.head_count"},
    {"kv", "attention.head_count_kv"},
    {"key", "attention.key_length"},
    {"value", "attention.value_length"},
    {"rms", "attention.layer_norm_rms_epsilon"},
    {"norm", "attention.layer_norm_epsilon"},
    {"window", "attention.sliding_window"},
    {"base", "rope.freq_base"},
    {"turned", "rope.dimension_count"},
    {"context", "context_length"}};

template <class Number>
std::string bytes_of(Number number) {
  return {reinterpret_cast<const char*>(&number), sizeof number};
}

std::string bytes_of_text(std::string_view text) {
  return bytes_of<std::uint64_t>(text.size()) + std::string(text);
}

// A value with its type, as the format numbers them.
std::string typed(const std::string& value) {
  if (value == "true" || value == "false") {
    return bytes_of<std::uint32_t>(7) + bytes_of<std::uint8_t>(value == "true");
  }
  if (value.find_first_not_of("0123456789.e-") != value.npos) {
    return bytes_of<std::uint32_t>(8) + bytes_of_text(value);
  }
  if (value.find_first_of(".e") != value.npos) {
    return bytes_of<std::uint32_t>(6) + bytes_of(std::stof(value));
  }
  return bytes_of<std::uint32_t>(4) + bytes_of(static_cast<std::uint32_t>(std::stoul(value)));
}

// The file of these keys, without tensors.
std::string gguf_of(const std::string& description) {
  std::istringstream words(description);
  std::string architecture, word;
  words >> architecture;
  std::string keys = bytes_of_text("general.architecture") + typed(architecture);
  std::uint64_t count = 1;
  for (; words >> word; ++count) {
    const std::size_t equals = word.find('=');
    std::string name = word.substr(0, equals);
    for (const auto& [short_name, whole] : whole_names) {
      if (name == short_name) name = whole;
    }
    keys += bytes_of_text(architecture + "." + name) + typed(word.substr(equals + 1));
  }
  return "GGUF" + bytes_of<std::uint32_t>(3) + bytes_of<std::uint64_t>(0) + bytes_of(count) + keys;
}

std::string read_from(const std::string& bytes) {
  try {
    const Gguf file(std::as_bytes(std::span(bytes)), nullptr);
    const GgufModel model = read_gguf_model(file);
    const Architecture read = read_architecture(model.config, &model.row);
    return read.family + " " + std::to_string(read.stacks.back().layers.size()) + " " +
           std::to_string(read.heads) + "/" + std::to_string(read.kv_heads) + " " +
           std::to_string(read.head_width);
  } catch (const Error& error) {
    return error.problem() + ", " + error.where();
  }
}

}  // namespace

TEST_CASE("headers of released GGUF files are read, or refused by the name of what is not") {
  std::istringstream lines{std::string(headers)};
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) continue;
    CAPTURE(line.substr(0, line.find('|')));
    const std::size_t keys = line.find('|') + 1, expected = line.find('|', keys) + 1;
    CHECK(read_from(gguf_of(line.substr(keys, expected - 1 - keys))) == line.substr(expected));
    ++count;
  }
  CHECK(count == 43);
}

}  // namespace attn
