#include "support/errors.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <system_error>

#include "support/printable.hpp"
#include "support/reader_text.hpp"
#include "support/translated.hpp"
#include "support/utf8.hpp"

namespace attn {

namespace {

// Names in errors are shortened one by one. This is for those that are not, and for long lists.
std::string limited(std::string text) {
  constexpr std::size_t most_bytes = 20'000;
  if (text.size() <= most_bytes) return text;
  std::size_t end = most_bytes;
  while (end > 0 && continues_character(text[end])) --end;
  text.resize(end);
  return std::move(text) + "…";
}

// Escapes everything but the line breaks before lines that are set in by four spaces: a quoted text
// and a mark below it.
std::string printable_lines(const std::string& text) {
  constexpr std::string_view quoted = "\n    ";
  std::string result;
  std::size_t at = 0;
  for (std::size_t end = text.find(quoted); end != std::string::npos; end = text.find(quoted, at)) {
    result += printable(std::string_view(text).substr(at, end - at));
    result += quoted;
    at = end + quoted.size();
  }
  return result + printable(std::string_view(text).substr(at));
}

}  // namespace

namespace {

// Takes "line 3", of which `word` is "line ", from the start of the text, and returns its number.
std::optional<std::string_view> taken_number(std::string_view word, std::string_view& text) {
  if (!text.starts_with(word)) return std::nullopt;
  const std::size_t end = std::min(text.find_first_not_of("0123456789", word.size()), text.size());
  if (end == word.size()) return std::nullopt;
  const std::string_view number = text.substr(word.size(), end - word.size());
  text.remove_prefix(end);
  return number;
}

// The same for a position in a file, as line_place() and row_place() name it; empty for other text.
std::string taken_position(std::string_view& text) {
  std::string_view rest = text;
  std::string position;
  if (const auto line = taken_number("line ", rest)) {
    const auto column = taken_number(", column ", rest);
    position =
        column ? translated("line {1}, column {2}", *line, *column) : translated("line {1}", *line);
  } else if (const auto row = taken_number("row ", rest)) {
    position = translated("row {1}", *row);
  }
  if (!rest.empty() && !rest.starts_with(", ")) return "";
  if (!position.empty()) text = rest;
  return position;
}

}  // namespace

std::string line_place(std::size_t line, std::optional<std::size_t> column) {
  const std::string place = "line " + std::to_string(line);
  return column ? place + ", column " + std::to_string(*column) : place;
}

std::string row_place(std::size_t row) {
  return "row " + std::to_string(row);
}

std::string place_for_readers(std::string_view where) {
  constexpr std::string_view separator = ", ";
  std::string place = taken_position(where);
  while (!where.empty()) {
    const std::size_t end = where.find(separator);
    place += where.substr(0, end);
    if (end == where.npos) break;
    where.remove_prefix(end + separator.size());
    const std::string position = taken_position(where);
    // Other commas are parts of names.
    const bool separates = !position.empty() || where.starts_with('/');
    place += (separates ? translated(", ") : std::string(separator)) + position;
  }
  return place;
}

Error::Error(ErrorKind kind, std::string problem, std::string where, std::string help)
    : kind_(kind),
      problem_(limited(std::move(problem))),
      where_(limited(std::move(where))),
      help_(limited(std::move(help))) {
  // The parts may quote documents from anywhere.
  text_ = printable_lines(problem_);
  if (!where_.empty()) text_ += translated("\n  where: {1}", printable(place_for_readers(where_)));
  if (!help_.empty()) text_ += translated("\n  help:  {1}", printable(help_));
}

Error Error::inside(const std::string& container) const {
  return Error(kind_, problem_, where_.empty() ? container : container + ", " + where_, help_);
}

std::string give_below(std::size_t count) {
  return count == 1 ? translated("give 0") : translated("give 0 to {1}", count - 1);
}

Error input_error(std::string problem, std::string where, std::string help) {
  return Error(ErrorKind::input, std::move(problem), std::move(where), std::move(help));
}

namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// Optimal string alignment distance (Damerau 1964, no substring edited twice) by dynamic
// programming over three rows.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
          lower(a[i - 2]) == lower(b[j - 1])) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

// Names that other libraries and programs have for ours. A name may stand in several rows: the
// first of which ours is among the candidates counts.
struct ForeignNames {
  std::string_view ours, theirs;  // with commas between these
};
constexpr ForeignNames foreign_names[]{
    {"float16", "fp16,half,f16"},
    {"bfloat16", "bf16,brain"},
    {"float32", "fp32,f32,single,float"},
    {"float64", "fp64,f64,double"},
    {"f16", "fp16,float16,half"},
    {"bf16", "bfloat16"},
    {"f32", "float32,float"},
    {"f64", "float64,double"},
    {"multi-head",
     "mha,mqa,multihead,multiheadattention,multi-head-attention,multihead-attention,"
     "multiheadselfattention"},
    {"self", "self-attention,selfattention,self-attn"},
    {"cross", "cross-attention,crossattention,cross-attn"},
    {"scaled-dot-product",
     "sdp,flash,flash-attention,flashattention,flash-attention-2,flash-attention-3,flash-attn-2,"
     "flash-attn-3,fa2,fa3,scaled-dot-product-attention,scaled-dot,scaleddotproduct,"
     "scaleddotproductattention,dotproductattention"},
    {"dot-product", "dot,dot-product-attention"},
    {"rotary", "rope,rotary-embedding,rotary-embeddings"},
    {"general", "multiplicative,bilinear"},
    {"luong", "luong-attention,luongattention"},
    {"additive", "concat,mlp,additive-attention,additiveattention"},
    {"bahdanau", "bahdanau-attention,bahdanauattention"},
    {"softmax", "masked-softmax"},
    {"encoder-layer", "transformer,encoder,transformerencoderlayer,transformer-encoder"},
    {"decoder-layer", "decoder,transformerdecoderlayer,transformer-decoder"},
    {"file", "path,filename"},
    {"randn", "normal,gaussian"},
    {"rand", "uniform,random"},
    {"arange", "range"},
    {"full", "constant"},
    {"silu", "swish"},
    {"gelu-tanh", "gelu-new,gelu-pytorch-tanh"},
    {"theta", "base,rope-theta"},
    {"window", "sliding-window,window-size"},
    {"causal", "is-causal,mask,masked"},
    {"padding", "padding-mask"},
    {"allow", "attn-mask"},
    {"documents", "segment-ids"},
    {"reds", "red"},
    {"blues", "blue"},
    {"greens", "green"},
    {"greys", "grey,grayscale,greyscale,bw,black-and-white"},
    {"colorbar", "legend,cbar"},
    {"out", "html,output,output-dir,outdir,out-dir,dest,save,outfile,output-file"},
    {"dtype", "precision,data-type,torch-dtype"},
    {"truncate", "max-length"},
    {"generate", "max-tokens,max-new-tokens"},
    {"power", "sqrt,gamma"},
    {"log", "symlog,log10"},
    {"on", "yes,true,always"},
    {"off", "no,false,never"},
    {"dark", "black"},
    {"white", "light"},
    {"zh", "cn,chinese,zh-cn"},
    {"en", "english"},
    {"heads", "num-heads,n-heads,n-head,nheads,nhead,num-attention-heads"},
    {"cmap", "colormap,colourmap,color-map,colour-map,palette"},
    {"figsize", "size,fig-size"},
    {"dpi", "resolution"},
    {"quiet", "silent"},
    {"text", "prompt"},
    {"model", "checkpoint"},
    {"queries", "query"},
    {"color-range", "vmin,vmax,clim,color-scale"},
    {"annotate", "annot"},
    {"annotate-format", "fmt,number-format"},
    {"labels", "xticklabels,yticklabels,tick-labels,row-labels,col-labels"},
    {"colorbar-label", "cbar-label,clabel"},
    {"xlabel", "x-label,label-x,xtitle"},
    {"ylabel", "y-label,label-y,ytitle"},
    {"merge-pieces", "merge-words,merge-tokens,merge-subwords,join-pieces"},
    {"columns", "ncols,cols,rows"},
    {"font", "font-family"},
    {"background", "facecolor"},
    {"ticks", "ticklabels"},
    {"top", "limit,first,num-samples"},
    {"heads-off", "ablate-heads,mask-heads,prune-heads,knockout,head-mask,ablate-head"},
    {"adapter", "lora,peft"},
    {"sound", "audio,wav,sounds"},
    {"image", "picture,img,images"},
    {"ids", "input-ids"},
    {"patch", "counterfactual,corrupted"},
    {"corpus", "dataset,texts"},
    {"against", "baseline"},
    {"font-scale", "fontsize,font-size"},
    {"jobs", "workers,num-workers,n-jobs,parallel,processes"},
    {"threads", "num-threads,workers,num-workers,n-jobs,parallel,processes,cores"},
    {"resume", "retry,retries,restart,incremental,skip-existing"},
    {"title", "suptitle,heading"},
    {"norm", "log-scale,logscale"},
    {"query", "rows"},
    {"key", "columns"},
    {"name", "key,tensor,array"},
    {"transpose", "permute"},
    {"feed-forward", "mlp,ffn,mlp-out"},
    {"before", "resid-pre"},
    {"residual", "resid-post"},
    {"attention", "attn-out,kind,type"},
    {"upper-left", "top-left"},
    {"lower-right", "bottom-right"},
    {"lang", "language,locale"},
    {"valid-lens", "lengths,seq-lens"},
    {"seed", "random-seed,manual-seed"},
    {"format", "ext"},
    {"only", "filter,select"},
    {"plots", "plot-type,pictures,images"},
    {"plot", "draw,visualize,visualise,render,heatmap"},
    {"run", "attention,compute,calculate,calc,execute"},
    {"compare", "diff"},
    {"validate", "check,lint"},
    {"bench", "benchmark"},
    {"example", "examples"},
    {"show", "display,print"},
    {"completion", "completions"},
    {"manual", "man"},
    {"view", "html,browse"},
    {"list", "ls"},
};

// A name as it is compared: in small letters, with hyphens for underscores, without the hyphens
// before a flag and without the module of a type such as "torch.float16".
std::string plain_name(std::string_view name) {
  std::string plain;
  for (const char c : name.substr(std::min(name.find_first_not_of('-'), name.size()))) {
    plain += c == '_' || c == ' ' ? '-' : lower(c);
  }
  for (const std::string_view module : {"torch.", "numpy.", "np.", "jnp.", "nn."}) {
    if (plain.starts_with(module)) plain.erase(0, module.size());
  }
  return plain;
}

// The only candidate that begins with a name in its plain form; empty if none or several do.
std::string_view only_one_begun(const std::string& wanted,
                                std::span<const std::string_view> candidates) {
  std::string_view begun;
  if (wanted.size() < 2) return begun;
  for (const std::string_view candidate : candidates) {
    if (!plain_name(candidate).starts_with(wanted)) continue;
    if (!begun.empty()) return {};
    begun = candidate;
  }
  return begun;
}

// A name without the separators at its end: "ylorrd" of "YlOrRd_".
std::string without_end(std::string name) {
  name.erase(name.find_last_not_of('-') + 1);  // npos + 1 = 0
  return name;
}

// The candidate that is written otherwise, has another name elsewhere, or is the only one to begin
// with `name`; empty if there is none.
std::string_view obvious_name(std::string_view name, std::span<const std::string_view> candidates) {
  const std::string wanted = plain_name(name), whole = without_end(wanted);
  for (const std::string_view candidate : candidates) {
    const std::string known = plain_name(candidate);
    if (known == wanted || known == whole) return candidate;
  }
  for (const auto& [ours, theirs] : foreign_names) {
    if (!has_word(theirs, wanted)) continue;
    for (const std::string_view candidate : candidates) {
      if (plain_name(candidate) == ours) return candidate;
    }
  }
  for (const std::string_view reversed : {"-reversed", "-reverse", "-inverted"}) {
    if (!wanted.ends_with(reversed)) continue;
    const std::string turned = wanted.substr(0, wanted.size() - reversed.size()) + "-r";
    for (const std::string_view candidate : candidates) {
      if (plain_name(candidate) == turned) return candidate;
    }
  }
  return only_one_begun(wanted, candidates);
}

// The longest candidate that is what a longer name says first of all: its last word, "rollout" of
// "attention_rollout", or what stands before an extension, "heatmap" of "heatmap.png"; empty if
// there is none.
std::string_view main_word(std::string_view name, std::span<const std::string_view> candidates) {
  constexpr std::size_t shortest = 4;
  const std::string wanted = plain_name(name);
  std::string_view best;
  for (const std::string_view candidate : candidates) {
    const std::string known = plain_name(candidate);
    const bool within = wanted.ends_with('-' + known) || wanted.starts_with(known + '.');
    if (within && known.size() >= std::max(shortest, best.size() + 1)) best = candidate;
  }
  return best;
}

}  // namespace

bool has_word(std::string_view words, std::string_view wanted) noexcept {
  while (!words.empty()) {
    const std::size_t length = std::min(words.find(','), words.size());
    if (words.substr(0, length) == wanted) return true;
    words.remove_prefix(std::min(length + 1, words.size()));
  }
  return false;
}

std::string_view nearest_name(std::string_view name, std::span<const std::string_view> candidates) {
  // Longer names are no typing errors, and the distance takes quadratic time.
  constexpr std::size_t longest = 64;
  if (name.size() > longest) return {};
  if (const std::string_view obvious = obvious_name(name, candidates); !obvious.empty())
    return obvious;
  std::string_view best;
  std::size_t fewest = 0;
  const std::string wanted = plain_name(name);
  for (const std::string_view candidate : candidates) {
    const std::string known = plain_name(candidate);
    const auto [shorter, longer] = std::minmax({wanted.size(), known.size()});
    // Two edits make any name of three letters into any other that shares one.
    const std::size_t most = wanted.size() < 5 ? 1 : std::max<std::size_t>(2, longer / 3);
    if (longer - shorter > most) continue;
    // Of three letters another one makes another word, unless it is the last: "tmp" is not "top".
    const bool same_start = wanted.substr(0, 2) == known.substr(0, 2);
    if (longer <= 3 && !same_start && !std::ranges::is_permutation(wanted, known)) continue;
    const std::size_t edits = edit_distance(wanted, known);
    const bool alike = edits <= most && 2 * edits < longer;
    // Of the same letters are the names that were mistyped by exchanging two.
    const bool nearer = best.empty() || edits < fewest ||
                        (edits == fewest && std::ranges::is_permutation(wanted, known) &&
                         !std::ranges::is_permutation(wanted, plain_name(best)));
    if (alike && nearer) {
      best = candidate;
      fewest = edits;
    }
  }
  return best.empty() ? main_word(name, candidates) : best;
}

std::string suggestion(std::string_view name, std::span<const std::string_view> candidates) {
  const std::string_view best = nearest_name(name, candidates);
  // "YlOrRd_" may be "YlOrRd" as well as "YlOrRd_r".
  const std::string_view longer =
      plain_name(name).ends_with('-') ? only_one_begun(plain_name(name), candidates) : "";
  if (!best.empty() && !longer.empty() && longer != best)
    return translated("did you mean \"{1}\" or \"{2}\"?", best, longer);
  if (!best.empty()) return translated("did you mean \"{1}\"?", best);
  constexpr std::size_t most_listed = 50;
  const std::size_t listed = std::min(candidates.size(), most_listed);
  std::string known;
  for (std::size_t i = 0; i < listed; ++i) {
    if (i > 0) known += name_separator();
    known += shown_name(candidates[i]);
  }
  if (listed < candidates.size()) known += translated(" and {1} more", candidates.size() - listed);
  return translated("known: {1}", known);
}

namespace {

// English texts of the C library, marked for translation.
[[maybe_unused]] constexpr auto usual_errors = std::to_array<const char*>({
    to_translate("Argument list too long"),
    to_translate("Broken pipe"),
    to_translate("Cannot allocate memory"),
    to_translate("Device or resource busy"),
    to_translate("Disk quota exceeded"),
    to_translate("File exists"),
    to_translate("File name too long"),
    to_translate("File too large"),
    to_translate("Input/output error"),
    to_translate("Invalid argument"),
    to_translate("Is a directory"),
    to_translate("No such device or address"),
    to_translate("No such file or directory"),
    to_translate("No space left on device"),
    to_translate("Not a directory"),
    to_translate("Operation not permitted"),
    to_translate("Permission denied"),
    to_translate("Read-only file system"),
    to_translate("Stale file handle"),
    to_translate("Text file busy"),
    to_translate("Too many levels of symbolic links"),
    to_translate("Too many open files"),
    to_translate("Too many open files in system"),
});

}  // namespace

std::string system_error_text(int error) {
  return translated(std::generic_category().message(error));
}

}  // namespace attn
