#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include "cli/program.hpp"
#include "temporary_folder.hpp"

// Batches shared among processes by the engines that start them.

namespace {

const std::string batch = "\"$ATTN\" batch l.jsonl --plots none --jobs 1 --out r";

void write_lines(const TemporaryFolder& folder) {
  std::string lines;
  for (int i = 0; i < 11; ++i) {
    lines += R"({"attention":"sdpa","query":[[1,0],[0,)" + std::to_string(i) + "]]}\n";
  }
  folder.write("l.jsonl", lines);
}

void check_merged(const TemporaryFolder& folder) {
  const Outcome merged = attn_cli({"batch", "--merge", "r", "--json"}, folder.path());
  CHECK(merged.exit_code == 0);
  CHECK(merged.output.starts_with("{\n  \"items\": 11,\n  \"done\": 11,\n"));
  for (int i = 1; i <= 11; ++i) {
    CHECK(std::filesystem::exists(folder / "r" /
                                  (std::string(i < 10 ? "l.00000" : "l.0000") + std::to_string(i)) /
                                  "result.json"));
  }
}

}  // namespace

TEST_CASE("each engine's variables choose the shard") {
  for (const std::string variables :
       {"SLURM_PROCID=$i SLURM_NTASKS=3", "SLURM_ARRAY_TASK_ID=$i SLURM_ARRAY_TASK_COUNT=3",
        "OMPI_COMM_WORLD_RANK=$i OMPI_COMM_WORLD_SIZE=3", "PMI_RANK=$i PMI_SIZE=3",
        "JOB_COMPLETION_INDEX=$i JOB_COMPLETIONS=3"}) {
    CAPTURE(variables);
    const TemporaryFolder folder;
    write_lines(folder);
    const Outcome early = shell(
        "i=0; " + variables + " " + batch + " && i=2 && " + variables + " " + batch, folder.path());
    CHECK(early.exit_code == 0);
    CHECK(early.errors.starts_with("attn-cli: shard 0 of 3, from 0, as "));
    CHECK(early.errors.find(" say: --shard 0/1 does all\n") != std::string::npos);
    CHECK(early.output.starts_with("shard    0 of 3, counted from 0\nitems    4\n"));
    const Outcome part = attn_cli({"batch", "--merge", "r"}, folder.path());
    CHECK(part.exit_code == 1);
    CHECK(part.output.find("left     4, to be done with --resume\n") != std::string::npos);
    CHECK(shell("i=1; " + variables + " " + batch, folder.path()).exit_code == 0);
    check_merged(folder);
  }
}

TEST_CASE("--shard goes before what an engine says") {
  const TemporaryFolder folder;
  write_lines(folder);
  const Outcome run = shell("PMI_RANK=1 PMI_SIZE=2 " + batch + " --shard 0/1", folder.path());
  CHECK(run.errors.empty());
  CHECK(run.output.starts_with("items    11\n"));
}

TEST_CASE("answers of a part are told of even with --quiet") {
  const TemporaryFolder folder;
  write_lines(folder);
  const std::string quiet = "\"$ATTN\" batch - -q <l.jsonl --plots none --out ";
  const Outcome part = shell("PMI_RANK=1 PMI_SIZE=3 " + quiet + "- | wc -l", folder.path());
  CHECK(part.output == "4\n");
  CHECK(part.errors ==
        "attn-cli: shard 1 of 3, from 0, as PMI_RANK, PMI_SIZE say: --shard 0/1 does all\n");
  CHECK(shell("PMI_RANK=1 PMI_SIZE=3 " + quiet + "r", folder.path()).errors == "");
  CHECK(shell("PMI_RANK=1 PMI_SIZE=3 " + quiet + "- --shard 0/1", folder.path()).errors == "");
}

TEST_CASE("the ranks of mpirun share a batch") {
  if (is_missing("mpirun")) return;
  const TemporaryFolder folder;
  write_lines(folder);
  const Outcome run =
      shell("mpirun -n 2 --oversubscribe $([ $(id -u) = 0 ] && echo --allow-run-as-root) " + batch,
            folder.path());
  CAPTURE(run.errors);
  CHECK(run.exit_code == 0);
  CHECK(std::filesystem::exists(folder / "r/summary.0-of-2.jsonl"));
  CHECK(std::filesystem::exists(folder / "r/summary.1-of-2.jsonl"));
  check_merged(folder);
}

TEST_CASE("the jobs of GNU parallel share a batch") {
  if (is_missing("parallel")) return;
  const TemporaryFolder folder;
  write_lines(folder);
  const Outcome run = shell("parallel -j 3 '" + batch + " --shard {}/3' ::: 0 1 2", folder.path());
  CAPTURE(run.errors);
  CHECK(run.exit_code == 0);
  check_merged(folder);
}
