#include "attn/compare.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <string_view>
#include <system_error>

#include "attn/error.hpp"
#include "attn/io.hpp"

#include "attention/attention_name.hpp"
#include "compare/compared_tensors.hpp"
#include "document/tensor_source.hpp"
#include "io/file_members.hpp"
#include "io/json_tensor.hpp"
#include "io/raw_array.hpp"
#include "maps/attention_map.hpp"
#include "maps/filed_maps.hpp"
#include "maps/selected_map.hpp"
#include "pictures/drawing.hpp"
#include "result/provenance.hpp"
#include "result/result_reader.hpp"
#include "result/tensor_names.hpp"
#include "support/mapped_file.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

using Outcome = TensorComparison::Outcome;

std::string name_of(const std::filesystem::path& path) {
  return path == "-" ? translated("standard input") : path.string();
}

/// One of the two files. It may stand anywhere; what it refers to is opened once, under the rules
/// of `access`.
class ComparedFile {
 public:
  ComparedFile(const std::filesystem::path& path, const FileAccess& access,
               const std::string& layout, const char* layout_field)
      : path_(path),
        access_(access),
        layout_(layout),
        layout_field_(layout_field),
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

  /// Throws Error(input) with the reason if a member of that name is no tensor.
  void refuse_other(const std::string& name) const {
    for (const OtherMember& other : json_ ? json_->others() : tensors_->others()) {
      if (other.name == name) throw not_a_tensor(other).inside(name_);
    }
  }

  /// Throws Error(input) if the file is an input document, which has no results.
  void refuse_document() const {
    if (is_document()) throw not_a_result(name_);
  }

  struct Stored {
    Tensor tensor;
    std::string type;
  };
  /// Rows without a key of the attention that the tensor belongs to; empty if nothing beside it
  /// tells. `shape` is the tensor's, in the usual order.
  UnseenRows unseen_rows_beside(const std::string& tensor, const Shape& shape) {
    constexpr std::string_view of_gradient = "gradient.";
    const bool gradient = tensor.starts_with(of_gradient);
    const AttentionName attention =
        AttentionName::of_tensor(gradient ? tensor.substr(of_gradient.size()) : tensor);
    for (const char* const quantity : {"allowed", "lse", "weights"}) {
      const std::string name = attention.tensor(quantity);
      if (!index_.contains(name)) continue;
      Shape rows = shape;
      if (rows.size() > 3) rows.resize(3);
      const Tensor found = read(name, name, rows).tensor;
      if (found.rank() > 0 && found.size() > 0) return unseen_rows(found, quantity);
    }
    return {};
  }

  /// A tensor with its axes in the usual order, which maps have as they are. Log-sum-exps have that
  /// by which their shape is `like`, if one does.
  Stored read(const std::string& name, const std::string& compared_as, const Shape& like = {}) {
    Stored stored = read(name);
    if (layout_.empty() || is_map(compared_as)) return stored;
    if (is_sums(compared_as)) {
      const std::vector<Tensor> readings = sums_in_layout(stored.tensor, layout_, layout_field_);
      const auto fitting = std::ranges::find(readings, like, &Tensor::shape);
      const Tensor& chosen = fitting == readings.end() ? readings.front() : *fitting;
      const bool sums_alone = layout_.find('D') == std::string::npos;
      in_layout_ = in_layout_ || chosen.shape() != stored.tensor.shape() ||
                   (sums_alone && chosen.rank() == layout_.size());
      stored.tensor = chosen;
    } else if (stored.tensor.rank() == layout_.size()) {
      stored.tensor = in_usual_layout(stored.tensor, layout_, layout_field_);
      in_layout_ = true;
    }
    return stored;
  }

  /// Throws Error(input) if there is a layout, and no tensor that was read has its axes.
  void check_layout_used() const {
    if (layout_.empty() || in_layout_) return;
    throw input_error(
        translated("no tensor that is compared has the {1} axes of the layout \"{2}\"",
                   layout_.size(), layout_),
        layout_field_, translated("give one letter for each axis"));
  }

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
  std::string layout_;  // of its tensors; empty = the usual one
  const char* layout_field_;
  bool in_layout_ = false;
  std::string name_;
  TensorSource source_;
  std::optional<JsonTensorFile> json_;
  std::optional<TensorFile> tensors_;  // of any other format
  std::map<std::string_view, std::size_t> index_;
};

struct StoredPair {
  ComparedFile::Stored a, b;  // absent in a file without it
};

// Both tensors of a pair in the usual order: of two readings those that have one shape.
StoredPair read_pair(const ComparedNames& names, ComparedFile& a, ComparedFile& b) {
  StoredPair pair;
  if (names.a) pair.a = a.read(*names.a, names.name);
  if (names.b) pair.b = b.read(*names.b, names.name, names.a ? pair.a.tensor.shape() : Shape());
  if (names.a && names.b && pair.a.tensor.shape() != pair.b.tensor.shape())
    pair.a = a.read(*names.a, names.name, pair.b.tensor.shape());
  return pair;
}

// Whether rows of a tensor may be queries.
bool may_have_queries(std::string_view name) {
  const std::string_view quantity = name.substr(name.rfind('.') + 1);  // npos + 1 is 0
  return !quantity.starts_with("key") && !quantity.starts_with("value");
}

// Those that the request names, or that A, a result, has for the tensor; none if the file is
// another one, has none that can be read, or was standard input, which is gone.
Labels labels_of(const std::string& tensor, const CompareRequest& request,
                 const FileAccess& access) {
  if (request.maps.labels) return read_label_file(*request.maps.labels, access);
  if (request.a == "-") return {};
  try {
    return ResultReader(request.a, access).labels(tensor);
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
  const Labels labels = labels_of(tensor.name, request, access);
  const auto part = [&](const Tensor& whole) {
    const std::size_t heads = tensor.compared.size() == 4 ? tensor.compared[1] : 1;
    return leading_part(
        for_each_head(compared_part(whole, tensor.name, request.maps, labels), heads),
        tensor.compared);
  };
  const StoredPair stored = read_pair(pairs[*chosen], a, b);
  DifferenceMap map{part(stored.a.tensor), part(stored.b.tensor), tensor.name,
                    tensor.absolute.index.value_or(Shape(tensor.compared.size())),
                    takes_positions(request.maps.selection) ? Labels() : labels};
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

// The first field of the selection that acts on queries and keys, or joins maps; null = none.
const char* choice_of_positions(const MapSelection& selection) {
  const std::pair<bool, const char*> fields[]{
      {samples_together(selection), "MapSelection::chosen_samples"},
      {heads_together(selection), "MapSelection::chosen_heads"},
      {selection.queries.has_value(), "MapSelection::queries"},
      {selection.query.has_value(), "MapSelection::query"},
      {selection.keys.has_value(), "MapSelection::keys"},
      {selection.drop_first > 0, "MapSelection::drop_first"},
      {!selection.drop.empty(), "MapSelection::drop"},
      {selection.renormalize, "MapSelection::renormalize"},
      {selection.merge_pieces, "MapSelection::merge_pieces"},
      {selection.blocks != MapSelection::Blocks::none, "MapSelection::blocks"}};
  const auto* const given = std::ranges::find(fields, true, &std::pair<bool, const char*>::first);
  return given == std::end(fields) ? nullptr : given->second;
}

// Tensors that only one file has go together if each file has their shape once.
void pair_by_shape(ComparedFile& a, ComparedFile& b, std::vector<ComparedNames>& pairs,
                   Comparison& comparison) {
  std::map<Shape, std::vector<std::size_t>> in_a, in_b;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const ComparedNames& pair = pairs[i];
    const Tensor tensor = (pair.a ? a.read(*pair.a, pair.name) : b.read(*pair.b, pair.name)).tensor;
    (pair.a ? in_a : in_b)[tensor.shape()].push_back(i);
  }
  std::vector<std::size_t> joined;
  for (const auto& [shape, places] : in_a) {
    const auto other = in_b.find(shape);
    if (places.size() != 1 || other == in_b.end() || other->second.size() != 1) continue;
    ComparedNames& pair = pairs[places[0]];
    const ComparedNames& found = pairs[other->second[0]];
    comparison.warnings.push_back(translated(
        "no name is in both files: {1} is compared with {2}, which alone has its shape "
        "{3}; say so with CompareRequest::renamed {4}",
        in_quotes(pair.name), in_quotes(found.name), text(shape), pair.name + "=" + found.name));
    pair.b = found.b;
    joined.push_back(other->second[0]);
  }
  std::sort(joined.rbegin(), joined.rend());
  for (const std::size_t i : joined) pairs.erase(pairs.begin() + static_cast<std::ptrdiff_t>(i));
}

// The request with the files of results that it names. Throws for what no comparison can do.
CompareRequest checked(const CompareRequest& given) {
  CompareRequest request = given;
  if (request.maps.name) request.only.push_back(*request.maps.name);
  if (request.maps.selection.joins_layers()) {
    throw Error(ErrorKind::usage, translated("layers are compared one by one"),
                "MapSelection::layers", translated("leave out mean and max"));
  }
  request.a = result_in(given.a);
  request.b = result_in(given.b);
  return request;
}

// Warns of one file in both places, which a slip or a link may have put there.
void warn_of_one_file(const CompareRequest& request, Comparison& comparison) {
  std::error_code unknown;  // of standard input, or of a file that has vanished
  if (!std::filesystem::equivalent(request.a, request.b, unknown)) return;
  comparison.warnings.push_back(
      comparison.a == comparison.b
          ? translated("{1} is compared with itself: name the other file", comparison.a)
          : translated("{1} and {2} are the same file, which is compared with itself: name the "
                       "other file",
                       comparison.a, comparison.b));
}

// Sentences on what was changed in the model of a result; none for other files, or one that is
// gone.
std::vector<std::string> changes_in(const std::filesystem::path& path, const FileAccess& access) {
  if (path.extension() != ".json") return {};
  try {
    return ResultReader(path, access).changes();
  } catch (const Error&) {
    return {};
  }
}

// Names as the cause of differences what was changed in the model of one result alone.
void tell_changes(const CompareRequest& request, const FileAccess& access, Comparison& comparison) {
  const std::vector<std::string> a = changes_in(request.a, access),
                                 b = changes_in(request.b, access);
  if (a == b) return;
  const auto tell = [&](const std::string& file, const std::vector<std::string>& changes) {
    for (const std::string& change : changes) {
      comparison.warnings.push_back(
          translated("{1} is of a changed model: look there first. {2}", file, change));
    }
  };
  tell(comparison.a, a);
  tell(comparison.b, b);
}

// The names of tensors that are compared. Throws for files that hold none.
std::vector<ComparedNames> pairs_of(const CompareRequest& request, ComparedFile& a, ComparedFile& b,
                                    Comparison& comparison) {
  std::vector<ComparedNames> pairs = compared_names(request, a.known_names(), b.known_names());
  const char* const chooses = choice_of_positions(request.maps.selection);
  if (chooses != nullptr && !pairs.empty()) {
    std::erase_if(pairs, [](const ComparedNames& pair) {
      return is_result_name(pair.name) && !is_map(pair.name);
    });
    if (pairs.empty()) {
      throw Error(
          ErrorKind::usage,
          translated("{1} chooses among queries and keys, and no tensor that is compared is a "
                     "map of these",
                     chooses),
          chooses,
          translated("leave it out, or name maps with {1}, such as weights",
                     "CompareRequest::only"));
    }
  }
  const auto in_both = [](const ComparedNames& pair) { return pair.a && pair.b; };
  if (std::none_of(pairs.begin(), pairs.end(), in_both)) {
    a.refuse_document();
    b.refuse_document();
  }
  if (pairs.empty()) {
    throw input_error(translated("neither file holds a tensor"), comparison.a + ", " + comparison.b,
                      translated("name two results or files of tensors"));
  }
  // A name that is asked for has to be in both.
  if (request.only.empty() && std::none_of(pairs.begin(), pairs.end(), in_both)) {
    pair_by_shape(a, b, pairs, comparison);
  }
  return pairs;
}

// Warns of a tensor that was asked for and that one file alone has, with those of the other file
// that have as many elements, or else all of them.
void warn_of_partners(const CompareRequest& request, const std::vector<ComparedNames>& pairs,
                      ComparedFile& a, ComparedFile& b, Comparison& comparison) {
  constexpr std::size_t most_read = 64, most_named = 8;
  for (const ComparedNames& pair : pairs) {
    if (request.only.empty() || (pair.a && pair.b)) continue;
    // Names of either file that are asked for are known, and may be told as partners elsewhere.
    const bool both_asked = std::ranges::any_of(pairs, [&](const ComparedNames& one) {
      return pair.a ? one.b && !one.a : one.a && !one.b;
    });
    if (both_asked) continue;
    ComparedFile &own = pair.a ? a : b, &other = pair.a ? b : a;
    if (other.names().size() > most_read) continue;
    const Shape shape = own.read(pair.a ? *pair.a : *pair.b).tensor.shape();
    std::vector<std::string> fitting, all;
    std::string cure;
    for (const std::string& name : other.names()) {
      const bool taken = std::ranges::any_of(
          pairs, [&](const ComparedNames& one) { return (pair.a ? one.b : one.a) == name; });
      if (taken || name.empty()) continue;
      Shape found;
      try {
        found = other.read(name).tensor.shape();
      } catch (const Error&) {
        continue;  // no partner, which nobody asked for
      }
      all.push_back(in_quotes(name) + " " + text(found));
      if (element_count(found) != element_count(shape)) continue;
      fitting.push_back(all.back());
      if (!cure.empty()) continue;
      cure = "CompareRequest::renamed " + name + "=" + pair.name;
      if (found != shape && !shape.empty() && request.maps.reshape.empty()) {
        const std::string sizes = text(shape);  // "[2,3]"
        cure += " MapRequest::reshape " + sizes.substr(1, sizes.size() - 2);
      }
    }
    std::vector<std::string>& told = fitting.empty() ? all : fitting;
    if (told.empty()) continue;
    std::string list;
    for (std::size_t i = 0; i < std::min(told.size(), most_named); ++i)
      list += (i > 0 ? ", " : "") + told[i];
    if (told.size() > most_named) list += ", …";
    const std::string& file = pair.a ? comparison.b : comparison.a;
    const std::string name = in_quotes(pair.name) + " " + text(shape);
    comparison.warnings.push_back(
        fitting.empty()
            ? translated("{1} is not in {2}, which has {3}", name, file, list)
            : translated("{1} is not in {2}, where as many elements are in {3}: {4} compares them",
                         name, file, list, cure));
  }
}

/// The two tensors of a pair as they are compared. Made for one pair at a time, so that no more are
/// in memory.
struct TensorPair {
  ComparedFile::Stored a, b;                    // absent in a file without it
  std::size_t left_out = 0, rows_left_out = 0;  // elements and rows of queries that see no key
  bool rows_known = false;                      // whether a tensor beside them tells these

  TensorPair(const ComparedNames& names, const CompareRequest& request, const FileAccess& access,
             ComparedFile& file_a, ComparedFile& file_b) {
    StoredPair stored = read_pair(names, file_a, file_b);
    a = std::move(stored.a);
    b = std::move(stored.b);
    const bool both = names.a && names.b;
    if (request.seen_only && both && may_have_queries(names.name)) {
      const UnseenRows unseen =
          unseen_in_either(file_a.unseen_rows_beside(*names.a, a.tensor.shape()),
                           file_b.unseen_rows_beside(*names.b, b.tensor.shape()));
      rows_known = !unseen.unseen.empty();
      leave_out(names.name, unseen);
    }
    const Labels labels =
        takes_positions(request.maps.selection) ? labels_of(names.name, request, access) : Labels();
    a.tensor = compared_part(a.tensor, names.name, request.maps, labels);
    b.tensor = compared_part(b.tensor, names.name, request.maps, labels);
    if (both && (names.name == "allowed" || names.name.ends_with(".allowed"))) {
      // Either file may hold what all heads see once.
      const auto heads = [](const Tensor& one) { return one.rank() == 4 ? one.shape()[1] : 1; };
      const std::size_t most = std::max(heads(a.tensor), heads(b.tensor));
      a.tensor = for_each_head(a.tensor, most);
      b.tensor = for_each_head(b.tensor, most);
    }
  }

  void leave_out(const std::string& name, const UnseenRows& rows) {
    Cleared in_a = without_unseen(a.tensor, name, rows);
    Cleared in_b = without_unseen(b.tensor, name, rows);
    if (in_a.elements != in_b.elements) return;
    a.tensor = std::move(in_a.tensor);
    b.tensor = std::move(in_b.tensor);
    rows_left_out = in_a.rows;
    left_out = in_a.elements;
  }
};

TensorComparison compared_pair(const ComparedNames& names, const TensorPair& pair,
                               const CompareRequest& request) {
  const Tensor &a = pair.a.tensor, &b = pair.b.tensor;
  TensorComparison tensor;
  tensor.name = names.name;
  tensor.counts = request.strict || !request.only.empty();
  tensor.rows_left_out = pair.rows_left_out;
  tensor.a = {a.shape(), pair.a.type};
  tensor.b = {b.shape(), pair.b.type};
  if (!names.b) {
    tensor.outcome = Outcome::only_in_a;
  } else if (!names.a) {
    tensor.outcome = Outcome::only_in_b;
  } else if (request.overlap && a.rank() == b.rank()) {
    Shape common = a.shape();
    for (std::size_t axis = 0; axis < common.size(); ++axis) {
      common[axis] = std::min(common[axis], b.shape()[axis]);
    }
    compare_elements(leading_part(a, common), leading_part(b, common), request, 0, tensor);
  } else if (a.shape() != b.shape()) {
    tensor.outcome = Outcome::shapes_differ;
  } else {
    compare_elements(a, b, request, pair.left_out, tensor);
  }
  if (tensor.outcome == Outcome::beyond || tensor.outcome == Outcome::shapes_differ) {
    explain_difference(a, b, request, tensor);
  }
  return tensor;
}

Comparison compared(const CompareRequest& given, FileAccess access) {
  const CompareRequest request = checked(given);
  Provenance provenance;
  if (request.provenance) provenance.watch(access);
  if (!request.layout.empty()) check_layout(request.layout, "CompareRequest::layout");
  if (!request.layout_b.empty()) check_layout(request.layout_b, "CompareRequest::layout_b");
  ComparedFile a(request.a, access, request.layout, "CompareRequest::layout");
  ComparedFile b(request.b, access, request.layout_b, "CompareRequest::layout_b");
  for (const std::string& wanted : request.only) {
    a.refuse_other(wanted);
    b.refuse_other(wanted);
  }
  Comparison comparison;
  comparison.a = name_of(request.a);
  comparison.b = name_of(request.b);
  comparison.rtol = request.rtol.value_or(CompareRequest::default_rtol);
  comparison.atol = request.atol.value_or(CompareRequest::default_atol);
  warn_of_one_file(request, comparison);
  const std::vector<ComparedNames> pairs = pairs_of(request, a, b, comparison);
  warn_of_partners(request, pairs, a, b, comparison);
  bool rows_known = false;
  for (const ComparedNames& names : pairs) {
    const TensorPair pair(names, request, access, a, b);
    rows_known = rows_known || pair.rows_known;
    check_element_limit(pair.a.tensor.size(), access.limits.elements, comparison.a);
    check_element_limit(pair.b.tensor.size(), access.limits.elements, comparison.b);
    comparison.tensors.push_back(compared_pair(names, pair, request));
  }
  a.check_layout_used();
  b.check_layout_used();
  if (!comparison.agree()) tell_changes(request, access, comparison);
  warn_of_comparison(request, rows_known, comparison);
  if (request.picture) draw(request, access, a, b, pairs, provenance, comparison);
  return comparison;
}

}  // namespace

Comparison compare(const CompareRequest& request) {
  return with_whole_files(request.files,
                          [&](const FileAccess& access) { return compared(request, access); });
}

}  // namespace attn
