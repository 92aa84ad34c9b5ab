#include <algorithm>
#include <map>

#include "attn/error.hpp"

#include "plot/canvas/picture_files.hpp"
#include "support/number_text.hpp"
#include "support/translated.hpp"

namespace attn::plot {
namespace {

// Points to a thousandth.
std::string number(double points) {
  return with_most_decimals(points, 3);
}

std::string hex(Colour colour) {
  return "#" + hexadecimal(packed(colour), 6);
}

// Text as it stands in XML, between elements or in an attribute.
std::string xml_text(std::string_view text) {
  std::string result;
  for (const char letter : text) {
    if (letter == '&') {
      result += "&amp;";
    } else if (letter == '<') {
      result += "&lt;";
    } else if (letter == '>') {
      result += "&gt;";
    } else if (letter == '"') {
      result += "&quot;";
    } else {
      result += letter;
    }
  }
  return result;
}

// Cairo numbers surfaces through the life of the process; here they are numbered through the file,
// so that equal figures are equal files. What Cairo writes holds no text of the user.
std::string with_own_numbers(std::string_view svg) {
  constexpr std::string_view key = "surface";
  std::map<std::string, std::size_t> numbers;
  std::string result;
  std::size_t at = 0;
  for (;;) {
    const std::size_t name = svg.find(key, at);
    if (name == std::string_view::npos) return result.append(svg, at);
    const std::size_t start = name + key.size();
    const std::size_t end = svg.find_first_not_of("0123456789", start);
    result.append(svg, at, start - at);
    if (end > start) {
      const auto number =
          numbers.try_emplace(std::string(svg.substr(start, end - start)), numbers.size()).first;
      result += std::to_string(number->second);
    }
    at = end;
  }
}

// Title, description and origin of the file, as its first elements.
std::string said(const FileText& words) {
  std::string head;
  const auto add = [&](const char* element, const std::string& text) {
    if (text.empty()) return;
    head += std::string("<") + element + ">" + xml_text(text) + "</" + element + ">\n";
  };
  add("title", words.title);
  add("desc", words.description);
  std::string origin = maker;
  for (const std::string* more : {&words.provenance, &words.caption})
    origin += more->empty() ? "" : "; " + *more;
  add("metadata", origin);
  return head;
}

// Names of fonts, in the order in which readers look for letters.
std::string families(const std::string& first, const std::vector<std::string>& others) {
  std::string names = "'" + first + "', ";
  for (const std::string& other : others) names += "'" + other + "', ";
  return xml_text(names) + "sans-serif";
}

}  // namespace

void SvgFile::add_image(std::string_view png, const Box& box, bool fine) {
  images_ += "<image x=\"" + number(box.left) + "\" y=\"" + number(box.top) + "\" width=\"" +
             number(box.width()) + "\" height=\"" + number(box.height()) +
             "\" preserveAspectRatio=\"none\" style=\"image-rendering:" +
             (fine ? "auto" : "pixelated") +
             "\" xlink:href=\"data:image/png;base64," +
             base64(png) + "\"/>\n";
}

void SvgFile::add_text(PangoLayout* line, double width, Point origin, double degrees,
                       Colour colour) {
  const std::string list =
      pango_font_description_get_family(pango_layout_get_font_description(line));
  family_ = list.substr(0, list.find(','));
  // Fonts of letters that the figure's own lacks, which come after it.
  std::vector<std::string> others;
  for (GSList* run = pango_layout_get_line_readonly(line, 0)->runs; run != nullptr;
       run = run->next) {
    PangoFont* const font = static_cast<PangoLayoutRun*>(run->data)->item->analysis.font;
    if (font == nullptr) continue;
    PangoFontDescription* const description = pango_font_describe(font);
    const char* const name = pango_font_description_get_family(description);
    const std::string family = name == nullptr ? "" : name;
    pango_font_description_free(description);
    if (family.empty() || family == family_ ||
        std::find(others.begin(), others.end(), family) != others.end()) {
      continue;
    }
    others.push_back(family);
  }
  const double size = pango_font_description_get_size(pango_layout_get_font_description(line)) /
                      double{PANGO_SCALE};
  const std::string x = number(origin.x), y = number(origin.y);
  texts_ += "<text x=\"" + x + "\" y=\"" + y + "\" font-size=\"" + number(size) + "\"";
  if (pango_font_description_get_weight(pango_layout_get_font_description(line)) ==
      PANGO_WEIGHT_BOLD) {
    texts_ += " font-weight=\"bold\"";
  }
  if (width > 0) texts_ += " textLength=\"" + number(width) + "\"";
  if (!others.empty()) texts_ += " font-family=\"" + families(family_, others) + "\"";
  if (colour != black) texts_ += " fill=\"" + hex(colour) + "\"";
  if (degrees != 0) {
    texts_ += " transform=\"rotate(" + number(-degrees) + " " + x + " " + y + ")\"";
  }
  texts_ += ">" + xml_text(pango_layout_get_text(line)) + "</text>\n";
}

// All texts; empty if there are none.
std::string SvgFile::text_group() const {
  if (texts_.empty()) return "";
  return "<g xml:space=\"preserve\" font-family=\"" + families(family_, {}) + "\">\n" + texts_ +
         "</g>\n";
}

// Cairo's way to write a drawing changes between its versions, but all have one root element.
std::string SvgFile::finished(std::string_view drawing, const FileText& words) const {
  std::string svg = with_own_numbers(drawing);
  const std::size_t end = svg.rfind("</svg>");
  const std::size_t root = svg.find(">\n", svg.find("<svg "));
  if (end == std::string::npos || root == std::string::npos) {
    throw Error(ErrorKind::internal,
                translated("a picture could not be drawn: {1}", "no root element"), "", "");
  }
  svg.insert(end, text_group());
  std::string paper;
  if (paper_) paper = "<rect width=\"100%\" height=\"100%\" fill=\"" + hex(*paper_) + "\"/>\n";
  return svg.insert(root + 2, said(words) + paper + images_);
}

}  // namespace attn::plot
