#include "attn/circuits.hpp"

#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include "attn/error.hpp"

#include "error_from.hpp"
#include "why/stored_circuits.hpp"

namespace attn {
namespace {

const std::filesystem::path stored_cases =
    std::filesystem::path(ATTN_TEST_DATA) / "models" / "cases";

TEST_CASE("circuits are reported with tokens, and refused where there are none") {
  CircuitsOptions options;
  options.model.path = StoredCircuits("llama_grouped").folder / "checkpoint";
  options.tokens = {"7"};
  options.heads = {"1.1"};
  const CircuitsOutcome outcome = read_circuits(options);
  REQUIRE(outcome.rows.size() == 1);
  CHECK(outcome.rows[0].head == "1.1");
  CHECK(outcome.rows[0].raised.size() == 5);
  CHECK(outcome.rows[0].raised[0].number >= outcome.rows[0].raised[4].number);
  CHECK(circuits_csv(outcome).starts_with("quantity,head,read_by,value\ncopying,0.0,,"));
  CHECK(circuits_text(outcome).find("K-composition: what heads write for the keys of later ones") !=
        std::string::npos);
  options.heads = {"2.0"};
  CHECK(error_from([&] { read_circuits(options); }) ==
        "\"2.0\" names no head\n  where: CircuitsOptions::heads\n  help:  give LAYER.HEAD, both "
        "from 0");
  options.heads = {"1"};
  CHECK(error_from([&] { read_circuits(options); }) ==
        "\"1\" names no head\n  where: CircuitsOptions::heads\n  help:  write "
        "CircuitsOptions::heads 1.0,1.1,1.2,1.3");
  CircuitsOptions decoder;
  decoder.model.path = stored_cases / "bart_start_token" / "checkpoint";
  decoder.tokens = {"7"};
  decoder.heads = {"0.0"};
  CHECK(error_from([&] { read_circuits(decoder); }) ==
        "\"0.0\" names no head\n  where: CircuitsOptions::heads\n  help:  give "
        "decoder.LAYER.HEAD, both from 0");
  options.tokens.clear();
  options.heads = {"0", "1"};
  CHECK(error_from([&] { read_circuits(options); }, ErrorKind::usage) ==
        "rows of circuits are those of tokens\n  where: CircuitsOptions::heads\n  help:  write "
        "CircuitsOptions::heads 0.0,0.1,0.2,0.3,1.0,1.1,1.2,1.3 CircuitsOptions::tokens TOKEN, or "
        "leave it out");
  options.heads = {"1.1"};
  CHECK(error_from([&] { read_circuits(options); }, ErrorKind::usage) ==
        "rows of circuits are those of tokens\n  where: CircuitsOptions::heads\n  help:  add "
        "CircuitsOptions::tokens, or leave it out");
  options.heads.clear();
  options.model.path =
      options.model.path.parent_path().parent_path() / "deepseek_v3_latent" / "checkpoint";
  CHECK(error_from([&] { read_circuits(options); }) ==
        "the queries and keys of the model are made of narrow vectors\n  where: "
        "CircuitsOptions::model\n  help:  name a model whose heads read the states themselves");
}

}  // namespace
}  // namespace attn
