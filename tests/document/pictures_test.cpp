#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include "attn/document.hpp"
#include "attn/error.hpp"
#include "attn/io.hpp"

#include "document/document.hpp"
#include "document/reader.hpp"
#include "error_from.hpp"
#include "io/json_tensor.hpp"
#include "io/json_value.hpp"
#include "maps/computed_maps.hpp"
#include "models/vision.hpp"
#include "temporary_folder.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;

const fs::path cases = fs::path(ATTN_TEST_DATA) / "models" / "pictures";

// The numbers of nested lists in their order.
void collect(const JsonValue& value, std::vector<double>& to) {
  if (!value.is(JsonValue::Type::array)) {
    to.push_back(value.number());
    return;
  }
  for (std::size_t i = 0; i < value.size(); ++i) collect(value.element(i), to);
}

Plan plan_of_pictures(const std::string& name, std::optional<DType> dtype = {}) {
  DocumentOptions options;
  options.input = cases / name / "input.json";
  options.dtype = dtype;
  Plan plan = read_plans(open_document(options)).front();
  model_of(plan)->options.wanted.stages = true;
  return plan;
}

// Holds the plan's tensors and the number of its tokens against those that are recorded.
void hold(const Plan& plan, const JsonValue& wanted, double tolerance) {
  std::map<std::string, Tensor> found;
  compute(plan, {[&](NamedTensor result) { found[result.name] = result.tensor; }, {}});
  for (const JsonMember& tensor : wanted.find("tensors")->members()) {
    CAPTURE(tensor.key);
    REQUIRE(found.contains(tensor.key));
    const Tensor numbers = found[tensor.key].converted(DType::float64);
    std::vector<double> expected;
    collect(tensor.value, expected);
    REQUIRE(numbers.size() == expected.size());
    double largest = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      largest = std::max(largest, std::abs(numbers.values<double>()[i] - expected[i]) /
                                      (1 + std::abs(expected[i])));
    }
    CHECK(largest <= tolerance);
  }
  const JsonValue* tokens = wanted.find("tokens");
  if (tokens != nullptr) CHECK(plan.model->tokens.front().size() == tokens->element(0).size());
}

std::string refused(const std::string& settings) {
  return error_from([&] { read_image_processor(parse_json(settings), "ViT"); });
}

}  // namespace

TEST_CASE("models of pictures and sound: every tensor is that of the family's own code") {
  for (const std::string name :
       {"clip_two_pictures_three_texts", "dinov2_registers_antialiased", "dinov3_wide",
        "beit_distances", "beit_shared_distances", "siglip2_wide", "vit_mae_all_patches",
        "blip_fused", "swin_shifted_windows", "swinv2_cosines", "whisper_spectrogram"}) {
    CAPTURE(name);
    const JsonValue wanted = parse_json_by_element(read_text(cases / name / "expected.json"), 100);
    const double of_document = wanted.find("tolerance")->find("float32")->number();
    // Sums of 48 products in single precision are off by 48 · 6·10⁻⁸ of their terms, scores of up
    // to 10 pass that on to weights tenfold, and there are two layers.
    hold(plan_of_pictures(name), wanted, of_document);
    hold(plan_of_pictures(name, DType::float32), wanted, std::max(of_document, 1e-4));
  }
}

TEST_CASE("models of pictures: special tokens and registers have names, patches row and column") {
  const Plan plan = plan_of_pictures("dinov2_registers_antialiased");
  const std::vector<std::string>& tokens = plan.model->tokens.front();
  CHECK(tokens[0] == "[CLS]");
  CHECK(tokens[4] == "[REG4]");
  CHECK(tokens[5] == "0,0");
  CHECK(tokens.back() == "3,3");
}

TEST_CASE("models of pictures: merged patches have maps, names and patches of their own") {
  const Plan plan = plan_of_pictures("swin_shifted_windows");
  REQUIRE(plan.attentions.size() == 3);
  CHECK(plan.attentions[1].geometry.weights_shape() == Shape{1, 1, 16, 16});
  CHECK(plan.attentions[2].geometry.weights_shape() == Shape{1, 2, 4, 4});
  CHECK(plan.attentions[2].labels.key.front() ==
        std::vector<std::string>{"0,0", "0,1", "1,0", "1,1"});
  std::vector<AttentionMap> maps;
  compute(plan, {{}, [&](AttentionMap map, std::size_t) { maps.push_back(std::move(map)); }});
  REQUIRE(maps.size() == 3);
  REQUIRE(maps[2].picture);
  CHECK(maps[0].picture->patch == 4);
  CHECK(maps[2].picture->patch == 8);
  CHECK(maps[2].picture->rows == 2);
}

TEST_CASE(
    "windows of patches: shifted ones are cut at the edges, and fill the grid or are refused") {
  const auto numbers = [](const PatchWindow& window, const PatchGrid& grid) {
    const Tensor all = patch_windows(window, grid);
    return std::vector<std::int64_t>(all.values<std::int64_t>().begin(),
                                     all.values<std::int64_t>().end());
  };
  const std::vector<std::int64_t> shifted = numbers({2, true}, {4, 4});
  // Rows 0, 1 and 2, and 3 are three windows high, and columns likewise.
  for (std::size_t i = 0; i < 16; ++i) {
    for (std::size_t j = 0; j < 16; ++j) {
      const auto part = [](std::size_t at) { return (at + 1) / 2; };
      const bool same = part(i / 4) == part(j / 4) && part(i % 4) == part(j % 4);
      CHECK((shifted[i] == shifted[j]) == same);
    }
  }
  const std::vector<std::int64_t> single = numbers({2, true}, {2, 2});
  CHECK(std::ranges::count(single, single.front()) == 4);
  CHECK(error_from([] {
          patch_windows({2, false}, {4, 3});
        }) ==
        "4 × 3 patches are not filled by windows of 2 × 2\n"
        "  help:  let it be resized to the size of the configuration");
}

TEST_CASE("merging of patches: neighbours stand side by side, zeros beyond an odd grid") {
  PatchMerging own;
  std::vector<double> ones(16, 0);
  for (std::size_t i = 0; i < 4; ++i) ones[5 * i] = 1;
  own.reduction = Linear{Tensor({4, 4}, std::move(ones)), {}};
  own.norm = {Tensor({4}, std::vector<double>(4, 1)), {}, NormKind::rms};
  own.eps = 1e-12;
  const Tensor y = own.merged(Tensor({1, 3, 1}, std::vector<double>{3, 4, 5}), {1, 3});
  REQUIRE(y.shape() == Shape{1, 2, 4});
  const auto rows = y.values<double>();
  // [3, 0, 4, 0] and [5, 0, 0, 0], divided by the roots of their mean squares.
  CHECK(rows[0] == doctest::Approx(1.2));
  CHECK(rows[2] == doctest::Approx(1.6));
  CHECK(rows[4] == doctest::Approx(2));
  CHECK(rows[1] + rows[3] + rows[5] + rows[6] + rows[7] == 0);
}

TEST_CASE("image processors: keys and filters that are not known are refused at their place") {
  CHECK(refused(R"({"do_flip_channel_order": true})") ==
        "the processor's key \"do_flip_channel_order\" is not known\n"
        "  where: /do_flip_channel_order\n"
        "  help:  the pixels might be others than the model was trained on");
  CHECK(refused(R"({"resample": 5})") ==
        "\"resample\": 5 is not a filter that is known\n  where: /resample\n"
        "  help:  known are 0 (nearest), 1 (Lanczos), 2 (bilinear), 3 (bicubic) and 4 (box)");
  CHECK(refused(R"({"do_pad": false, "pad_size": null, "device": "cpu"})") == "no error");
}

TEST_CASE("image processors: what resizes numbers takes two filters and crops nothing") {
  CHECK(refused(R"({"image_processor_type": "DINOv3ViTImageProcessorFast", "resample": 1})") ==
        "\"resample\": 1 is not a filter of numbers\n  where: /resample\n"
        "  help:  known are 2 (bilinear) and 3 (bicubic)");
  CHECK(refused(R"({"image_processor_type": "DINOv3ViTImageProcessor", "do_center_crop": true})") ==
        "pictures that are resized last are not cropped\n  where: /do_center_crop\n"
        "  help:  set it to false, and crop them before");
  CHECK(refused(R"({"max_num_patches": 9})") ==
        "the processor's key \"max_num_patches\" is not known\n  where: /max_num_patches\n"
        "  help:  the pixels might be others than the model was trained on");
}

TEST_CASE("image processors: SigLIP 2 chooses the most patches in the picture's proportions") {
  const Pixels picture{40, 100, std::vector<std::uint8_t>(12'000), false};
  const JsonValue settings = parse_json(R"({"patch_size": 8, "max_num_patches": 30})");
  const Pixels prepared = read_image_processor(settings, "Siglip2").prepared(picture, {});
  CHECK(prepared.height == 24);
  CHECK(prepared.width == 64);
}

TEST_CASE("models of sound: tokens are named by seconds, and texts are refused") {
  const Plan plan = plan_of_pictures("whisper_spectrogram");
  CHECK(plan.model->tokens.front()[0] == "0.00s");
  CHECK(plan.model->tokens.front()[8] == "0.16s");
  const auto problem = [](const std::string& members) {
    const fs::path folder = cases / "whisper_spectrogram";
    return error_from([&] {
      read_plans(Document::parse(R"({"model": "checkpoint", )" + members + "}", "d", folder));
    });
  };
  CHECK(problem(R"("text": "a")") ==
        "models of the type whisper hear a sound, and read no text\n  where: d, /text\n"
        "  help:  give \"sound\", and \"decoder_text\" for what the decoder reads");
  CHECK(problem(R"("dtype": "float64")") ==
        "the document has no sound for the model to hear\n  where: d, /sound\n"
        "  help:  give \"sound\", or DocumentOptions::sounds: a WAV or FLAC file, or a file of "
        "tensors with its spectrogram");
}

TEST_CASE("models of sound: what a model does not hear is told, and features of another one too") {
  const TemporaryFolder folder;
  fs::copy(cases / "whisper_spectrogram" / "checkpoint", folder / "checkpoint");
  // 18 frames of 160 samples.
  write_text(folder / "checkpoint" / "preprocessor_config.json",
             R"({"feature_size": 6, "sampling_rate": 2880, "chunk_length": 1})");
  const auto sound = [&](const std::string& name, std::uint32_t samples) {
    std::string bytes = "RIFF";
    const auto add = [&](std::uint32_t number, int count) {
      for (int i = 0; i < count; ++i) bytes += static_cast<char>((number >> (8 * i)) & 255U);
    };
    add(36 + 2 * samples, 4);
    bytes += "WAVEfmt ";
    add(16, 4);
    add(1, 2);
    add(1, 2);
    add(2880, 4);
    add(2 * 2880, 4);
    add(2, 2);
    add(16, 2);
    bytes += "data";
    add(2 * samples, 4);
    bytes.append(2 * std::size_t{samples}, '\0');
    folder.write(name, bytes);
  };
  const auto plan_of = [&](const std::string& file) {
    return read_plans(Document::parse(R"({"model": "checkpoint", "sound": ")" + file +
                                          R"(", "decoder_token_ids": [[1]]})",
                                      "d", folder.path()))
        .front();
  };
  sound("short.wav", 2880);
  CHECK(plan_of("short.wav").warnings.empty());
  sound("long.wav", 7200);
  CHECK(plan_of("long.wav").warnings ==
        std::vector<std::string>{
            "\"long.wav\" lasts 2.5 seconds, of which the model hears the first 1"});
  folder.write("bands.npy", npy_bytes(Tensor({8, 18}, std::vector<float>(8 * 18, 0))));
  CHECK(error_from([&] { plan_of("bands.npy"); }) ==
        "the spectrogram is [8,18], and the model hears [6,18]: bands and frames\n  where: d, " +
            (folder / "bands.npy").string() +
            "\n  help:  make it with 6 bands, as this model's feature extractor does");
}

TEST_CASE("image processors: lone sizes are squares or the shorter side, by the processor's kind") {
  const Pixels picture{2, 5, std::vector<std::uint8_t>(30), false};
  const auto size = [&](const std::string& kind) {
    const JsonValue settings = parse_json(R"({"size": 4, "do_center_crop": false})");
    const Pixels prepared = read_image_processor(settings, kind).prepared(picture, {});
    return std::pair(prepared.height, prepared.width);
  };
  CHECK(size("ViT") == std::pair<std::size_t, std::size_t>(4, 4));
  CHECK(size("Bit") == std::pair<std::size_t, std::size_t>(4, 10));
}

}  // namespace attn
