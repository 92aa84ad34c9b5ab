#include <string>

#include <doctest/doctest.h>

#include "cli/program.hpp"
#include "temporary_folder.hpp"

// Corpora shared among processes by the engines that start them, to the bytes of a single run.

namespace {

const std::string heads =
    "\"$ATTN\" heads --model '" + std::string(ATTN_DATA) + "/speeches' --corpus t.txt --quiet";

void write_texts(const TemporaryFolder& folder) {
  std::string lines;
  for (int i = 0; i < 10; ++i) {
    lines += "The " + std::string(i % 3 == 0 ? "people" : "state") + " of the union, " +
             std::to_string(i) + ".\n";
  }
  folder.write("t.txt", lines);
}

void check_joined(const TemporaryFolder& folder) {
  REQUIRE(shell(heads + " --out whole", folder.path()).exit_code == 0);
  CHECK(attn_cli({"heads", "--merge", "parts", "--quiet"}, folder.path()).exit_code == 0);
  for (const char* name : {"corpus.json", "heads.csv", "most.csv", "by_offset.csv"}) {
    CAPTURE(name);
    CHECK(read_text(folder / "whole" / name) == read_text(folder / "parts" / name));
  }
}

}  // namespace

TEST_CASE("each engine's variables choose the shard of a corpus") {
  for (const std::string variables :
       {"SLURM_PROCID=$i SLURM_NTASKS=3", "SLURM_ARRAY_TASK_ID=$i SLURM_ARRAY_TASK_COUNT=3",
        "OMPI_COMM_WORLD_RANK=$i OMPI_COMM_WORLD_SIZE=3", "PMI_RANK=$i PMI_SIZE=3",
        "JOB_COMPLETION_INDEX=$i JOB_COMPLETIONS=3"}) {
    CAPTURE(variables);
    const TemporaryFolder folder;
    write_texts(folder);
    CHECK(shell("for i in 2 0 1; do " + variables + " " + heads + " --out parts || exit; done",
                folder.path())
              .exit_code == 0);
    check_joined(folder);
  }
}

TEST_CASE("the ranks of mpirun share a corpus") {
  if (is_missing("mpirun")) return;
  const TemporaryFolder folder;
  write_texts(folder);
  const Outcome run =
      shell("mpirun -n 4 --oversubscribe $([ $(id -u) = 0 ] && echo --allow-run-as-root) " + heads +
                " --out parts",
            folder.path());
  CAPTURE(run.errors);
  CHECK(run.exit_code == 0);
  check_joined(folder);
}

TEST_CASE("the jobs of GNU parallel share a corpus") {
  if (is_missing("parallel")) return;
  const TemporaryFolder folder;
  write_texts(folder);
  folder.write("job", "exec " + heads + " --out parts --shard $1/3\n");
  const Outcome run = shell("parallel -j 3 sh job {} ::: 0 1 2", folder.path());
  CAPTURE(run.errors);
  CHECK(run.exit_code == 0);
  check_joined(folder);
}
