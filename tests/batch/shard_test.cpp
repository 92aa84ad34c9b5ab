#include <map>
#include <string>

#include <doctest/doctest.h>

#include "attn/batch.hpp"

namespace {

using Variables = std::map<std::string, std::string>;

// "2/8 as A, B"; "none"; or the error.
std::string found(const Variables& variables) {
  try {
    const auto shard = attn::find_shard([&](const char* name) {
      const auto entry = variables.find(name);
      return entry == variables.end() ? nullptr : entry->second.c_str();
    });
    if (!shard) return "none";
    return std::to_string(shard->shard.index) + "/" + std::to_string(shard->shard.count) + " as " +
           shard->source;
  } catch (const attn::Error& error) {
    CHECK(error.kind() == attn::ErrorKind::usage);
    return error.what();
  }
}

}  // namespace

TEST_CASE(
    "tasks of Slurm, ranks of Open MPI and of PMI launchers, and pods of Kubernetes tell their "
    "shard") {
  CHECK(found({}) == "none");
  CHECK(found({{"SLURM_PROCID", "2"}, {"SLURM_NTASKS", "8"}}) ==
        "2/8 as SLURM_PROCID, SLURM_NTASKS");
  CHECK(found({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}}) ==
        "1/2 as OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE");
  CHECK(found({{"PMI_RANK", "0"}, {"PMI_SIZE", "4"}}) == "0/4 as PMI_RANK, PMI_SIZE");
  CHECK(found({{"JOB_COMPLETION_INDEX", "3"}, {"JOB_COMPLETIONS", "5"}}) ==
        "3/5 as JOB_COMPLETION_INDEX, JOB_COMPLETIONS");
  CHECK(found({{"SLURM_ARRAY_TASK_ID", "0"}, {"SLURM_ARRAY_TASK_COUNT", "16"}}) ==
        "0/16 as SLURM_ARRAY_TASK_ID, SLURM_ARRAY_TASK_COUNT");
}

TEST_CASE("an array of Slurm may start anywhere and go in steps, if they are even") {
  const Variables array{{"SLURM_ARRAY_TASK_ID", "14"},
                        {"SLURM_ARRAY_TASK_COUNT", "3"},
                        {"SLURM_ARRAY_TASK_MIN", "10"},
                        {"SLURM_ARRAY_TASK_MAX", "18"},
                        {"SLURM_ARRAY_TASK_STEP", "4"}};
  CHECK(found(array) == "1/3 as SLURM_ARRAY_TASK_ID, SLURM_ARRAY_TASK_COUNT");
  Variables uneven = array;
  uneven["SLURM_ARRAY_TASK_STEP"] = "1";
  CHECK(found(uneven) ==
        "the tasks of the Slurm array are not evenly spaced, so their numbers do not identify the "
        "parts\n"
        "  where: SLURM_ARRAY_TASK_ID, SLURM_ARRAY_TASK_COUNT\n"
        "  help:  say which part this is with BatchOptions::shard");
}

TEST_CASE("the tasks of a job in an array share the array's parts among them") {
  CHECK(found({{"SLURM_ARRAY_TASK_ID", "2"},
               {"SLURM_ARRAY_TASK_COUNT", "3"},
               {"SLURM_ARRAY_TASK_MIN", "1"},
               {"SLURM_PROCID", "1"},
               {"SLURM_NTASKS", "2"}}) ==
        "3/6 as SLURM_ARRAY_TASK_ID, SLURM_ARRAY_TASK_COUNT, SLURM_PROCID, SLURM_NTASKS");
}

TEST_CASE("a batch script of Slurm is one process, however many tasks its steps have") {
  Variables script{{"SLURM_JOB_ID", "7"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}};
  CHECK(found(script) == "none");
  script["SLURM_STEP_ID"] = "4294967291";
  CHECK(found(script) == "none");
  script["SLURM_STEP_ID"] = "0";
  CHECK(found(script) == "0/4 as SLURM_PROCID, SLURM_NTASKS");
}

TEST_CASE("one process alone is no shard") {
  CHECK(found({{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}}) == "none");
}

TEST_CASE("variables of an engine that make no sense are errors, not a batch of everything") {
  CHECK(found({{"PMI_RANK", "4"}, {"PMI_SIZE", "4"}}) ==
        "part 4 of 4 parts, which count from 0, is what PMI_RANK, PMI_SIZE say\n"
        "  where: PMI_RANK, PMI_SIZE\n"
        "  help:  say which part this is with BatchOptions::shard");
  CHECK(found({{"PMI_RANK", "one"}, {"PMI_SIZE", "4"}}) ==
        "the variable PMI_RANK is \"one\", which is not a whole number\n"
        "  where: PMI_RANK\n"
        "  help:  correct it, or say which part this is with BatchOptions::shard");
  CHECK(
      found({{"SLURM_ARRAY_TASK_ID", "3"}}) ==
      "SLURM_ARRAY_TASK_ID is set and SLURM_ARRAY_TASK_COUNT is not\n"
      "  where: SLURM_ARRAY_TASK_ID\n"
      "  help:  set SLURM_ARRAY_TASK_COUNT to the number of tasks, or say which part this is with "
      "BatchOptions::shard");
  CHECK(found({{"SLURM_PROCID", "1"}, {"SLURM_STEP_ID", "0"}}) ==
        "SLURM_PROCID is set and SLURM_NTASKS is not\n"
        "  where: SLURM_PROCID\n"
        "  help:  set SLURM_NTASKS to the number of tasks, or say which part this is with "
        "BatchOptions::shard");
  CHECK(found({{"JOB_COMPLETION_INDEX", "1"}}) ==
        "this is a pod of an indexed Kubernetes Job, which does not tell its pods how many there "
        "are\n"
        "  where: JOB_COMPLETION_INDEX\n"
        "  help:  set the variable JOB_COMPLETIONS in the Job to what spec.completions is, or say "
        "which part this is with BatchOptions::shard");
}
