#include "attn/compare.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string_view>

#include "attn/error.hpp"
#include "attn/io.hpp"

#include "compare/compared_tensors.hpp"
#include "document/tensor_source.hpp"
#include "io/json_tensor.hpp"
#include "io/raw_array.hpp"
#include "maps/attention_map.hpp"
#include "pictures/drawing.hpp"
#include "result/provenance.hpp"
#include "result/result_reader.hpp"
#include "support/mapped_file.hpp"
#include "support/translated.hpp"
#include "tensor/elements.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

using Outcome = TensorComparison::Outcome;

TensorComparison::Number number_at(const Tensor& tensor, std::size_t element) {
  return with_elements(tensor, [element]<class T>(std::span<const T> values) {
    using Number = std::conditional_t<std::is_same_v<T, std::uint8_t>, std::int64_t, T>;
    return TensorComparison::Number(Number{values[element]});
  });
}

double ratio(long double a, long double b) {
  if (a == 0) return 0;
  return static_cast<double>(a / b);  // infinite for b = 0
}

TensorComparison::Spread spread_of(const Tensor& a, const Tensor& b,
                                   const ElementDifferences& found) {
  TensorComparison::Spread spread;
  if (found.absolute.error == 0) return spread;
  spread.mean = ratio(found.sum, static_cast<long double>(a.size()));
  spread.relative_norm = ratio(std::sqrt(found.squares), std::sqrt(found.squares_of_b));
  const std::vector<double> quantiles = error_quantiles(a, b, {0.5, 0.9, 0.99});
  spread.median = quantiles[0];
  spread.percent90 = quantiles[1];
  spread.percent99 = quantiles[2];
  return spread;
}

bool is_exact(const Tensor& tensor) {
  return tensor.dtype() == DType::int64 || tensor.dtype() == DType::boolean;
}

void compare_elements(const Tensor& a, const Tensor& b, const CompareRequest& request,
                      TensorComparison& comparison) {
  const bool exact = is_exact(a) && is_exact(b);
  comparison.exact = exact && !request.rtol && !request.atol;
  const ElementDifferences found = element_differences(
      a, b, request.rtol.value_or(exact ? 0 : CompareRequest::default_rtol),
      request.atol.value_or(exact ? 0 : CompareRequest::default_atol), request.threads);
  const auto largest = [&](const ElementDifferences::Largest& of) {
    TensorComparison::Largest result{of.error, {}};
    if (of.error > 0) result.index = index_of(of.index, a.shape());
    return result;
  };
  comparison.absolute = largest(found.absolute);
  comparison.relative = largest(found.relative);
  comparison.spread = spread_of(a, b, found);
  comparison.compared = a.shape();
  comparison.elements = a.size();
  comparison.beyond = found.beyond;
  comparison.outcome = found.beyond == 0 ? Outcome::within : Outcome::beyond;
  if (found.first_beyond) {
    const std::size_t at = *found.first_beyond;
    comparison.first_beyond = {index_of(at, a.shape()), number_at(a, at), number_at(b, at)};
  }
}

std::string name_of(const std::filesystem::path& path) {
  return path == "-" ? translated("standard input") : path.string();
}

/// One of the two files. It may stand anywhere; what it refers to is opened once, under the rules
/// of `access`.
class ComparedFile {
 public:
  ComparedFile(const std::filesystem::path& path, const FileAccess& access)
      : path_(path),
        access_(access),
        name_(name_of(path)),
        source_(path == "-" ? std::filesystem::path() : path.parent_path(), access) {
    const auto file = MappedFile::open(FileName::by_user(path), access);
    if (looks_like_json(file->bytes())) {
      try {
        json_.emplace(file->text(), file, access.limits.nesting);
        source_.expect(json_->files());
      } catch (const Error& error) {
        refuse_document();
        throw error.inside(name_);
      }
    } else {
      tensors_ = TensorFile::from_file(file->bytes(), file, path, access);
    }
    for (std::size_t i = 0; i < names().size(); ++i) index_.try_emplace(names()[i], i);
  }

  const std::vector<std::string>& names() const {
    return json_ ? json_->names() : tensors_->names();
  }

  NamesInFile known_names() const { return {names(), path_ == "-" ? "" : path_.stem().string()}; }

  /// Throws Error(input) if the file is an input document, which has no results.
  void refuse_document() const {
    if (is_document()) throw not_a_result(name_);
  }

  struct Stored {
    Tensor tensor;
    std::string type;
  };
  Stored read(const std::string& name) {
    if (tensors_) return {tensors_->read(name), tensors_->stored_type(name)};
    try {
      Stored stored;
      stored.tensor =
          json_->read(index_.at(name), [&](const std::string& file, const std::string& tensor) {
            const TensorFile& other = source_.file(file);
            stored.type = other.stored_type(tensor);
            return other.read(tensor);
          });
      if (stored.type.empty()) stored.type = attn::name(json_->stored_type(stored.tensor));
      return stored;
    } catch (const Error& error) {
      throw error.inside(name_);
    }
  }

 private:
  // Standard input can be read once only.
  bool is_document() const {
    try {
      return path_ != "-" && ResultReader(path_, access_).is_document();
    } catch (const Error&) {
      return false;  // a file that cannot be read, which has errors of its own
    }
  }

  std::filesystem::path path_;
  FileAccess access_;
  std::string name_;
  TensorSource source_;
  std::optional<JsonTensorFile> json_;
  std::optional<TensorFile> tensors_;  // of any other format
  std::map<std::string_view, std::size_t> index_;
};

// Those that a result has for the tensor; none if the file is another one, has none that can be
// read, or was standard input, which is gone.
Labels labels_of(const std::string& tensor, const std::filesystem::path& path,
                 const FileAccess& access) {
  if (path == "-") return {};
  try {
    return ResultReader(path, access).labels(tensor);
  } catch (const Error&) {
    return {};
  }
}

void draw(const CompareRequest& request, const FileAccess& access, ComparedFile& a, ComparedFile& b,
          const std::vector<ComparedNames>& pairs, const Provenance& provenance,
          Comparison& comparison) {
  // The matrix with the largest error; without any error, the first one.
  std::optional<std::size_t> chosen;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const TensorComparison& tensor = comparison.tensors[i];
    if (!is_compared(tensor) || tensor.compared.size() < 2) continue;
    if (!chosen || tensor.absolute.error > comparison.tensors[*chosen].absolute.error) chosen = i;
  }
  if (!chosen) {
    comparison.warnings.emplace_back(translated(
        "there is no picture: the files have no matrix of one name and shape in common"));
    return;
  }
  const TensorComparison& tensor = comparison.tensors[*chosen];
  const auto part = [&](const Tensor& whole) {
    const std::size_t heads = tensor.compared.size() == 4 ? tensor.compared[1] : 1;
    return leading_part(for_each_head(compared_part(whole, request), heads), tensor.compared);
  };
  DifferenceMap map{part(a.read(*pairs[*chosen].a).tensor), part(b.read(*pairs[*chosen].b).tensor),
                    tensor.name, tensor.absolute.index.value_or(Shape(tensor.compared.size())),
                    labels_of(tensor.name, request.a, access)};
  comparison.pictured = pictured_name(map);
  comparison.picture = draw_difference(map, *request.picture, request.dpi,
                                       request.provenance ? provenance.text() : "");
  comparison.picture->inputs = access.mapped;
  for (const std::string& warning : comparison.picture->warnings) {
    comparison.warnings.push_back(warning);
  }
}

}  // namespace

bool Comparison::agree() const noexcept {
  // Files that have nothing in common agree in nothing.
  if (std::all_of(tensors.begin(), tensors.end(), is_alone)) return false;
  return std::all_of(tensors.begin(), tensors.end(), [&](const TensorComparison& tensor) {
    return tensor.outcome == Outcome::within || (is_alone(tensor) && !tensor.counts);
  });
}

namespace {

Comparison compared(const CompareRequest& given, FileAccess access) {
  CompareRequest request = given;
  request.a = result_in(given.a);
  request.b = result_in(given.b);
  Provenance provenance;
  if (request.provenance) provenance.watch(access);
  ComparedFile a(request.a, access), b(request.b, access);
  Comparison comparison;
  comparison.a = name_of(request.a);
  comparison.b = name_of(request.b);
  comparison.rtol = request.rtol.value_or(CompareRequest::default_rtol);
  comparison.atol = request.atol.value_or(CompareRequest::default_atol);
  const std::vector<ComparedNames> pairs =
      compared_names(request, a.known_names(), b.known_names());
  const auto in_both = [](const ComparedNames& pair) { return pair.a && pair.b; };
  if (std::none_of(pairs.begin(), pairs.end(), in_both)) {
    a.refuse_document();
    b.refuse_document();
  }
  if (pairs.empty()) {
    throw input_error(translated("neither file holds a tensor"), comparison.a + ", " + comparison.b,
                      translated("name two results or files of tensors"));
  }
  for (const ComparedNames& pair : pairs) {
    TensorComparison tensor;
    tensor.name = pair.name;
    tensor.counts = request.strict || !request.only.empty();
    // Read here, so that no more than one pair is in memory at a time.
    auto stored_a = pair.a ? a.read(*pair.a) : ComparedFile::Stored();
    auto stored_b = pair.b ? b.read(*pair.b) : ComparedFile::Stored();
    stored_a.tensor = compared_part(stored_a.tensor, request);
    stored_b.tensor = compared_part(stored_b.tensor, request);
    if (pair.a && pair.b && (pair.name == "allowed" || pair.name.ends_with(".allowed"))) {
      // Either file may hold what all heads see once.
      const auto heads = [](const Tensor& one) { return one.rank() == 4 ? one.shape()[1] : 1; };
      const std::size_t most = std::max(heads(stored_a.tensor), heads(stored_b.tensor));
      stored_a.tensor = for_each_head(stored_a.tensor, most);
      stored_b.tensor = for_each_head(stored_b.tensor, most);
    }
    const Tensor &in_a = stored_a.tensor, &in_b = stored_b.tensor;
    check_element_limit(in_a.size(), access.limits.elements, comparison.a);
    check_element_limit(in_b.size(), access.limits.elements, comparison.b);
    tensor.a = {in_a.shape(), stored_a.type};
    tensor.b = {in_b.shape(), stored_b.type};
    if (!pair.b) {
      tensor.outcome = Outcome::only_in_a;
    } else if (!pair.a) {
      tensor.outcome = Outcome::only_in_b;
    } else if (request.overlap && in_a.rank() == in_b.rank()) {
      Shape common = in_a.shape();
      for (std::size_t axis = 0; axis < common.size(); ++axis) {
        common[axis] = std::min(common[axis], in_b.shape()[axis]);
      }
      compare_elements(leading_part(in_a, common), leading_part(in_b, common), request, tensor);
    } else if (in_a.shape() != in_b.shape()) {
      tensor.outcome = Outcome::shapes_differ;
    } else {
      compare_elements(in_a, in_b, request, tensor);
    }
    comparison.tensors.push_back(std::move(tensor));
  }
  if (request.picture) draw(request, access, a, b, pairs, provenance, comparison);
  return comparison;
}

}  // namespace

Comparison compare(const CompareRequest& request) {
  return with_whole_files(request.files,
                          [&](const FileAccess& access) { return compared(request, access); });
}

}  // namespace attn
