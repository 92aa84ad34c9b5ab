#include "models/row_check.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "error_from.hpp"
#include "io/json_value.hpp"
#include "models/builtin_rows.hpp"

namespace attn {
namespace {

TEST_CASE("every row of the table is one that users may write") {
  const JsonValue rows = parse_json(builtin_rows());
  CHECK(rows.members().size() > 30);
  for (const JsonMember& row : rows.members()) {
    CAPTURE(row.key);
    CHECK_NOTHROW(check_row(row.value));
  }
}

TEST_CASE("what another row says may be taken away everywhere") {
  CHECK_NOTHROW(check_row(parse_json(
      R"({"like": "llama", "names": {"gate": null}, "window": null, "rotary": {"theta": null}})")));
}

TEST_CASE("values of a row that have another type than they must are refused where they stand") {
  struct Wrong {
    std::string row, expected, where;
  };
  const std::string count = "expected a whole number from 0 on, found ";
  const std::string names = "expected a name or a list of names, found ";
  for (const Wrong& wrong : std::vector<Wrong>{
           {R"({"norm": 5})", "expected a string, found a number", "/norm"},
           {R"({"causal": 1})", "expected true or false, found a number", "/causal"},
           {R"({"eps": "1e-5"})", "expected a number, found a string", "/eps"},
           {R"({"kv_heads": -1})", count + "a number", "/kv_heads"},
           {R"({"kv_heads": 1.5})", count + "a number", "/kv_heads"},
           {R"({"window": {"size": true}})", count + "true", "/window/size"},
           {R"({"position_offset": [2]})",
            "expected a whole number from 0 on or a rule, found an array", "/position_offset"},
           {R"({"eps_keys": 7})", names + "a number", "/eps_keys"},
           {R"({"prefixes": ["model.", 3]})", "expected a name, found a number", "/prefixes/1"},
           {R"({"rotary": []})", "expected an object, found an array", "/rotary"},
           {R"({"defaults": 1})", "expected an object, found a number", "/defaults"},
           {R"({"names": ["wte"]})", "expected an object, found an array", "/names"},
           {R"({"names": {"query": {}}})", names + "an object", "/names/query"},
           {R"({"names": {"layer": []}})", "there is no name", "/names/layer"},
           {R"({"encoder": {"names": {"up": 1}}})", names + "a number", "/encoder/names/up"},
           {R"({"cases": {}})", "expected a list of cases, found an object", "/cases"},
           {R"({"cases": [5]})", "expected an object, found a number", "/cases/0"},
           {R"({"cases": [{"key": "alibi", "is": true}]})", "the case has no \"row\"", "/cases/0"},
           {R"({"cases": [{"key": null, "is": true, "row": {}}]})", "the case has no \"key\"",
            "/cases/0"},
           {R"({"cases": [{"key": "alibi", "is": "yes", "row": {}}]})",
            "expected true, false or a number, found a string", "/cases/0/is"},
           {R"({"cases": [{"key": "alibi", "is": 1, "row": {"tied": 2}}]})",
            "expected true or false, found a number", "/cases/0/row/tied"}}) {
    CAPTURE(wrong.row);
    CHECK(error_from([&] { check_row(parse_json(wrong.row)); }) ==
          wrong.expected + "\n  where: " + wrong.where +
              "\n  help:  model_row() gives a row as it should be");
  }
  CHECK(error_from([] { check_row(parse_json("[]")); }) ==
        "the row is an array, no object\n  help:  model_row() gives one");
}

TEST_CASE("a member that no row has is refused with the nearest that there is") {
  struct Unknown {
    std::string row, where, nearest;
  };
  for (const Unknown& unknown :
       std::vector<Unknown>{{R"({"noorm": "rms"})", "/noorm", "norm"},
                            {R"({"rotary": {"thetta": 3}})", "/rotary/thetta", "theta"},
                            {R"({"names": {"qurey": "q_proj"}})", "/names/qurey", "query"},
                            {R"({"cases": [{"key": "a", "is": 1, "row": {"scal": 2}}]})",
                             "/cases/0/row/scal", "scale"}}) {
    CAPTURE(unknown.row);
    const std::string member = unknown.where.substr(unknown.where.rfind('/') + 1);
    CHECK(error_from([&] { check_row(parse_json(unknown.row)); }) ==
          "unknown key \"" + member + "\"\n  where: " + unknown.where +
              "\n  help:  did you mean \"" + unknown.nearest + "\"?");
  }
}

}  // namespace
}  // namespace attn
