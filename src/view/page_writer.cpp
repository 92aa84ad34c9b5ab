#include <utility>

#include "support/number_text.hpp"
#include "view/page_maker.hpp"

namespace attn {
namespace {

unsigned int digit_of(char hexadecimal) {
  return static_cast<unsigned int>(hexadecimal <= '9' ? hexadecimal - '0' : hexadecimal - 'a' + 10);
}

// Hash in the form of content security policies, of one in hexadecimal digits.
std::string policy_hash(std::string_view digits) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes += static_cast<char>(digit_of(digits[i]) * 16 + digit_of(digits[i + 1]));
  }
  return "'sha256-" + base64(bytes) + "'";
}

// A text in HTML, between tags or in quotes.
std::string html_text(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    const char* const name = c == '&'   ? "&amp;"
                             : c == '<' ? "&lt;"
                             : c == '>' ? "&gt;"
                             : c == '"' ? "&quot;"
                                        : nullptr;
    if (name != nullptr) {
      escaped += name;
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string head_of(const PageSource& source, const std::string& title) {
  return "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src " +
         policy_hash(source.script_hash) + "; style-src " + policy_hash(source.style_hash) +
         "; img-src data: blob:; base-uri 'none'; form-action 'none'\">\n<title>" +
         html_text(title) + "</title>\n<style>" + std::string(source.style) + "</style>";
}

// The text up to the mark, which goes too, as what follows.
std::string_view up_to(std::string_view& text, std::string_view mark) {
  const std::size_t at = text.find(mark);
  const std::string_view before = text.substr(0, at);
  text.remove_prefix(at + mark.size());
  return before;
}

}  // namespace

PageWriter::PageWriter(std::function<void(std::string_view)> sink, const std::string& language,
                       const std::string& title)
    : sink_(std::move(sink)) {
  const PageSource source = page_source();
  std::string_view skeleton = source.skeleton;
  start_ = up_to(skeleton, "{{language}}");
  start_ += language;
  start_ += up_to(skeleton, "{{head}}");
  start_ += head_of(source, title);
  start_ += up_to(skeleton, "{{data}}");
}

std::size_t PageWriter::add_block(std::string_view base64) {
  blocks_.emplace_back(base64);
  return blocks_.size() - 1;
}

void PageWriter::write_block(std::size_t block) {
  write("<script type=\"text/plain\" id=\"block-" + std::to_string(block) + "\">");
  write(blocks_[block]);
  write("</script>\n");
  blocks_[block] = std::string();
}

std::size_t PageWriter::finish(std::string_view json, std::size_t first) {
  const PageSource source = page_source();
  write(start_);
  write("<script type=\"application/json\" id=\"view\">");
  write(json);
  write("</script>\n<script>");
  write(source.script);
  write("</script>\n");
  write_block(first);
  for (std::size_t block = 0; block < blocks_.size(); ++block) {
    if (block != first) write_block(block);
  }
  std::string_view skeleton = source.skeleton;
  up_to(skeleton, "{{data}}");
  write(skeleton);
  return bytes_;
}

void PageWriter::write(std::string_view text) {
  sink_(text);
  bytes_ += text.size();
}

}  // namespace attn
